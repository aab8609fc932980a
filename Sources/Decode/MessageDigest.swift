import CFFmpeg
import RTPWire

/// An MD5 that grows piece by piece.
@safe struct MessageDigest: ~Copyable {
  private let context: OpaquePointer

  /// Begins one; `nil` when memory has run out.
  init?() {
    guard let context = unsafe av_md5_alloc() else { return nil }
    unsafe av_md5_init(context)
    unsafe self.context = context
  }

  deinit { unsafe av_free(UnsafeMutableRawPointer(context)) }

  mutating func add(_ bytes: UnsafePointer<UInt8>, count: Int) {
    unsafe av_md5_update(context, bytes, count)
  }

  /// The sixteen bytes; nothing can be added after that.
  consuming func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    unsafe digest.withUnsafeMutableBufferPointer { unsafe av_md5_final(context, $0.baseAddress) }
    return digest
  }
}

extension RawFrame {
  /// The MD5 of its samples, all planes without padding, in lower-case hexadecimal digits, as
  /// `ffmpeg -f framemd5` prints it; `nil` when memory has run out.
  package func messageDigest() -> String? {
    guard var digest = MessageDigest() else { return nil }
    for plane in 0..<planeCount {
      let layout = layout(ofPlane: plane)
      guard let start = unsafe planeStart(plane) else { return nil }
      for row in 0..<layout.rows {
        unsafe digest.add(start + row * layout.stride, count: layout.rowBytes)
      }
    }
    return digest.finish().hexadecimal
  }
}
