import CFFmpeg

/// Predicts what a picture will look like from the two shown before it.
///
/// The decoder writes over the prediction. Parts that it cannot decode then look approximately
/// right, and pictures that refer to them suffer less.
@safe final class PicturePrediction {
  /// The last two pictures shown; empty structures where there are none.
  private var newer: UnsafeMutablePointer<AVFrame>
  private var older: UnsafeMutablePointer<AVFrame>
  private var motion: MotionField?

  /// The side, in samples, of the blocks that the prediction consists of.
  private static let patch = 8

  /// Starts without any picture; `nil` when memory has run out.
  init?() {
    guard let one = unsafe av_frame_alloc() else { return nil }
    guard let other = unsafe av_frame_alloc() else {
      var one: UnsafeMutablePointer<AVFrame>? = unsafe one
      unsafe av_frame_free(&one)
      return nil
    }
    unsafe (newer, older) = (one, other)
  }

  deinit {
    var (one, other): (UnsafeMutablePointer<AVFrame>?, UnsafeMutablePointer<AVFrame>?) =
      unsafe (newer, older)
    unsafe av_frame_free(&one)
    unsafe av_frame_free(&other)
  }

  /// Remembers a picture that is shown.
  func remember(_ frame: UnsafePointer<AVFrame>) {
    unsafe (newer, older) = (older, newer)
    unsafe av_frame_unref(newer)
    _ = unsafe av_frame_ref(newer, frame)
    motion = nil
  }

  /// Fills `frame`, which the decoder has just allocated, with the prediction.
  func fill(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let format = PixelFormat(AVPixelFormat(rawValue: unsafe frame.pointee.format)) else {
      return
    }
    unsafe format.bytesPerSample == 1
      ? fill(frame, of: format, UInt8.self) : fill(frame, of: format, UInt16.self)
  }

  private func fill<Sample: FixedWidthInteger & UnsignedInteger & Sendable>(
    _ frame: UnsafeMutablePointer<AVFrame>, of format: PixelFormat, _: Sample.Type
  ) {
    let target: [SamplePlane<Sample>] = unsafe planes(of: frame, format, like: frame)
    let newer: [SamplePlane<Sample>] = unsafe planes(of: self.newer, format, like: frame)
    guard !target.isEmpty, target.count == newer.count else {
      // Without a picture to predict from, grey is the smallest error; libavcodec's buffers are
      // black.
      let middle = Sample(1 << (format.bitDepth - 1))
      for plane in target { plane.fill(with: middle) }
      return
    }
    let older: [SamplePlane<Sample>] = unsafe planes(of: self.older, format, like: frame)
    if motion == nil, older.count == newer.count {
      motion = MotionField(from: older[0], to: newer[0], bitDepth: format.bitDepth)
    }
    for (index, (plane, source)) in zip(target, newer).enumerated() {
      let shift = index > 0 && format.layout != .gbr ? format.chromaShift : (width: 0, height: 0)
      let (width, height) = (Self.patch >> shift.width, Self.patch >> shift.height)
      for y in stride(from: 0, to: plane.height, by: height) {
        for x in stride(from: 0, to: plane.width, by: width) {
          let vector = motion?.source(x: x << shift.width, y: y << shift.height) ?? .zero
          plane.copy(
            width: width, height: height, toX: x, y: y, from: source,
            x: x + (vector.x >> shift.width), y: y + (vector.y >> shift.height))
        }
      }
    }
  }

  /// The planes of `frame` before cropping; empty when its format differs from that of `other`.
  private func planes<Sample>(
    of frame: UnsafeMutablePointer<AVFrame>, _ format: PixelFormat,
    like other: UnsafeMutablePointer<AVFrame>
  ) -> [SamplePlane<Sample>] {
    let (frame, other) = unsafe (frame.pointee, other.pointee)
    guard unsafe frame.format == other.format else { return [] }
    let buffers = unsafe [frame.buf.0, frame.buf.1, frame.buf.2]
    let strides = unsafe [frame.linesize.0, frame.linesize.1, frame.linesize.2]
    let otherStrides = unsafe [other.linesize.0, other.linesize.1, other.linesize.2]
    var planes: [SamplePlane<Sample>] = []
    for index in 0..<format.planeCount {
      let (bytes, rows) = unsafe format.extent(
        ofPlane: index, width: Int(other.width), height: Int(other.height))
      let stride = Int(strides[index])
      // libavcodec puts each plane at the start of its own buffer, cropped samples included.
      guard let buffer = unsafe buffers[index], strides[index] == otherStrides[index],
        bytes <= stride, unsafe stride * rows <= Int(buffer.pointee.size)
      else { return [] }
      let size = MemoryLayout<Sample>.size
      unsafe planes.append(
        SamplePlane(
          start: UnsafeMutableRawPointer(buffer.pointee.data).assumingMemoryBound(to: Sample.self),
          stride: stride / size, width: bytes / size, height: rows))
    }
    return planes
  }
}
