import CAllocations
import Reception

/// What a packet costs in the core, from the datagram to the access unit.
public struct CoreCost: Sendable {
  /// Packets that were measured.
  public private(set) var packets = 0
  /// Access units that came out, and intact ones among them.
  public private(set) var accessUnits = 0
  public private(set) var wholeUnits = 0
  public private(set) var nanosecondsPerPacket = 0.0
  public private(set) var allocationsPerPacket = 0.0

  /// Pictures before the measurement: the codec is recognized, and buffers have their size.
  private static let warmUp = 90

  /// Measures `traffic` from its hundredth picture or so on.
  ///
  /// - Throws: nothing that happens with this traffic.
  public init(of traffic: Traffic) throws {
    var session = try Reception(
      Reception.Configuration(), on: Reception.Carrier(clock: .monotonic),
      randomness: SystemRandomNumberGenerator(), at: Instant(nanoseconds: 0))
    session.startRun(at: Instant(nanoseconds: 0))
    session.transportOpened(takesReports: false, at: Instant(nanoseconds: 0))
    for picture in traffic.pictures.prefix(Self.warmUp) { take(picture, with: &session) }
    (accessUnits, wholeUnits) = (0, 0)
    let clock = ContinuousClock()
    let measured = traffic.pictures.dropFirst(Self.warmUp)
    let (start, allocations) = (clock.now, callocations_count())
    for picture in measured { take(picture, with: &session) }
    let allocated = callocations_count() - allocations
    let time = start.duration(to: clock.now)
    packets = measured.reduce(0) { $0 + $1.count }
    nanosecondsPerPacket = time / .nanoseconds(1) / Double(packets)
    allocationsPerPacket = Double(allocated) / Double(packets)
  }

  /// The packets of a picture come in one read.
  private mutating func take(_ picture: [Datagram], with session: inout Reception) {
    for datagram in picture {
      session.receive(datagram)
      takeActions(of: &session)
    }
    if let last = picture.last { session.readCompleted(at: last.arrival) }
    takeActions(of: &session)
  }

  private mutating func takeActions(of session: inout Reception) {
    while let action = session.nextAction() {
      guard case .deliver(let unit) = action else { continue }
      accessUnits += 1
      if unit.integrity == .whole { wholeUnits += 1 }
    }
  }
}
