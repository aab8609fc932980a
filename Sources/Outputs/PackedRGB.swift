import Bitstream
import CPixels
import Decode

/// Makes RGB of 4:2:0 and 4:2:2 with 8 bits in half of libswscale's time, and rounds it rightly.
///
/// Each chroma sample holds for its pixels.
enum PackedRGB {
  /// Writes `frame` to memory at `start`, if the processor can; returns whether it was done.
  static func write(
    _ frame: RawFrame, by setup: FieldScaler.Setup, to start: UnsafeMutableRawPointer,
    as layout: PictureLayout
  ) -> Bool {
    guard pixels_can_make_rgb() != 0, frame.geometry == setup.source.geometry,
      layout.geometry == setup.target.geometry, var matrix = pixels_matrix(setup)
    else { return false }
    return withExtendedLifetime(frame) {
      let strides = (0..<3).map { frame.layout(ofPlane: $0).stride }
      let target = layout.planes[0]
      for field in 0..<setup.fieldCount {
        guard let luma = unsafe frame.planeStart(0), let blue = unsafe frame.planeStart(1),
          let red = unsafe frame.planeStart(2)
        else { return false }
        var planes = unsafe pixels_planes(
          luma: luma + field * strides[0], blue: blue + field * strides[1],
          red: red + field * strides[2], luma_stride: strides[0] * setup.fieldCount,
          blue_stride: strides[1] * setup.fieldCount, red_stride: strides[2] * setup.fieldCount,
          width: frame.width, height: frame.height / setup.fieldCount,
          chroma_rows: 1 << frame.pixelFormat.chromaShift.height)
        let rows = unsafe (start + target.offset + field * target.rows.stride)
          .assumingMemoryBound(to: UInt8.self)
        unsafe pixels_make_rgb(
          rows, target.rows.stride * setup.fieldCount, &planes, &matrix,
          layout.geometry.pixelFormat == .bgr24 ? 1 : 0)
      }
      return true
    }
  }
}

extension pixels_matrix {
  /// That of the source's colours.
  init?(_ setup: FieldScaler.Setup) {
    // For limited range, in 1/65536: the red of Cr, the blue of Cb, the green of Cb and of Cr.
    guard let table = unsafe setup.matrix(of: setup.source).coefficients else { return nil }
    let isFullRange = setup.source.colour.isFullRange
    let unit = isFullRange ? 65536.0 * 255 / 224 : 65536
    self.init(
      black: isFullRange ? 0 : 16, luma: isFullRange ? 1 : 255.0 / 219,
      red_of_red: unsafe Double(table[0]) / unit, green_of_blue: unsafe Double(table[2]) / unit,
      green_of_red: unsafe Double(table[3]) / unit, blue_of_blue: unsafe Double(table[1]) / unit)
  }
}
