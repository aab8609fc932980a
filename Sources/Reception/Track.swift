import RTPProcessor
import RTPWire

/// A track that is received, ordered and counted, but not decoded.
struct Track: Sendable {
  let media: MediaDescription
  /// Its place in the far end's description; `nil` if it was found beside the video.
  let place: Int?
  /// The source it was made for; `nil` if it was described.
  var expectedSource: UInt32?
  private(set) var processor: RTPProcessor

  /// Begins after `former`, whose totals continue.
  init(
    _ media: MediaDescription, at place: Int?, window: Duration, after former: Track? = nil
  ) {
    self.media = media
    self.place = place
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = window
    configuration.clockRate = media.clockRate
    configuration.correctionFormats = media.correctionFormats
    configuration.redundancyPayloadType = media.redundancyPayloadType
    configuration.retransmissionFormats = media.retransmissionFormats
    // One source numbers several payload types together: comfort noise, telephone events.
    configuration.payloadType = nil
    if let former {
      processor = RTPProcessor(configuration: configuration, after: former.processor)
    } else {
      processor = RTPProcessor(configuration: configuration)
    }
  }

  var ssrc: UInt32? { processor.ssrc }
  var deadline: Instant? { processor.deadline }
  var sourceReception: SourceReception? { processor.reception }

  mutating func receive(_ datagram: Datagram) {
    // Any packet can be the first: nothing here waits for a key picture.
    _ = processor.receive(datagram) { _ in true }
    drain(at: datagram.arrival)
  }

  /// Removes what is in order at `now`.
  mutating func drain(at now: Instant) {
    while processor.next(at: now) != nil {}
  }

  mutating func finish() {
    processor.finish()
    while processor.next(at: Instant(nanoseconds: .max)) != nil {}
  }

  /// Whether the description assigns `payloadType` to this track.
  func describes(_ payloadType: UInt8) -> Bool {
    media.payloadType == payloadType || media.auxiliaryTypes.contains(payloadType)
  }
}
