import Defragment
import RTPProcessor
import RTPWire

/// A track beside the video: received, ordered and counted, and unpacked if it is the sound.
struct Track: Sendable {
  let media: MediaDescription
  /// Its place in the far end's description; `nil` if it was found beside the video.
  let place: Int?
  /// The source it was made for; `nil` if it was described.
  var expectedSource: UInt32?
  private(set) var processor: RTPProcessor
  /// Takes the sound out of its packets; `nil` for a track that is only counted.
  private(set) var sound: SoundDefragmenter?
  /// When anything last came for it.
  private(set) var lastArrival: Instant?

  /// Begins after `former`, whose totals continue.
  init(
    _ media: MediaDescription, at place: Int?, window: Duration, after former: Track? = nil
  ) {
    self.media = media
    self.place = place
    var configuration = RTPProcessor.Configuration(of: media, window: window)
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

  /// Unpacks its sound from now on, if `formats` knows its coding; the totals of `former` continue.
  mutating func unpack(with formats: FormatCatalogue, after former: Track? = nil) {
    sound = SoundDefragmenter(
      media: media, formats: formats,
      continuing: former?.sound?.statistics ?? SoundStatistics())
  }

  /// The next unit of its sound.
  mutating func nextSound() -> SoundUnit? {
    guard var unit = sound?.next() else { return nil }
    unit.captureTime = processor.clock.captureTime(of: unit.time)
    return unit
  }

  mutating func receive(_ datagram: Datagram) {
    lastArrival = datagram.arrival
    // Any packet can be the first: nothing here waits for a key picture.
    _ = processor.receive(datagram) { _ in true }
    drain(at: datagram.arrival)
  }

  /// Takes what is in order at `now`.
  mutating func drain(at now: Instant) {
    while let packet = processor.next(at: now) { sound?.push(packet) }
  }

  /// Ends the track; `isWhole` says that the sender has sent no more.
  mutating func finish(isWhole: Bool) {
    processor.finish(isWhole: isWhole)
    drain(at: Instant(nanoseconds: .max))
    sound?.flush()
  }

  /// Whether the description assigns `payloadType` to this track.
  func describes(_ payloadType: UInt8) -> Bool { media.assigns(payloadType) }
}
