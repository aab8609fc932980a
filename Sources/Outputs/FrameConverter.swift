import Bitstream
import CFFmpeg
package import Decode
import Defragment

/// Converts frames to another sample layout, size, range or matrix with libswscale.
///
/// RGB and gray have the full range, and RGB is made with the stream's own matrix. Everything else
/// keeps the stream's. The fields of interlaced frames are converted on their own.
///
/// Used by one thread at a time.
@safe package final class FrameConverter {
  /// How RGB is made from 4:2:0 and 4:2:2 of the same size.
  package enum Quality: Sendable, Hashable {
    /// Each chroma sample holds for its pixels, and values are off by 2 at most: a tenth of the
    /// time.
    case fast
    /// Chroma is interpolated, and values are rounded.
    case exact
  }

  /// In what colours samples that are not RGB come out.
  package enum Standard: Sendable, Hashable {
    /// In those of the stream.
    case stream
    /// As JPEG files have them (JFIF 1.02): BT.601 in full range, chroma in the middle.
    case jfif
  }

  private enum Target {
    case shape(FrameShape, Standard)
    case fixed(RawFrame.Conversion)
  }

  /// Whether libswscale makes what ``PackedRGB`` and ``JFIFPlanes`` otherwise do, as it makes RGB
  /// where the processor lacks an instruction.
  package var prefersLibrary = false

  private let target: Target
  private let quality: Quality
  private let frames = FramePool()
  private var pool: OpaquePointer?
  /// The layout of the pictures whose memory is in the pool.
  private var poolLayout: PictureLayout?
  private var scaler: FieldScaler?
  /// Makes what libswscale can convert without a fault.
  private var forerunner: (shape: FrameShape, converter: FrameConverter)?

  /// Converts to `shape`.
  package init(
    to shape: FrameShape, as standard: Standard = .stream, quality: Quality = .fast
  ) {
    target = .shape(shape, standard)
    self.quality = quality
  }

  /// Converts to the size, layout, range and matrix of `frame`.
  package init(like frame: RawFrame) {
    target = .fixed(frame.identity)
    quality = .fast
  }

  // Memory in use stays until its frames are released.
  deinit { unsafe av_buffer_pool_uninit(&pool) }

  /// The frame as wanted: itself if it already is, otherwise a copy.
  ///
  /// - Throws: ``OutputError/cannotConvert(from:to:)`` when libswscale refuses or memory runs out.
  package func converted(_ frame: RawFrame) throws(OutputError) -> RawFrame {
    let conversion = conversion(of: frame)
    guard !isAlready(frame, conversion) else { return frame }
    let layout = PictureLayout(of: conversion.geometry)
    let failure = OutputError.cannotConvert(from: frame.geometry, to: conversion.geometry)
    guard let copy = unsafe emptyFrame(layout), let start = unsafe copy.pointee.buf.0?.pointee.data
    else { throw failure }
    do {
      try unsafe convert(frame, into: UnsafeMutableRawPointer(start), as: layout)
    } catch {
      unsafe frames.recycle(copy)
      throw error
    }
    return unsafe RawFrame(converted: copy, from: frames, by: conversion, of: frame)
  }

  /// Where the samples of `frame` lie once they are converted.
  package func layout(for frame: RawFrame) -> PictureLayout {
    PictureLayout(of: conversion(of: frame).geometry)
  }

  /// Writes the converted samples of `frame` to memory that the caller owns.
  ///
  /// - Parameters:
  ///   - frame: what to convert.
  ///   - start: the address of ``PictureLayout/byteCount`` bytes, a multiple of
  ///     ``PictureLayout/alignment``.
  ///   - layout: what ``layout(for:)`` says of `frame`.
  /// - Returns: what the samples are now.
  /// - Throws: as ``converted(_:)`` does.
  @discardableResult
  package func convert(
    _ frame: RawFrame, into start: UnsafeMutableRawPointer, as layout: PictureLayout
  ) throws(OutputError) -> RawFrame.Conversion {
    let conversion = conversion(of: frame)
    precondition(layout.geometry == conversion.geometry, "the layout is that of another picture")
    var source = frame
    if let format = Self.intermediateFormat(from: frame, by: conversion) {
      let size = FrameShape.Size(
        width: conversion.geometry.width, height: conversion.geometry.height)
      let shape = FrameShape(pixelFormat: format, size: size)
      source = try forerunner(to: shape).converted(frame)
    }
    guard unsafe write(source, by: conversion, to: start, as: layout) else {
      throw .cannotConvert(from: frame.geometry, to: conversion.geometry)
    }
    return conversion
  }

  /// Returns whether it could be done.
  private func write(
    _ frame: RawFrame, by conversion: RawFrame.Conversion, to start: UnsafeMutableRawPointer,
    as layout: PictureLayout
  ) -> Bool {
    if conversion.geometry.pixelFormat == .p010 {
      return unsafe P010.write(frame, to: start, as: layout)
    }
    let key = FieldScaler.Setup(of: frame, conversion, quality)
    if !prefersLibrary {
      if key.isShortcut, unsafe PackedRGB.write(frame, by: key, to: start, as: layout) {
        return true
      }
      if unsafe JFIFPlanes.write(frame, by: key, to: start, as: layout) { return true }
    }
    if scaler?.setup != key { scaler = FieldScaler(key) }
    guard let scaler else { return false }
    return unsafe scaler.scale(frame, to: start, as: layout)
  }

  private func forerunner(to shape: FrameShape) -> FrameConverter {
    if let forerunner, forerunner.shape == shape { return forerunner.converter }
    let made = FrameConverter(to: shape, quality: quality)
    forerunner = (shape, made)
    return made
  }

  /// The matrix that `frame` does not say and that its conversion had to assume, if it is so.
  package func assumedMatrix(of frame: RawFrame) -> UInt8? {
    let isColour: Bool =
      switch frame.pixelFormat.layout {
      case .yuv(.monochrome), .gbr, .packed: false
      case .yuv, .semiPlanar: true
      }
    guard isColour, conversion(of: frame).geometry.pixelFormat.layout == .packed,
      ColourMatrix(code: frame.colour.matrix) == nil
    else { return nil }
    return ColourMatrix(usualFor: frame.height).rawValue
  }

  // MARK: - What becomes of a frame

  private func conversion(of frame: RawFrame) -> RawFrame.Conversion {
    switch target {
    case .fixed(let conversion): return conversion
    case .shape(let shape, let standard):
      let format = shape.pixelFormat ?? frame.pixelFormat
      let geometry = RawFrame.Geometry(
        width: shape.size?.width ?? frame.width, height: shape.size?.height ?? frame.height,
        pixelFormat: format)
      if standard == .jfif {
        var colour = frame.colour
        (colour.matrix, colour.isFullRange) = (ColourMatrix.bt601.rawValue, true)
        return RawFrame.Conversion(to: geometry, colour, .centre)
      }
      return RawFrame.Conversion(
        to: geometry, colour(of: frame, in: shape, format),
        format.chromaShift == frame.pixelFormat.chromaShift ? frame.chromaLocation : .unspecified)
    }
  }

  private func colour(
    of frame: RawFrame, in shape: FrameShape, _ format: PixelFormat
  ) -> FormatDescription.Colour {
    var colour = frame.colour
    switch (frame.pixelFormat.layout, format.layout) {
    case (_, .packed):
      (colour.matrix, colour.isFullRange) = (ColourMatrix.identity.rawValue, true)
    case (_, .yuv(.monochrome)):
      if shape.pixelFormat != nil { colour.isFullRange = true }
    case (.gbr, .yuv), (.gbr, .semiPlanar):
      colour.matrix = ColourMatrix(usualFor: frame.height).rawValue
      colour.isFullRange = false
    default:
      // After scaling, the height no longer shows what it was.
      if shape.size != nil, ColourMatrix(code: colour.matrix) == nil {
        colour.matrix = ColourMatrix(usualFor: frame.height).rawValue
      }
    }
    return colour
  }

  private func isAlready(_ frame: RawFrame, _ conversion: RawFrame.Conversion) -> Bool {
    guard frame.geometry == conversion.geometry,
      frame.colour.isFullRange == conversion.colour.isFullRange
    else { return false }
    // In JPEG files chroma lies elsewhere.
    if case .shape(_, .jfif) = target, frame.chromaLocation != .centre,
      frame.pixelFormat.chromaShift != (0, 0)
    {
      return false
    }
    let matrices = [frame.colour, conversion.colour].map { colour in
      ColourMatrix(code: colour.matrix) ?? ColourMatrix(usualFor: frame.height)
    }
    return matrices[0] == matrices[1] || frame.pixelFormat.planeCount == 1
  }

  /// What to convert to first, since libswscale takes all gray for full range and makes no chroma
  /// of NV12 from it, and P010 is made here.
  private static func intermediateFormat(
    from frame: RawFrame, by conversion: RawFrame.Conversion
  ) -> PixelFormat? {
    let (source, target) = (frame.pixelFormat, conversion.geometry.pixelFormat)
    if target == .p010 { return .yuv420p10 }
    guard source.layout == .yuv(.monochrome) else { return nil }
    let changesRange =
      switch target.layout {
      case .packed: !frame.colour.isFullRange
      case .yuv, .semiPlanar, .gbr: frame.colour.isFullRange != conversion.colour.isFullRange
      }
    if changesRange || target.layout == .semiPlanar(.yuv420) {
      return source.bitDepth > 8 ? .yuv420p10 : .yuv420p
    }
    return nil
  }

  // MARK: - Memory

  /// A frame with memory for a picture, which is used again once the frame is released.
  private func emptyFrame(_ layout: PictureLayout) -> UnsafeMutablePointer<AVFrame>? {
    if poolLayout != layout {
      unsafe av_buffer_pool_uninit(&pool)
      unsafe pool = av_buffer_pool_init(layout.byteCount, nil)
      poolLayout = layout
    }
    guard let pool = unsafe pool, let frame = unsafe frames.take() else { return nil }
    guard let buffer = unsafe av_buffer_pool_get(pool) else {
      unsafe frames.recycle(frame)
      return nil
    }
    let planes = layout.planes
    unsafe frame.pointee.width = Int32(layout.geometry.width)
    unsafe frame.pointee.height = Int32(layout.geometry.height)
    unsafe frame.pointee.format = layout.geometry.pixelFormat.libav.rawValue
    unsafe frame.pointee.buf.0 = buffer
    unsafe frame.pointee.data.0 = buffer.pointee.data
    unsafe frame.pointee.linesize.0 = Int32(planes[0].rows.stride)
    if planes.count > 1 {
      unsafe frame.pointee.data.1 = buffer.pointee.data + planes[1].offset
      unsafe frame.pointee.linesize.1 = Int32(planes[1].rows.stride)
    }
    if planes.count > 2 {
      unsafe frame.pointee.data.2 = buffer.pointee.data + planes[2].offset
      unsafe frame.pointee.linesize.2 = Int32(planes[2].rows.stride)
    }
    return unsafe frame
  }
}
