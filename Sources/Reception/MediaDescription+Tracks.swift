import Defragment
import RTPProcessor
import RTPWire

/// What each track takes from the description of its media.
extension MediaDescription {
  /// Whether it gives `payloadType` to this media.
  func assigns(_ payloadType: UInt8) -> Bool {
    self.payloadType == payloadType || auxiliaryTypes.contains(payloadType)
  }
}

extension RTPProcessor.Configuration {
  /// What holds for every track of `media`.
  init(of media: MediaDescription, window: Duration) {
    self.init()
    reorderWindow = window
    clockRate = media.clockRate
    correctionFormats = media.correctionFormats
    redundancyPayloadType = media.redundancyPayloadType
    retransmissionFormats = media.retransmissionFormats
  }
}

extension FormatCatalogue {
  /// The static payload types of the sound that it knows (RFC 3551 §6).
  var staticSoundTypes: Set<UInt8> {
    Set((0..<96).filter { knowsSound(MediaDescription(onlyPayloadType: $0)) })
  }
}
