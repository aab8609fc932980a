public import Bitstream
package import CFFmpeg
import Defragment

/// The memory layout of a raw picture: one plane per component, 8 to 16 bits per sample.
public struct PixelFormat: Sendable, Hashable {
  /// The contents of the planes.
  public enum Layout: Sendable, Hashable {
    /// Luma and, except in monochrome, Cb and Cr.
    case yuv(FormatDescription.ChromaFormat)
    /// Green, blue and red, as H.264 and H.265 code them with an identity matrix.
    case gbr
  }

  /// libav's name, such as `yuv420p`, `yuv422p10le` or `gray`.
  public let name: String
  public let layout: Layout
  /// Significant bits per sample; samples of more than 8 bits take two bytes, low byte first.
  public let bitDepth: Int
  /// 1 in monochrome, otherwise 3.
  public let planeCount: Int
  /// By how many bits the width and height of the chroma planes are shifted down, rounding up.
  package let chromaShift: (width: Int, height: Int)

  package let libav: AVPixelFormat

  /// Bytes per sample.
  public var bytesPerSample: Int { bitDepth > 8 ? 2 : 1 }

  /// Reads libav's description of `format`; `nil` for packed, alpha, big-endian and hardware ones.
  package init?(_ format: AVPixelFormat) {
    guard
      let descriptor = unsafe av_pix_fmt_desc_get(Self.withoutRange(format)),
      let name = unsafe av_get_pix_fmt_name(Self.withoutRange(format))
    else { return nil }
    let flags = unsafe Int32(truncatingIfNeeded: descriptor.pointee.flags)
    let refused =
      AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL
      | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT
    let components = unsafe Int(descriptor.pointee.nb_components)
    guard flags & refused == 0, components == 1 || flags & AV_PIX_FMT_FLAG_PLANAR != 0 else {
      return nil
    }
    let shift = unsafe (
      width: Int(descriptor.pointee.log2_chroma_w), height: Int(descriptor.pointee.log2_chroma_h)
    )
    switch (components, flags & AV_PIX_FMT_FLAG_RGB != 0, shift.width, shift.height) {
    case (1, false, _, _): layout = .yuv(.monochrome)
    case (3, true, _, _): layout = .gbr
    case (3, false, 1, 1): layout = .yuv(.yuv420)
    case (3, false, 1, 0): layout = .yuv(.yuv422)
    case (3, false, 0, 0): layout = .yuv(.yuv444)
    default: return nil
    }
    self.name = unsafe String(cString: name)
    bitDepth = unsafe Int(descriptor.pointee.comp.0.depth)
    planeCount = components
    chromaShift = shift
    libav = Self.withoutRange(format)
  }

  /// Width in bytes and rows of `plane` in a picture of `width` × `height` samples.
  package func extent(ofPlane plane: Int, width: Int, height: Int) -> (bytes: Int, rows: Int) {
    let isChroma = plane > 0 && layout != .gbr
    let (across, down) = isChroma ? chromaShift : (0, 0)
    return (
      ((width + (1 << across) - 1) >> across) * bytesPerSample,
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
