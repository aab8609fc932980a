public import Bitstream
package import CFFmpeg
import Defragment

/// The memory layout of a raw picture, with 8 to 16 bits per sample.
public struct PixelFormat: Sendable, Hashable {
  /// The contents of the planes.
  public enum Layout: Sendable, Hashable {
    /// A plane for luma and, except in monochrome, one each for Cb and Cr.
    case yuv(FormatDescription.ChromaFormat)
    /// A plane for luma, and one in which Cb and Cr alternate.
    case semiPlanar(FormatDescription.ChromaFormat)
    /// Green, blue and red, as H.264 and H.265 code them with an identity matrix.
    case gbr
    /// One plane of red, green and blue for each pixel, in the order that the name says.
    case packed
  }

  /// libav's name, such as `yuv420p`, `yuv422p10le` or `gray`.
  public let name: String
  public let layout: Layout
  /// Significant bits per sample; samples of more than 8 bits take two bytes, low byte first.
  ///
  /// They are the low bits, except in `p010le`.
  public let bitDepth: Int

  package let libav: AVPixelFormat

  /// Bytes per sample.
  public var bytesPerSample: Int { bitDepth > 8 ? 2 : 1 }

  public var planeCount: Int {
    switch layout {
    case .packed, .yuv(.monochrome): 1
    case .semiPlanar: 2
    case .yuv, .gbr: 3
    }
  }

  /// By how many bits the width and height of the chroma planes are shifted down, rounding up.
  package var chromaShift: (width: Int, height: Int) {
    switch layout {
    case .yuv(.yuv420), .semiPlanar(.yuv420): (1, 1)
    case .yuv(.yuv422), .semiPlanar(.yuv422): (1, 0)
    case .yuv, .semiPlanar, .gbr, .packed: (0, 0)
    }
  }

  /// By how many bits the width and height of the plane `index` are shifted down.
  func shift(of index: Int) -> (width: Int, height: Int) {
    index > 0 && layout != .gbr ? chromaShift : (0, 0)
  }

  private init(_ name: String, _ layout: Layout, _ bitDepth: Int, _ libav: AVPixelFormat) {
    self.name = name
    self.layout = layout
    self.bitDepth = bitDepth
    self.libav = libav
  }

  /// Reads libav's description of `format`, which a decoder makes; `nil` for those with components
  /// that share a plane, alpha, big-endian and hardware ones.
  package init?(_ format: AVPixelFormat) {
    let format = Self.withoutRange(format)
    guard
      let descriptor = unsafe av_pix_fmt_desc_get(format),
      let name = unsafe av_get_pix_fmt_name(format)
    else { return nil }
    let flags = unsafe Int32(truncatingIfNeeded: descriptor.pointee.flags)
    let refused =
      AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL
      | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT
    let components = unsafe Int(descriptor.pointee.nb_components)
    guard flags & refused == 0,
      unsafe av_pix_fmt_count_planes(format) == descriptor.pointee.nb_components
    else { return nil }
    let shift = unsafe (
      width: Int(descriptor.pointee.log2_chroma_w), height: Int(descriptor.pointee.log2_chroma_h)
    )
    let layout: Layout
    switch (components, flags & AV_PIX_FMT_FLAG_RGB != 0, shift.width, shift.height) {
    case (1, false, _, _): layout = .yuv(.monochrome)
    case (3, true, _, _): layout = .gbr
    case (3, false, 1, 1): layout = .yuv(.yuv420)
    case (3, false, 1, 0): layout = .yuv(.yuv422)
    case (3, false, 0, 0): layout = .yuv(.yuv444)
    default: return nil
    }
    self.init(
      unsafe String(cString: name), layout, unsafe Int(descriptor.pointee.comp.0.depth), format)
  }

  /// Width in bytes and rows of `plane` in a picture of `width` × `height` samples.
  package func extent(ofPlane plane: Int, width: Int, height: Int) -> (bytes: Int, rows: Int) {
    let (across, down) = plane > 0 ? chromaShift : (0, 0)
    let samplesPerColumn =
      switch layout {
      case .packed: 3
      case .semiPlanar: plane > 0 ? 2 : 1
      case .yuv, .gbr: 1
      }
    return (
      ((width + (1 << across) - 1) >> across) * samplesPerColumn * bytesPerSample,
      (height + (1 << down) - 1) >> down
    )
  }

  public static func == (left: PixelFormat, right: PixelFormat) -> Bool {
    left.libav == right.libav
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(libav.rawValue) }

  /// The format without the range that is part of libav's deprecated `yuvj` names.
  private static func withoutRange(_ format: AVPixelFormat) -> AVPixelFormat {
    switch format {
    case AV_PIX_FMT_YUVJ420P: AV_PIX_FMT_YUV420P
    case AV_PIX_FMT_YUVJ422P: AV_PIX_FMT_YUV422P
    case AV_PIX_FMT_YUVJ444P: AV_PIX_FMT_YUV444P
    default: format
    }
  }
}

extension PixelFormat {
  public static let yuv420p = PixelFormat("yuv420p", .yuv(.yuv420), 8, AV_PIX_FMT_YUV420P)
  public static let nv12 = PixelFormat("nv12", .semiPlanar(.yuv420), 8, AV_PIX_FMT_NV12)
  public static let rgb24 = PixelFormat("rgb24", .packed, 8, AV_PIX_FMT_RGB24)
  public static let bgr24 = PixelFormat("bgr24", .packed, 8, AV_PIX_FMT_BGR24)
  public static let gray8 = PixelFormat("gray", .yuv(.monochrome), 8, AV_PIX_FMT_GRAY8)
  public static let yuv420p10 = PixelFormat(
    "yuv420p10le", .yuv(.yuv420), 10, AV_PIX_FMT_YUV420P10LE)
  public static let p010 = PixelFormat("p010le", .semiPlanar(.yuv420), 10, AV_PIX_FMT_P010LE)
  public static let gray10 = PixelFormat("gray10le", .yuv(.monochrome), 10, AV_PIX_FMT_GRAY10LE)

  package static let yuv422p = PixelFormat("yuv422p", .yuv(.yuv422), 8, AV_PIX_FMT_YUV422P)
  package static let yuv444p = PixelFormat("yuv444p", .yuv(.yuv444), 8, AV_PIX_FMT_YUV444P)
  /// With the high byte first, as in PNG.
  package static let rgb48 = PixelFormat("rgb48be", .packed, 16, AV_PIX_FMT_RGB48BE)

  /// What frames can be converted to, under the names that people know.
  public static let targets: KeyValuePairs<String, PixelFormat> = [
    "yuv420p": yuv420p, "nv12": nv12, "rgb24": rgb24, "bgr24": bgr24, "gray8": gray8,
    "yuv420p10le": yuv420p10, "p010le": p010, "gray10le": gray10,
  ]

  /// The one of ``targets`` with this name or libav's.
  public init?(named name: String) {
    let found = Self.targets.first { $0.key == name || $0.value.name == name }
    guard let found else { return nil }
    self = found.value
  }
}
