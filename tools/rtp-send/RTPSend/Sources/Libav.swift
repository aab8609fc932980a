import CAVFormat
import CFFmpeg

/// What all uses of libav share.
enum Libav {
  /// Keeps libav from writing to standard error, which is the program's; errors come as
  /// ``SendError``.
  static let silence: Void = av_log_set_level(AV_LOG_QUIET)

  /// What libav says about an error code.
  static func reason(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
    _ = unsafe av_strerror(code, &text, text.count)
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
