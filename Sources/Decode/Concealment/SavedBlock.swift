import CFFmpeg

/// A copy of the samples of a picture's first block, which can be restored later.
@safe final class SavedBlock {
  private var frame: UnsafeMutablePointer<AVFrame>?
  private let format: PixelFormat
  private let side: Int
  private var samples: [UInt8] = []

  /// Saves the top left block of `frame`, `side` × `side` luma samples, as the decoder allocated
  /// it.
  ///
  /// `nil` when the block is larger than the picture, or memory has run out.
  init?(of frame: UnsafeMutablePointer<AVFrame>, side: Int) {
    guard unsafe min(frame.pointee.width, frame.pointee.height) >= side,
      let format = PixelFormat(AVPixelFormat(rawValue: unsafe frame.pointee.format)),
      let copy = unsafe av_frame_clone(frame)
    else { return nil }
    unsafe self.frame = copy
    self.format = format
    self.side = side
    unsafe forEachRow { row in unsafe samples.append(contentsOf: row) }
  }

  deinit { unsafe av_frame_free(&frame) }

  func restore() {
    var rest = samples[...]
    unsafe forEachRow { row in
      unsafe row.copyBytes(from: rest.prefix(row.count))
      rest = rest.dropFirst(row.count)
    }
  }

  private func forEachRow(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    guard let frame = unsafe frame?.pointee else { return }
    let planes = unsafe [frame.data.0, frame.data.1, frame.data.2]
    let strides = unsafe [frame.linesize.0, frame.linesize.1, frame.linesize.2]
    for plane in 0..<format.planeCount {
      let (bytes, rows) = format.extent(ofPlane: plane, width: side, height: side)
      guard let start = unsafe planes[plane], Int(strides[plane]) >= bytes else { continue }
      for row in 0..<rows {
        unsafe body(
          UnsafeMutableRawBufferPointer(start: start + row * Int(strides[plane]), count: bytes))
      }
    }
  }
}
