import NIOCore
import RTPWire

/// The latest packets of one source by extended sequence number, each copied.
///
/// A slot's storage is reused for the next packet in it, so keeping a packet costs a copy and no
/// allocation.
struct PacketHistory: Sendable {
  /// How many places are remembered; a power of two.
  ///
  /// Five times the span of the longest mask: a frame with its correction packets, and the
  /// reordering of a network. Packets have at most 64 KiB, so it never holds more than 16 MiB.
  static let capacity = 256
  /// The same for rows and columns of a matrix of 400 packets.
  ///
  /// Senders put its column packets between the packets of the next matrix. At most 64 MiB.
  static let matrixCapacity = 1024

  /// What is known of a place.
  enum Standing: Sendable, Hashable {
    case media
    case correction
    /// Nothing came, or it is no longer remembered.
    case missing
  }

  private struct Slot: Sendable {
    var sequence = Int64.min
    var standing = Standing.missing
    var bytes = ByteBuffer()
  }

  private(set) var newest: Int64
  private var slots: [Slot]

  /// Remembers `capacity` places, which is a power of two.
  init(newest: Int64, capacity: Int = Self.capacity) {
    self.newest = newest
    slots = [Slot](repeating: Slot(), count: capacity)
  }

  /// Whether `sequence` is among the places that are remembered, or after them.
  func remembers(_ sequence: Int64) -> Bool { newest - sequence < Int64(slots.count) }

  /// Whether `sequence` is no farther ahead than the history is long: what is nearer may come soon.
  func reaches(_ sequence: Int64) -> Bool { sequence - newest < Int64(slots.count) }

  func standing(of sequence: Int64) -> Standing {
    let slot = slots[index(of: sequence)]
    return slot.sequence == sequence ? slot.standing : .missing
  }

  /// The media packet at `sequence`, if it is there.
  func packet(at sequence: Int64) -> ByteBuffer? {
    let slot = slots[index(of: sequence)]
    return slot.sequence == sequence && slot.standing == .media ? slot.bytes : nil
  }

  /// Whether the media packet at `sequence` is there and has the marker bit.
  func hasMarker(at sequence: Int64) -> Bool {
    guard let packet = packet(at: sequence) else { return false }
    return (packet.getInteger(at: packet.readerIndex + 1) ?? UInt8(0)) & 0x80 != 0
  }

  /// Remembers a media packet, or that the number belongs to a correction packet.
  mutating func record(_ sequence: Int64, media packet: ByteBuffer?) {
    guard remembers(sequence) else { return }
    newest = max(newest, sequence)
    let index = index(of: sequence)
    slots[index].sequence = sequence
    slots[index].standing = packet == nil ? .correction : .media
    slots[index].bytes.clear()
    if let packet { slots[index].bytes.writeImmutableBuffer(packet) }
  }

  private func index(of sequence: Int64) -> Int {
    Int(truncatingIfNeeded: sequence) & (slots.count - 1)
  }
}
