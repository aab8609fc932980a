import Bitstream
import CFFmpeg
import Defragment

/// A picture between decoding and output.
@safe final class DecodedPicture {
  let frame: UnsafeMutablePointer<AVFrame>
  private let pool: FramePool
  var unit: UnitRecord
  var order: PictureOrder?
  private var isTaken = false

  /// Takes over `frame`, which comes from `pool`.
  init(
    _ frame: UnsafeMutablePointer<AVFrame>, from pool: FramePool, of unit: UnitRecord,
    order: PictureOrder?
  ) {
    unsafe self.frame = frame
    self.pool = pool
    self.unit = unit
    self.order = order
  }

  deinit { if !isTaken { unsafe pool.recycle(frame) } }

  /// Its frame, cropped; the caller owns it from now on.
  func takeFrame() -> UnsafeMutablePointer<AVFrame> {
    isTaken = true
    // Without the flag, a left crop that is not a multiple of the SIMD alignment is rounded down
    // and the picture comes out wider than the stream says.
    unsafe av_frame_apply_cropping(frame, Int32(AV_FRAME_CROP_UNALIGNED))
    return unsafe frame
  }

  /// The other field of the frame has been decoded into it.
  func complete(with second: UnitRecord, order other: PictureOrder) {
    unit.complete(with: second)
    let count = min(order?.count ?? other.count, other.count)
    order?.count = count
    order?.field = nil
  }

  /// Fills in a missing field: each of its rows repeats a neighbouring one.
  func fillMissingField() {
    guard let field = order?.field,
      let format = PixelFormat(AVPixelFormat(rawValue: unsafe frame.pointee.format))
    else { return }
    order?.field = nil
    let source = unsafe frame.pointee
    let planes = unsafe [source.data.0, source.data.1, source.data.2]
    let strides = unsafe [source.linesize.0, source.linesize.1, source.linesize.2]
    for plane in 0..<format.planeCount {
      let (bytes, rows) = unsafe format.extent(
        ofPlane: plane, width: Int(source.width), height: Int(source.height))
      let stride = Int(strides[plane])
      guard let start = unsafe planes[plane], stride >= bytes else { continue }
      for row in Swift.stride(from: 0, to: rows - 1, by: 2) {
        let (from, to) = field == .top ? (row, row + 1) : (row + 1, row)
        unsafe UnsafeMutableRawPointer(start + to * stride)
          .copyMemory(from: start + from * stride, byteCount: bytes)
      }
    }
  }
}

extension UnitRecord {
  /// Merges what the second field's frame says.
  mutating func complete(with second: UnitRecord) {
    lastArrival = max(lastArrival, second.lastArrival)
    if second.condition == .concealed || condition == .intact {
      (condition, damage) = (second.condition, second.damage)
    }
    isGood = isGood && second.isGood
    byteCount += second.byteCount
    if let field = second.origin { origin?.add(field) }
  }

  /// Records that a picture thought intact is not.
  mutating func note(_ condition: RawFrame.Condition, _ cause: PictureDamage) {
    isGood = false
    if self.condition == .intact { (self.condition, damage) = (condition, cause) }
  }
}
