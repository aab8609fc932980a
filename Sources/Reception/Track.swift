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
  /// Of the clock that its times are counted by now.
  private(set) var clockRate: UInt32
  /// Those of the listed formats of its sound, by payload type; empty if there is only one rate.
  private var rates: [UInt8: UInt32] = [:]
  /// The first packet by another clock, until a second one shows that the sender goes on with it.
  private var kept: Datagram?
  /// When anything last came for it.
  private(set) var lastArrival: Instant?

  /// Begins after `former`, whose totals continue.
  init(
    _ media: MediaDescription, at place: Int?, window: Duration, after former: Track? = nil
  ) {
    self.media = media
    self.place = place
    clockRate = media.clockRate
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

  /// The format that its sound has now, of those that are described.
  var current: MediaDescription {
    guard let type = sound?.payloadType else { return media }
    return media.otherFormats.first { $0.payloadType == type } ?? media
  }

  /// Unpacks its sound from now on, if `formats` knows its coding; the totals of `former` continue.
  mutating func unpack(with formats: FormatCatalogue, after former: Track? = nil) {
    sound = SoundDefragmenter(
      media: media, formats: formats,
      continuing: former?.sound?.statistics ?? SoundStatistics())
    for format in [media] + media.otherFormats where formats.knowsSound(format) {
      if let type = format.payloadType { rates[type] = format.clockRate }
    }
    if rates.values.allSatisfy({ $0 == clockRate }) { rates = [:] }
  }

  /// The next unit of its sound.
  mutating func nextSound() -> SoundUnit? {
    guard var unit = sound?.next() else { return nil }
    unit.captureTime = processor.clock.captureTime(of: unit.time)
    return unit
  }

  mutating func receive(_ datagram: Datagram) {
    lastArrival = datagram.arrival
    guard datagram.channel == .media, let rate = datagram.payloadType.flatMap({ rates[$0] }) else {
      return process(datagram)
    }
    guard rate != clockRate, let packet = try? datagram.packet(),
      mayChangeClock(with: packet, at: datagram.arrival)
    else {
      releaseKept()
      return process(datagram)
    }
    guard let first = kept.flatMap({ try? $0.packet() }), first.ssrc == packet.ssrc,
      rates[first.payloadType] == rate,
      first.sequenceNumber.distance(to: packet.sequenceNumber) == 1
    else {
      releaseKept()
      kept = datagram.detached
      return
    }
    changeClock(to: rate, at: datagram.arrival)
    releaseKept()
    process(datagram)
  }

  private mutating func process(_ datagram: Datagram) {
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
    releaseKept()
    processor.finish(isWhole: isWhole)
    drain(at: Instant(nanoseconds: .max))
    sound?.flush()
  }

  /// Whether `packet`, which came at `now`, is not of another source than one that goes on.
  private func mayChangeClock(with packet: RTPPacket, at now: Instant) -> Bool {
    guard let ssrc, ssrc != packet.ssrc, let end = processor.silentFrom else { return true }
    return end <= now
  }

  /// Counts times by another clock from now on, as on another connection: the timestamps of one
  /// have nothing to do with those of the other (RFC 7160 §2).
  private mutating func changeClock(to rate: UInt32, at now: Instant) {
    processor.finish(at: now)
    drain(at: now)
    var configuration = processor.configuration
    configuration.clockRate = rate
    processor = RTPProcessor(configuration: configuration, after: processor)
    clockRate = rate
  }

  /// Gives what was kept the way of all packets.
  private mutating func releaseKept() {
    guard let datagram = kept else { return }
    kept = nil
    process(datagram)
  }

  /// Whether the description assigns `payloadType` to this track.
  func describes(_ payloadType: UInt8) -> Bool { media.assigns(payloadType) }
}
