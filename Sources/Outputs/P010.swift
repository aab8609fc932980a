import Decode
import Defragment

/// Makes P010 of three planes of 10 bits: the significant bits are the high ones, and Cb and Cr
/// alternate.
///
/// libswscale gives samples of 8 bits low bits of their own there, and leaves out the last column
/// of chroma where the width is odd.
enum P010 {
  private static let shift: UInt16 = 6

  /// Writes `frame`, which is yuv420p10, to memory at `start`; returns whether it has the size of
  /// `layout`, without which nothing is written.
  static func write(
    _ frame: RawFrame, to start: UnsafeMutableRawPointer, as layout: PictureLayout
  ) -> Bool {
    let size = (layout.geometry.width, layout.geometry.height)
    guard (frame.width, frame.height) == size, frame.pixelFormat == .yuv420p10 else { return false }
    withExtendedLifetime(frame) {
      let luma = frame.layout(ofPlane: 0)
      for row in 0..<luma.rows {
        let target = unsafe self.row(row, of: layout.planes[0], at: start)
        guard let source = unsafe self.row(row, ofPlane: 0, of: frame) else { continue }
        for column in 0..<luma.rowBytes / 2 {
          unsafe target[column] = source[column] &<< shift
        }
      }
      let chroma = frame.layout(ofPlane: 1)
      for row in 0..<chroma.rows {
        let target = unsafe self.row(row, of: layout.planes[1], at: start)
        guard let blue = unsafe self.row(row, ofPlane: 1, of: frame),
          let red = unsafe self.row(row, ofPlane: 2, of: frame)
        else { continue }
        for column in 0..<chroma.rowBytes / 2 {
          unsafe target[2 &* column] = blue[column] &<< shift
          unsafe target[2 &* column &+ 1] = red[column] &<< shift
        }
      }
    }
    return true
  }

  private static func row(
    _ row: Int, ofPlane plane: Int, of frame: RawFrame
  ) -> UnsafePointer<UInt16>? {
    let stride = frame.layout(ofPlane: plane).stride
    return unsafe frame.planeStart(plane).map {
      unsafe UnsafeRawPointer($0 + row * stride).assumingMemoryBound(to: UInt16.self)
    }
  }

  private static func row(
    _ row: Int, of plane: PictureLayout.Plane, at start: UnsafeMutableRawPointer
  ) -> UnsafeMutablePointer<UInt16> {
    unsafe (start + plane.offset + row * plane.rows.stride).assumingMemoryBound(to: UInt16.self)
  }
}
