import NIOCore
import RTPWire

/// A source, or a new numbering of the current source, that is not yet validated.
///
/// It is on probation until it has proved itself (``SourceProof``), or until RTCP names it. Its
/// packets are kept meanwhile, so that none is lost.
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

  /// How many packets of the current numbering may come among those of another one: more than a
  /// network puts behind the first packet of a restart.
  private static let greatestDisturbance = 8

  let ssrc: UInt32
  let firstArrival: Instant
  /// When the first of its packets came behind which none of the current numbering has come.
  private(set) var undisturbedSince: Instant
  private(set) var lastArrival: Instant
  /// In order of arrival, each number once.
  private(set) var held: [ReorderBuffer.Entry] = []
  /// The held packet with the lowest number.
  private(set) var first: ReorderBuffer.Entry?
  private(set) var bytes = 0
  /// When it said goodbye (RFC 3550 §6.6), unless it has gone on since.
  var goodbye: Instant?
  /// Whether RTCP has named it.
  var isNamed = false
  private var proof = SourceProof()
  private var unwrapper: SequenceUnwrapper
  private var highest = Int64.min
  /// The numbers held, and whether decoding can begin there.
  private var isEntryPoint: [Int64: Bool] = [:]
  private var holdsEntryPoint = false
  /// How many packets of the current numbering have come since the first one.
  private var disturbances = 0
  /// Whether one of them is the latest.
  private var isDisturbed = false

  init(packet: RTPPacket, arrival: Instant) {
    ssrc = packet.ssrc
    firstArrival = arrival
    undisturbedSince = arrival
    lastArrival = arrival
    unwrapper = SequenceUnwrapper(first: packet.sequenceNumber)
  }

  /// Whether it is validated.
  var isConfirmed: Bool { proof.isComplete || isNamed }

  /// Keeps `packet`, unless it is a repetition or unrelated to those held.
  mutating func hold(_ packet: RTPPacket, arrival: Instant, isEntryPoint: Bool) -> Outcome {
    lastArrival = arrival
    if RTPProcessor.isRevoked(goodbye, by: arrival) { goodbye = nil }
    let sequence = unwrapper.extend(packet.sequenceNumber)
    if self.isEntryPoint[sequence] != nil { return .duplicate }
    let entry = ReorderBuffer.Entry(packet: packet.detached(), sequence: sequence, arrival: arrival)
    if proof.isComplete {
      guard let last = held.last?.sequence,
        (last - sequence).magnitude <= UInt64(SourceProof.greatestDropout)
      else { return .stray }
    } else {
      let isRelated =
        held.last.map { ($0.sequence - sequence).magnitude <= UInt64(SourceProof.usualReach) }
        ?? true
      guard isRelated else {
        let (dropped, isNamed) = (held.count, isNamed)
        self = Prospect(packet: packet, arrival: arrival)
        self.isNamed = isNamed
        _ = hold(packet, arrival: arrival, isEntryPoint: isEntryPoint)
        return .heldInstead(of: dropped)
      }
      _ = proof.note(packet.sequenceNumber)
      if isDisturbed {
        isDisturbed = false
        undisturbedSince = arrival
      }
    }
    store(entry, isEntryPoint: isEntryPoint)
    return .held
  }

  /// Notes that the current numbering went on at `arrival`, and returns whether the packets held
  /// may begin another one all the same.
  ///
  /// A network may put some packets behind the first ones of a restart. It has to be proved anew,
  /// by packets with none of the current numbering between them.
  mutating func disturb(at arrival: Instant, reorderWindow: Duration) -> Bool {
    disturbances += 1
    isDisturbed = true
    proof = SourceProof()
    return disturbances <= Self.greatestDisturbance
      && arrival <= firstArrival.advanced(by: reorderWindow)
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
    // Upwards only, so that no number gets below those of the first cycle.
    if entry.sequence > highest {
      highest = entry.sequence
      unwrapper.advance(to: highest)
    }
    self.isEntryPoint[entry.sequence] = isEntryPoint
    if isEntryPoint { holdsEntryPoint = true }
  }
}
