import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire

/// The sound of a recording in a form that its container takes, on the timeline of the pictures.
///
/// What the container knows is copied; everything else becomes AAC.
struct SoundTrack {
  /// A unit as it is recorded.
  struct Sample {
    var bytes: ByteBuffer
    /// On the timeline of the pictures, or its own where there are none, in nanoseconds.
    var start: Int64
    /// Samples of each channel.
    var count: Int
    /// How many received units it accounts for.
    var items: Int
  }

  /// Sound that is decoded and encoded again.
  fileprivate struct Conversion {
    var decoded = DecodedTrack()
    var encoder: SoundEncoder?
    /// Seconds of sound that the encoder got.
    var fed = 0.0
    /// A moment of the timeline, in nanoseconds, and how many seconds the encoder had got by then.
    var anchor: (time: Int64, fed: Double)?
    /// Units that are in no sample yet.
    var items = 0
  }

  /// What is recorded; `nil` before the first unit.
  private(set) var format: SoundFormat?
  /// Samples at the start that players leave out.
  private(set) var padding = 0
  /// Why the sound cannot be recorded.
  private(set) var failure: String?
  private let container: Container
  private var source: SoundFormat?
  private var conversion: Conversion?
  private var filling = HoleFilling()
  /// How far the timeline of the pictures is ahead of the sound's own, in nanoseconds, by the
  /// arrivals; until sender reports say it better.
  private var lead: Int64?

  init(for container: Container) { self.container = container }

  /// The track as files describe it; `nil` before it is known.
  var recorded: RecordedTrack? { format.map { RecordedTrack($0, padding: padding) } }

  /// Takes `unit`, after a picture of that time arrived at that moment.
  ///
  /// - Returns: what can be recorded by now.
  mutating func take(
    _ unit: SoundUnit, after picture: (time: Int64, arrival: Instant)?
  ) -> [Sample] {
    let start = place(unit, after: picture)
    if source != unit.format {
      source = unit.format
      failure = nil
      conversion = container.copies(unit.format) ? nil : Conversion()
      format = conversion == nil ? unit.format.described : nil
    }
    guard var conversion else {
      let sample = Sample(bytes: unit.bytes, start: start, count: unit.sampleCount, items: 1)
      return (container.fillsHoles ? filling.silence(before: unit, at: start) : []) + [sample]
    }
    self.conversion = nil
    conversion.items += 1
    let samples = convert(unit, start: start, with: &conversion)
    self.conversion = conversion
    return samples
  }

  /// What the encoder still has, when nothing more comes.
  mutating func finish() -> [Sample] {
    guard var conversion, let encoder = conversion.encoder else { return [] }
    let samples = conversion.samples(of: encoder.finish(), by: encoder)
    self.conversion = Conversion()
    source = nil
    return samples
  }

  private mutating func convert(
    _ unit: SoundUnit, start: Int64, with conversion: inout Conversion
  ) -> [Sample] {
    do {
      let pieces = try conversion.decoded.take(unit)
      guard let first = pieces.first else { return [] }
      let encoder: SoundEncoder
      if let open = conversion.encoder {
        encoder = open
      } else {
        encoder = try SoundEncoder(
          container.coding(for: unit.format), sampleRate: first.sampleRate,
          channels: first.channels)
        conversion.encoder = encoder
        format = encoder.format
        padding = encoder.padding
      }
      var packets: [SoundEncoder.Packet] = []
      for piece in pieces {
        packets += encoder.encode(piece.values)
        conversion.fed += Double(piece.count) / Double(piece.sampleRate)
      }
      let end = start.addingSaturating(unit.duration.wholeNanoseconds)
      conversion.anchor = (end, conversion.fed)
      return conversion.samples(of: packets, by: encoder)
    } catch {
      failure = "\(error)"
      return []
    }
  }

  /// When `unit` begins, in nanoseconds.
  private mutating func place(
    _ unit: SoundUnit, after picture: (time: Int64, arrival: Instant)?
  ) -> Int64 {
    if let aligned = unit.alignedTime { return aligned.nanoseconds }
    guard let picture else { return unit.time.nanoseconds }
    if unit.isDiscontinuity { lead = nil }
    let lead =
      self.lead
      ?? picture.time.addingSaturating(picture.arrival.nanoseconds(to: unit.firstArrival))
      .subtractingSaturating(unit.time.nanoseconds)
    self.lead = lead
    return unit.time.nanoseconds.addingSaturating(lead)
  }
}

extension SoundTrack.Conversion {
  /// `packets` at their times.
  fileprivate mutating func samples(
    of packets: [SoundEncoder.Packet], by encoder: SoundEncoder
  ) -> [SoundTrack.Sample] {
    guard let anchor else { return [] }
    let rate = Double(encoder.format.sampleRate)
    return packets.map { packet in
      defer { items = 0 }
      let distance = (Double(packet.position) / rate - anchor.fed) * 1e9
      return SoundTrack.Sample(
        bytes: packet.bytes, start: anchor.time.addingSaturating(Int64(distance.rounded())),
        count: packet.sampleCount, items: items)
    }
  }
}

extension SoundFormat {
  /// The format with the description that files need, where the stream brings none: an Opus
  /// identification header (RFC 7845 §5.1).
  fileprivate var described: SoundFormat {
    guard codec.decoderName == "opus", configuration.isEmpty else { return self }
    let header =
      Array("OpusHead".utf8) + [1, UInt8(channels)]
      // Nothing is left out at the start, which is in the middle of the stream; then 48,000 Hz, no
      // gain, and mono or stereo.
      + [0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]
    return SoundFormat(
      codec: codec, sampleRate: sampleRate, channels: channels, configuration: header)
  }
}
