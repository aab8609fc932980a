import CFFmpeg

/// Predicts what is lost of a picture from those decoded before it.
///
/// Parts that libavcodec did not decode then look approximately right, and pictures that refer to
/// them suffer less.
@safe final class PicturePrediction {
  /// A picture that was decoded, and its place in output order.
  @safe private struct Known {
    let frame: UnsafeMutablePointer<AVFrame>
    var position = 0
  }

  /// In decoding order.
  private var known: [Known] = []
  /// Structures without a picture.
  private var idle: [Known] = []
  /// Whether pictures are decoded in another order than they are shown.
  private var reorders = false
  /// How many pictures are remembered: those shown before a picture may be older than those decoded
  /// before it.
  private var capacity: Int { reorders ? Self.most : 2 }
  private static let most = 5

  /// Starts without any picture; `nil` when memory has run out.
  init?() {
    for _ in 0..<Self.most {
      guard let frame = unsafe av_frame_alloc() else { return nil }
      idle.append(unsafe Known(frame: frame))
    }
  }

  deinit {
    for entry in known + idle {
      var frame: UnsafeMutablePointer<AVFrame>? = unsafe entry.frame
      unsafe av_frame_free(&frame)
    }
  }

  /// Remembers a picture that was decoded; `position` is its place in output order.
  func remember(_ frame: UnsafePointer<AVFrame>, at position: Int) {
    if let last = known.last, position < last.position { reorders = true }
    while known.count >= capacity {
      let oldest = known.removeFirst()
      unsafe av_frame_unref(oldest.frame)
      idle.append(oldest)
    }
    guard var entry = idle.popLast() else { return }
    entry.position = position
    _ = unsafe av_frame_ref(entry.frame, frame)
    known.append(entry)
  }

  /// Marks `frame`, which the decoder has just allocated, so that ``repair(_:at:)`` finds what was
  /// not decoded.
  func mark(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let format = PixelFormat(AVPixelFormat(rawValue: unsafe frame.pointee.format)) else {
      return
    }
    unsafe format.bytesPerSample == 1
      ? mark(frame, of: format, UInt8.self) : mark(frame, of: format, UInt16.self)
  }

  private func mark<Sample: PictureSample>(
    _ frame: UnsafeMutablePointer<AVFrame>, of format: PixelFormat, _: Sample.Type
  ) {
    let planes: [SamplePlane<Sample>] = unsafe planes(of: frame, format, like: frame)
    planes.first?.chequer(bitDepth: format.bitDepth)
    // Filters of H.265 may read it beside what is decoded.
    for plane in planes.dropFirst() { plane.fill(with: Sample(1 << (format.bitDepth - 1))) }
  }

  /// Fills what was not decoded of `frame`, which was marked.
  func repair(_ frame: UnsafeMutablePointer<AVFrame>, at position: Int) {
    unsafe predict(frame, at: position, isMarked: true)
  }

  /// Fills all of `frame`, whose place in output order is `position`.
  func fill(_ frame: UnsafeMutablePointer<AVFrame>, at position: Int) {
    unsafe predict(frame, at: position, isMarked: false)
  }

  /// Fills all of `frame`, which is shown so many pictures behind the last one that was decoded.
  func fill(_ frame: UnsafeMutablePointer<AVFrame>, ahead count: Int) {
    let step =
      known.count < 2 ? 1 : abs(known[known.count - 1].position - known[known.count - 2].position)
    unsafe fill(frame, at: (known.last?.position ?? 0) + count * max(step, 1))
  }

  private func predict(
    _ frame: UnsafeMutablePointer<AVFrame>, at position: Int, isMarked: Bool
  ) {
    guard let format = PixelFormat(AVPixelFormat(rawValue: unsafe frame.pointee.format)) else {
      return
    }
    unsafe format.bytesPerSample == 1
      ? predict(frame, at: position, isMarked, of: format, UInt8.self)
      : predict(frame, at: position, isMarked, of: format, UInt16.self)
  }

  private func predict<Sample: PictureSample>(
    _ frame: UnsafeMutablePointer<AVFrame>, at position: Int, _ isMarked: Bool,
    of format: PixelFormat, _: Sample.Type
  ) {
    let target: [SamplePlane<Sample>] = unsafe planes(of: frame, format, like: frame)
    guard let luma = target.first else { return }
    let area =
      isMarked
      ? LostArea(of: luma, bitDepth: format.bitDepth)
      : LostArea(width: luma.width, height: luma.height, isLost: true)
    guard !area.isEmpty else { return }
    let usable = known.filter { known in
      let planes: [SamplePlane<Sample>] = unsafe planes(of: known.frame, format, like: frame)
      return planes.count == target.count
    }
    let earlier = usable.filter { $0.position < position }
    guard let past = earlier.max(by: { $0.position < $1.position }) ?? usable.last else {
      // Without a picture to predict from, grey is the smallest error; libavcodec's buffers are
      // black.
      return target.enumerated().forEach { index, plane in
        plane.fill(area, with: Sample(1 << (format.bitDepth - 1)), shift: format.shift(of: index))
      }
    }
    // The motion of about as long a time as it is to be continued for.
    let time = position - past.position
    let before = earlier.filter { $0.position < past.position }
      .min { abs(past.position - $0.position - time) < abs(past.position - $1.position - time) }
    let ratio =
      before.map { Double(time) / Double(past.position - $0.position) }
      .map { min(max($0, 0), 4) } ?? 1
    PictureRepair(
      of: target, in: area, from: unsafe planes(of: past.frame, format, like: frame),
      and: before.map { unsafe planes(of: $0.frame, format, like: frame) }, ratio: ratio,
      format: format
    ).fill()
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
