import CFrameRing
import Decode

/// Where everything lies in the memory of a ring.
///
/// A header, then slots of whole pages, each with a header of its own and the planes of a picture.
struct RingLayout: Sendable, Hashable {
  /// Enough for a reader to use a frame for a quarter of a second at 30 frames a second.
  static let usualSlotCount = 8

  private static let headerSize = Int(RTP_RECV_RING_HEADER_SIZE)
  private static let slotHeaderSize = Int(RTP_RECV_RING_SLOT_HEADER_SIZE)
  private static let pageSize = 4096

  /// `nil` for a ring without slots, before the first frame.
  let picture: PictureLayout?
  let slotCount: Int
  /// Bytes from one slot to the next.
  let slotStride: Int

  /// The layout of a header alone.
  static let empty = RingLayout(picture: nil, slotCount: 0, slotStride: 0)

  /// The layout of slots for pictures like `picture`.
  init(of picture: PictureLayout, slotCount: Int = usualSlotCount) {
    let pages = (Self.slotHeaderSize + picture.byteCount + Self.pageSize - 1) / Self.pageSize
    self.init(picture: picture, slotCount: slotCount, slotStride: pages * Self.pageSize)
  }

  private init(picture: PictureLayout?, slotCount: Int, slotStride: Int) {
    self.picture = picture
    self.slotCount = slotCount
    self.slotStride = slotStride
  }

  /// Bytes of all of it.
  var byteCount: Int { Self.headerSize + slotCount * slotStride }

  /// The slot of frame `sequence`; `nil` without slots.
  func slot(of sequence: UInt64) -> Int? {
    slotCount > 0 ? Int(sequence % UInt64(slotCount)) : nil
  }

  /// Bytes from the start of the memory to a slot.
  func offset(ofSlot slot: Int) -> Int { Self.headerSize + slot * slotStride }

  /// Bytes from the start of a slot to the samples.
  static var samplesOffset: Int { slotHeaderSize }
}
