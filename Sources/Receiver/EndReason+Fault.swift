import RTPWire
import Reception
import Transports

extension EndReason {
  /// Whether the rest of the stream comes at once in another connection.
  var continuesInAnotherConnection: Bool {
    guard case .transportFailed(let error) = self else { return false }
    return (error as? any TransportFault)?.continuesInAnotherConnection ?? false
  }

  /// Whether another connection may help, where `media` was said before any of them.
  func fault(given media: MediaDescription = MediaDescription()) -> ConnectionFault {
    switch self {
    case .cannotOpen(let error), .transportFailed(let error): ConnectionFault(of: error)
    case .goodbye, .ended, .noMedia, .mediaLost: .transient
    // A camera that was switched over may describe its former codec once more.
    case .otherCodec: media.encodingName == nil ? .transient : .permanent
    case .framesReached, .durationReached, .stopped, .unrecognizedMedia, .unsupportedMedia,
      .decoderFailed, .outputsEnded:
      .permanent
    }
  }
}
