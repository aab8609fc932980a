import Outputs

extension OutputError {
  /// The error's name in the statistics, which does not change; people read its words instead.
  var name: String {
    switch self {
    case .cannotOpen: "cannot_open"
    case .formatChanged: "format_changed"
    case .noReader: "no_reader"
    case .readerGone: "reader_gone"
    case .writeFailed: "write_failed"
    case .readerTooSlow: "reader_too_slow"
    case .unsupportedPixelFormat: "unsupported_pixel_format"
    case .wrongCodec: "wrong_codec"
    case .cannotScale: "cannot_scale"
    }
  }
}
