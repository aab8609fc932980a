import Bitstream
import CFFmpeg
import Defragment
import NIOCore

/// What is appended to a cut H.265 slice, so that decoding ends there.
///
/// libavcodec would continue with zeros, the likeliest symbols of all, to the end of the picture.
/// Ones are the unlikeliest: soon some value is invalid, at the latest where a row of coding tree
/// blocks starts a new arithmetic codeword.
private let cutSliceEnd = [0] + [UInt8](repeating: 0xFF, count: 4095)

extension UnsafeMutablePointer<AVPacket> {
  /// Copies the unit, with the bytes of `beginning` before its slice, to where libavcodec may read
  /// past its end.
  func fill(
    from unit: AccessUnit, beginning: (bytes: ByteBuffer, slice: NALUnit)?, endsCutSlices: Bool
  ) -> Bool {
    let cut = endsCutSlices ? unit.units.filter { !$0.isWhole } : []
    let added = beginning.map { AnnexB.stream(of: [$0.bytes]) } ?? ByteBuffer()
    let length = unit.bytes.readableBytes + added.readableBytes + cut.count * cutSliceEnd.count
    guard let size = Int32(exactly: length), unsafe av_new_packet(self, size) >= 0,
      let data = unsafe pointee.data
    else { return false }
    let target = unsafe UnsafeMutableRawBufferPointer(start: data, count: length)
    unsafe unit.bytes.withUnsafeReadableBytes { source in
      var (read, written) = (0, 0)
      func copy(upTo end: Int) {
        let piece = unsafe UnsafeRawBufferPointer(rebasing: source[read..<end])
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[written...]).copyMemory(from: piece)
        (read, written) = (end, written + piece.count)
      }
      if let slice = beginning?.slice {
        unsafe copy(upTo: min(max(slice.offset - AnnexB.startCode.count, 0), source.count))
        unsafe added.withUnsafeReadableBytes { bytes in
          unsafe UnsafeMutableRawBufferPointer(rebasing: target[written...]).copyMemory(from: bytes)
          written += bytes.count
        }
      }
      for entry in cut {
        unsafe copy(upTo: min(max(entry.offset + entry.length, read), source.count))
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[written...])
          .copyBytes(from: cutSliceEnd)
        written += cutSliceEnd.count
      }
      unsafe copy(upTo: source.count)
    }
    return true
  }
}
