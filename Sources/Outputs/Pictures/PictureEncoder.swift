import Decode
import NIOCore

/// Makes files of single frames.
protocol PictureEncoder: AnyObject {
  /// The file of a picture.
  ///
  /// - Throws: ``OutputError``.
  func encode(_ frame: RawFrame) throws(OutputError) -> ByteBuffer
}
