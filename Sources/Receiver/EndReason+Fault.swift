import Reception
import Transports

extension EndReason {
  /// Whether another connection may help.
  var fault: ConnectionFault {
    switch self {
    case .cannotOpen(let error), .transportFailed(let error): ConnectionFault(of: error)
    case .goodbye, .ended, .noMedia, .mediaLost: .transient
    case .framesReached, .durationReached, .stopped, .unrecognizedMedia, .otherCodec,
      .unsupportedMedia, .decoderFailed, .outputsEnded:
      .permanent
    }
  }
}
