import Defragment
import RTPProcessor
import RTPWire

/// What each track takes from the description of its media.
extension MediaDescription {
  /// Whether it gives `payloadType` to this media.
  func assigns(_ payloadType: UInt8) -> Bool {
    self.payloadType == payloadType
      || otherFormats.contains { $0.payloadType == payloadType }
      || auxiliaryTypes.contains(payloadType)
  }

  /// Takes the rate of the coding where none is said: cameras write a rate of 0, and mean that.
  mutating func inferClockRate(from formats: FormatCatalogue) {
    if !saysClockRate, let rate = formats.sampleRate(of: self) { clockRate = rate }
    for index in otherFormats.indices { otherFormats[index].inferClockRate(from: formats) }
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
