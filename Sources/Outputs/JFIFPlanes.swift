import Bitstream
import CPixels
import Decode

/// Makes the colours of JPEG files of 4:2:0 and 4:2:2 with 8 bits, in a tenth of libswscale's time.
enum JFIFPlanes {
  /// Writes `frame` to memory at `start`, if that is what `setup` asks for; returns whether it was
  /// done.
  static func write(
    _ frame: RawFrame, by setup: FieldScaler.Setup, to start: UnsafeMutableRawPointer,
    as layout: PictureLayout
  ) -> Bool {
    let (source, target) = (setup.source, setup.target)
    guard source.geometry == target.geometry, frame.geometry == source.geometry,
      layout.geometry == target.geometry, source.geometry.pixelFormat.bitDepth == 8,
      [.yuv(.yuv420), .yuv(.yuv422)].contains(source.geometry.pixelFormat.layout),
      [.unspecified, .left].contains(source.chromaLocation), target.chromaLocation == .centre,
      target.colour.isFullRange, target.colour.matrix == ColourMatrix.bt601.rawValue,
      var matrix = pixels_matrix(setup)
    else { return false }
    return withExtendedLifetime(frame) {
      guard let luma = unsafe frame.planeStart(0), let blue = unsafe frame.planeStart(1),
        let red = unsafe frame.planeStart(2)
      else { return false }
      var planes = unsafe pixels_planes(
        luma: luma, blue: blue, red: red, luma_stride: frame.layout(ofPlane: 0).stride,
        blue_stride: frame.layout(ofPlane: 1).stride, red_stride: frame.layout(ofPlane: 2).stride,
        width: frame.width, height: frame.height,
        chroma_rows: 1 << frame.pixelFormat.chromaShift.height)
      let starts = unsafe layout.planes.map {
        unsafe (start + $0.offset).assumingMemoryBound(to: UInt8.self)
      }
      let strides = layout.planes.map(\.rows.stride)
      var targets = unsafe pixels_targets(
        luma: starts[0], blue: starts[1], red: starts[2], luma_stride: strides[0],
        blue_stride: strides[1], red_stride: strides[2])
      let columns = (frame.width + 1) / 2
      unsafe withUnsafeTemporaryAllocation(of: Int16.self, capacity: 4 * columns + 1) { room in
        unsafe pixels_make_jfif(&targets, &planes, &matrix, room.baseAddress)
      }
      return true
    }
  }
}
