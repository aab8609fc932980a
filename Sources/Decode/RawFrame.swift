public import Bitstream
package import CFFmpeg
public import Defragment
public import RTPWire

/// One decoded picture; its samples stay where the decoder put them, shared and read-only.
@safe public final class RawFrame: @unchecked Sendable {
  /// How the picture was coded (H.264 §7.4.2.4, H.265 §7.4.7.1).
  public enum PictureType: Sendable, Hashable {
    case intra
    case predicted
    case bidirectional
    case other
  }

  /// How faithful the frame is to what was sent.
  public enum Condition: Sendable, Hashable, CaseIterable {
    /// All packets of the frame and of everything it may refer to came, and none is known to hold
    /// wrong bits.
    ///
    /// Wrong bits are seldom noticed in H.265 without picture hashes.
    case intact
    /// Packets are missing, and a prediction replaces what they held; or its bits are known to be
    /// wrong.
    case concealed
    /// It refers to pictures that are not intact, or packets are missing without a replacement.
    case damaged
    /// An earlier picture again, in place of one that is withheld or never came.
    case repeated
  }

  /// The order in which rows were captured, if not all at once.
  public enum Scan: Sendable, Hashable {
    case progressive
    case topFieldFirst
    case bottomFieldFirst
  }

  /// The position of 4:2:0 chroma samples, as far as file headers can express it.
  public enum ChromaLocation: Sendable, Hashable {
    case unspecified
    case left
    case centre
    case topLeft
    case other
  }

  /// Size and sample layout: what cannot change within one `.yuv` or `.y4m` stream.
  public struct Geometry: Sendable, Hashable {
    public let width: Int
    public let height: Int
    public let pixelFormat: PixelFormat

    package init(width: Int, height: Int, pixelFormat: PixelFormat) {
      self.width = width
      self.height = height
      self.pixelFormat = pixelFormat
    }
  }

  /// Luma samples shown, after cropping.
  public let geometry: Geometry
  public let pictureType: PictureType
  public let scan: Scan
  public let colour: FormatDescription.Colour
  /// Whether the stream gives the range of its samples; otherwise `colour` says limited.
  public let isRangeKnown: Bool
  public let chromaLocation: ChromaLocation
  public let sampleAspectRatio: Rational?
  /// Frames per second, if the stream says.
  public let frameRate: Rational?

  /// What is known of its access unit.
  let record: UnitRecord
  package let libav: UnsafeMutablePointer<AVFrame>
  private let pool: FramePool

  /// The time of its access unit.
  public var time: MediaTime { record.time }
  /// When the picture was taken by the sender's clock; `nil` before a sender report came.
  public var captureTime: WallClockTime? { record.captureTime }
  /// Bytes of its access unit, or of both fields' access units.
  public var codedByteCount: Int { record.byteCount }
  /// When the first packet of its access unit arrived.
  public var firstArrival: Instant { record.firstArrival }
  /// When the packet that completed it arrived.
  public var lastArrival: Instant { record.lastArrival }
  /// What it came from; `nil` for a repetition where nothing came.
  public var origin: PictureOrigin? { record.origin }
  /// Whether decoding can begin at it, as its access unit says: an IDR or IRAP picture, or a
  /// recovery point.
  public var isKeyFrame: Bool { record.isKeyPicture }
  public var condition: Condition { record.condition }
  /// Why it is not intact; `nil` if it is.
  public var damage: PictureDamage? { record.damage }
  public var width: Int { geometry.width }
  public var height: Int { geometry.height }
  public var pixelFormat: PixelFormat { geometry.pixelFormat }
  public var planeCount: Int { pixelFormat.planeCount }
  /// Bytes of all planes without padding.
  public var byteCount: Int {
    (0..<planeCount).reduce(0) { sum, plane in
      let (bytes, rows) = extent(ofPlane: plane)
      return sum + bytes * rows
    }
  }

  /// The layout of a plane's rows in memory.
  public struct PlaneLayout: Sendable, Hashable {
    /// Bytes of samples per row.
    public let rowBytes: Int
    /// Bytes from the start of one row to the next; at least ``rowBytes``.
    public let stride: Int
    public let rows: Int
  }

  /// Lends the samples of one plane, in the order that ``PixelFormat/Layout`` names them.
  ///
  /// The bytes extend from the plane's first sample to its last, with rows as in the layout.
  ///
  /// - Parameters:
  ///   - plane: below ``planeCount``.
  ///   - body: must not keep the bytes.
  /// - Returns: what `body` returns.
  public func withPlane<Result>(
    _ plane: Int, _ body: (RawSpan, PlaneLayout) throws -> Result
  ) rethrows -> Result {
    precondition(plane >= 0 && plane < planeCount, "a picture has \(planeCount) planes")
    let layout = layout(ofPlane: plane)
    let base = unsafe UnsafeRawPointer(planeStart(plane))
    let length = layout.rows == 0 ? 0 : layout.stride * (layout.rows - 1) + layout.rowBytes
    let bytes = unsafe UnsafeRawBufferPointer(start: base, count: length)
    return try unsafe body(bytes.bytes, layout)
  }

  /// Takes ownership of `frame`, which returns to `pool` with the last reference.
  ///
  /// Returns `nil`, without taking `frame`, for sample layouts that no output can name and for
  /// bottom-up pictures, which no video decoder here makes.
  init?(
    taking frame: UnsafeMutablePointer<AVFrame>, from pool: FramePool, of unit: UnitRecord,
    codedFrameRate: Rational?
  ) {
    let source = unsafe frame.pointee
    let width = unsafe Int(source.width)
    let height = unsafe Int(source.height)
    guard width > 0, height > 0,
      let format = PixelFormat(AVPixelFormat(rawValue: unsafe source.format))
    else { return nil }
    let planes = unsafe [source.data.0, source.data.1, source.data.2]
    let strides = unsafe [source.linesize.0, source.linesize.1, source.linesize.2]
    for plane in 0..<format.planeCount {
      let needed = format.extent(ofPlane: plane, width: width, height: height).bytes
      guard unsafe planes[plane] != nil, Int(strides[plane]) >= needed else { return nil }
    }
    geometry = Geometry(width: width, height: height, pixelFormat: format)
    record = unit
    pictureType = PictureType(unsafe source.pict_type)
    scan =
      unsafe source.interlaced_frame == 0
      ? .progressive : source.top_field_first != 0 ? .topFieldFirst : .bottomFieldFirst
    colour = unsafe FormatDescription.Colour(
      primaries: UInt8(truncatingIfNeeded: source.color_primaries.rawValue),
      transfer: UInt8(truncatingIfNeeded: source.color_trc.rawValue),
      matrix: UInt8(truncatingIfNeeded: source.colorspace.rawValue),
      isFullRange: source.color_range == AVCOL_RANGE_JPEG)
    isRangeKnown = unsafe source.color_range != AVCOL_RANGE_UNSPECIFIED
    chromaLocation = ChromaLocation(unsafe source.chroma_location)
    sampleAspectRatio = Rational(unsafe source.sample_aspect_ratio)
    frameRate = codedFrameRate ?? unit.frameRate
    unsafe libav = frame
    self.pool = pool
  }

  /// Repeats `frame` in place of the picture of `unit`; `nil` when memory has run out.
  convenience init?(repeating frame: RawFrame, for unit: UnitRecord) {
    guard let copy = unsafe frame.pool.take() else { return nil }
    guard unsafe av_frame_ref(copy, frame.libav) >= 0 else {
      unsafe frame.pool.recycle(copy)
      return nil
    }
    var unit = unit
    unit.condition = .repeated
    unsafe self.init(copy, from: frame.pool, by: frame.identity, in: unit, like: frame)
  }

  /// Repeats `frame` at `time`, where nothing came; `nil` when memory has run out.
  public convenience init?(repeating frame: RawFrame, at time: MediaTime) {
    var unit = frame.record
    unit.time = time
    unit.captureTime = nil
    unit.byteCount = 0
    unit.origin = nil
    self.init(repeating: frame, for: unit)
  }

  /// Takes ownership of `libav`, which shows what `frame` does after `conversion`.
  init(
    _ libav: UnsafeMutablePointer<AVFrame>, from pool: FramePool, by conversion: Conversion,
    in unit: UnitRecord, like frame: RawFrame
  ) {
    geometry = conversion.geometry
    record = unit
    pictureType = frame.pictureType
    scan = frame.scan
    colour = conversion.colour
    isRangeKnown = frame.isRangeKnown || conversion.colour != frame.colour
    chromaLocation = conversion.chromaLocation
    sampleAspectRatio = frame.sampleAspectRatio.flatMap {
      $0.stretched(from: frame.geometry, to: conversion.geometry)
    }
    frameRate = frame.frameRate
    unsafe self.libav = libav
    self.pool = pool
  }

  deinit { unsafe pool.recycle(libav) }

  package func extent(ofPlane plane: Int) -> (bytes: Int, rows: Int) {
    pixelFormat.extent(ofPlane: plane, width: width, height: height)
  }

  package func layout(ofPlane plane: Int) -> PlaneLayout {
    let (bytes, rows) = extent(ofPlane: plane)
    let strides = unsafe libav.pointee.linesize
    let stride = plane == 0 ? strides.0 : plane == 1 ? strides.1 : strides.2
    return PlaneLayout(rowBytes: bytes, stride: Int(stride), rows: rows)
  }

  /// The address of the plane's first sample; valid as long as the frame.
  package func planeStart(_ plane: Int) -> UnsafeMutablePointer<UInt8>? {
    let data = unsafe libav.pointee.data
    return unsafe plane == 0 ? data.0 : plane == 1 ? data.1 : data.2
  }
}

extension RawFrame.PictureType {
  fileprivate init(_ type: AVPictureType) {
    switch type {
    case AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_SI: self = .intra
    case AV_PICTURE_TYPE_P, AV_PICTURE_TYPE_SP: self = .predicted
    case AV_PICTURE_TYPE_B: self = .bidirectional
    default: self = .other
    }
  }
}

extension RawFrame.ChromaLocation {
  fileprivate init(_ location: AVChromaLocation) {
    switch location {
    case AVCHROMA_LOC_UNSPECIFIED: self = .unspecified
    case AVCHROMA_LOC_LEFT: self = .left
    case AVCHROMA_LOC_CENTER: self = .centre
    case AVCHROMA_LOC_TOPLEFT: self = .topLeft
    default: self = .other
    }
  }
}

extension Rational {
  /// libav's ratio, or `nil` if it is unknown (a term of 0) or invalid (negative).
  init?(_ ratio: AVRational) {
    guard let numerator = UInt32(exactly: ratio.num), let denominator = UInt32(exactly: ratio.den)
    else { return nil }
    self.init(numerator, denominator)
  }
}
