/// Where the planes of a picture lie in one piece of memory that libswscale can write.
///
/// Its vector code writes whole blocks of samples, also beyond the end of a row, and leaves out the
/// last block where the stride has no room for it. So a row has room for whole blocks.
package struct PictureLayout: Sendable, Hashable {
  package struct Plane: Sendable, Hashable {
    /// Bytes from the start of the memory to the first sample.
    package let offset: Int
    package let rows: RawFrame.PlaneLayout
  }

  /// Bytes; the memory, the planes and their rows begin at multiples of it.
  package static let alignment = 64
  /// The most samples that are written at once.
  private static let block = 32

  package let geometry: RawFrame.Geometry
  package let planes: [Plane]
  /// The size of the memory.
  package let byteCount: Int

  package init(of geometry: RawFrame.Geometry) {
    self.geometry = geometry
    let format = geometry.pixelFormat
    let room = Self.rounded(geometry.width, to: Self.block)
    var (planes, end): ([Plane], Int) = ([], 0)
    for plane in 0..<format.planeCount {
      let (bytes, rows) = format.extent(
        ofPlane: plane, width: geometry.width, height: geometry.height)
      let stride = Self.rounded(
        format.extent(ofPlane: plane, width: room, height: geometry.height).bytes,
        to: Self.alignment)
      planes.append(
        Plane(
          offset: end, rows: RawFrame.PlaneLayout(rowBytes: bytes, stride: stride, rows: rows)))
      end += stride * rows
    }
    self.planes = planes
    byteCount = end + Self.alignment
  }

  private static func rounded(_ value: Int, to multiple: Int) -> Int {
    (value + multiple - 1) / multiple * multiple
  }
}
