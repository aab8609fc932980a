import NIOCore
import RTPWire

/// A source, or a new numbering of the current source, that is not yet validated.
///
/// RFC 3550 A.1 asks for two packets in sequence before a source counts as valid. Its packets are
/// kept meanwhile, so that none is lost.
struct Prospect: Sendable {
  /// The result of offering a packet.
  enum Outcome: Sendable, Hashable {
    case held
    case duplicate
    /// Held; this many older packets turned out to be unrelated and were dropped.
    case heldInstead(of: Int)
    /// Not held: it lies far from the numbers of the validated packets.
    case stray
  }

  /// Two packets prove a source when they lie at most this far apart (`MAX_MISORDER` of A.1):
  /// networks reorder the first packets of a stream as they do all others.
  static let greatestDistance = 100

  let ssrc: UInt32
  let firstArrival: Instant
  private(set) var lastArrival: Instant
  /// In order of arrival, each number once.
  private(set) var held: [ReorderBuffer.Entry] = []
  /// The held packet with the lowest number.
  private(set) var first: ReorderBuffer.Entry?
  private(set) var bytes = 0
  private(set) var isConfirmed = false
  private var unwrapper: SequenceUnwrapper
  /// The numbers held, and whether decoding can begin there.
  private var isEntryPoint: [Int64: Bool] = [:]
  private var holdsEntryPoint = false

  init(packet: RTPPacket, arrival: Instant) {
    ssrc = packet.ssrc
    firstArrival = arrival
    lastArrival = arrival
    unwrapper = SequenceUnwrapper(first: packet.sequenceNumber)
  }

  /// Keeps `packet`, unless it is a repetition or unrelated to those held.
  mutating func hold(_ packet: RTPPacket, arrival: Instant, isEntryPoint: Bool) -> Outcome {
    lastArrival = arrival
    let sequence = unwrapper.extend(packet.sequenceNumber)
    if self.isEntryPoint[sequence] != nil { return .duplicate }
    let entry = ReorderBuffer.Entry(packet: packet.detached(), sequence: sequence, arrival: arrival)
    guard let last = held.last?.sequence else {
      store(entry, isEntryPoint: isEntryPoint)
      return .held
    }
    let distance = (last - sequence).magnitude
    if isConfirmed {
      guard distance <= UInt64(Source.greatestDropout) else { return .stray }
    } else if distance > UInt64(Self.greatestDistance) {
      let dropped = held.count
      self = Prospect(packet: packet, arrival: arrival)
      store(
        ReorderBuffer.Entry(
          packet: entry.packet, sequence: unwrapper.extend(packet.sequenceNumber), arrival: arrival),
        isEntryPoint: isEntryPoint)
      return .heldInstead(of: dropped)
    }
    isConfirmed = true
    store(entry, isEntryPoint: isEntryPoint)
    return .held
  }

  /// Whether decoding can begin in the run of packets from the first one on, so that there is no
  /// need to wait for older ones.
  var beginsAtEntryPoint: Bool {
    guard holdsEntryPoint, var sequence = first?.sequence else { return false }
    while let isEntryPoint = isEntryPoint[sequence] {
      if isEntryPoint { return true }
      sequence += 1
    }
    return false
  }

  private mutating func store(_ entry: ReorderBuffer.Entry, isEntryPoint: Bool) {
    held.append(entry)
    bytes += entry.packet.bytes.readableBytes
    if first.map({ entry.sequence < $0.sequence }) ?? true { first = entry }
    unwrapper.advance(to: entry.sequence)
    self.isEntryPoint[entry.sequence] = isEntryPoint
    if isEntryPoint { holdsEntryPoint = true }
  }
}
