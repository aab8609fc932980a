import NIOCore
import RTPWire

/// A source, or a new numbering of the current one, that has yet to prove itself.
///
/// RFC 3550 A.1 asks for two packets in sequence before a source counts as valid. Here they are
/// kept meanwhile, in order, so that none is lost once it does.
struct Prospect: Sendable {
  enum Kind: Sendable, Hashable {
    /// There is no source yet.
    case first
    /// Another SSRC beside the current source.
    case otherSource
    /// The current SSRC far from where its numbers should be.
    case renumbered
  }

  /// Two packets prove a source when they lie at most this far apart (`MAX_MISORDER` of A.1):
  /// networks reorder the first packets of a stream as they do all others.
  static let greatestDistance = 100

  let kind: Kind
  let ssrc: UInt32
  let firstArrival: Instant
  private(set) var lastArrival: Instant
  /// In order of their extended numbers, each number once.
  private(set) var held: [ReorderBuffer.Entry] = []
  private(set) var bytes = 0
  private(set) var isConfirmed = false
  private var unwrapper: SequenceUnwrapper
  private var entryPoints: Set<Int64> = []

  init(kind: Kind, packet: RTPPacket, arrival: Instant) {
    self.kind = kind
    ssrc = packet.ssrc
    firstArrival = arrival
    lastArrival = arrival
    unwrapper = SequenceUnwrapper(first: packet.sequenceNumber)
  }

  /// Keeps `packet`, and says how many packets were dropped: itself as a duplicate, or older ones
  /// that turned out to have nothing to do with it.
  mutating func hold(_ packet: RTPPacket, arrival: Instant, isEntryPoint: Bool) -> Dropped {
    lastArrival = arrival
    let sequence = unwrapper.extend(packet.sequenceNumber)
    let place = held.lastIndex { $0.sequence <= sequence }.map { $0 + 1 } ?? 0
    if place > 0, held[place - 1].sequence == sequence { return .duplicate }
    if !isConfirmed {
      isConfirmed = held.contains {
        ($0.sequence - sequence).magnitude <= UInt64(Self.greatestDistance)
      }
      if !isConfirmed, !held.isEmpty {
        let dropped = held.count
        held.removeAll(keepingCapacity: true)
        entryPoints.removeAll()
        bytes = 0
        store(packet, sequence: sequence, arrival: arrival, at: 0, isEntryPoint: isEntryPoint)
        return .unrelated(dropped)
      }
    }
    store(packet, sequence: sequence, arrival: arrival, at: place, isEntryPoint: isEntryPoint)
    return .none
  }

  enum Dropped: Sendable, Hashable {
    case none
    case duplicate
    case unrelated(Int)
  }

  /// Whether decoding can begin in the run of packets that starts with the first one held: then
  /// nothing older is worth waiting for.
  var beginsAtEntryPoint: Bool {
    guard let first = held.first?.sequence, !entryPoints.isEmpty else { return false }
    for (offset, entry) in held.enumerated() {
      guard entry.sequence == first + Int64(offset) else { return false }
      if entryPoints.contains(entry.sequence) { return true }
    }
    return false
  }

  private mutating func store(
    _ packet: RTPPacket, sequence: Int64, arrival: Instant, at place: Int, isEntryPoint: Bool
  ) {
    held.insert(
      ReorderBuffer.Entry(packet: packet.detached(), sequence: sequence, arrival: arrival),
      at: place)
    bytes += packet.bytes.readableBytes
    unwrapper.advance(to: sequence)
    if isEntryPoint { entryPoints.insert(sequence) }
  }
}
