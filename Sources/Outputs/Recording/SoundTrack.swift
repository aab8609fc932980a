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
    /// What it is; the track may have become something else since.
    var sound: SoundDescription
    var bytes: ByteBuffer
    /// On the timeline of the pictures, or its own where there are none, in nanoseconds.
    var start: Int64
    /// Samples of each channel.
    var count: Int
    /// How many received units it accounts for.
    var items: Int
    /// When it came, or would have come if it had been sent like this.
    var arrival: Instant

    /// Whether a file that begins at `time` can have it.
    ///
    /// Sound and pictures are aligned to some milliseconds, and an encoder's delay adds some. What
    /// begins at most ten before, and half its length, is taken to begin there.
    func canBegin(at time: Int64) -> Bool {
      let half = Int64(count) * 500_000_000 / Int64(sound.format.sampleRate)
      let tolerance = min(half, 10_000_000)
      return start >= time.subtractingSaturating(tolerance)
    }
  }

  /// Sound that is decoded and encoded again.
  fileprivate struct Conversion {
    var decoded = DecodedTrack()
    var encoder: SoundEncoder?
    /// What the encoder was opened for.
    var purpose: Purpose?
    /// Samples of each channel that the encoder got.
    var fed = 0
    /// A moment of the timeline, in nanoseconds, how many samples the encoder had got by then, and
    /// when the sound of that moment arrived.
    var anchor: (time: Int64, fed: Int, arrival: Instant)?
    /// Units that are in no sample yet.
    var items = 0

    struct Purpose: Hashable {
      var coding: SoundEncoder.Coding
      var sampleRate: Int
      var channels: Int
    }
  }

  /// What is recorded now, or was recorded of the last connection that had sound; `nil` before the
  /// first unit.
  private(set) var sound: SoundDescription?
  /// Whether it is that of the current connection; another one may bring other sound, or none.
  private(set) var isCurrent = false
  /// Why the sound cannot be recorded.
  private(set) var failure: String?
  /// What the sound was and has become, since it was first encoded anew because the container
  /// cannot hold it.
  private(set) var change: (from: String, to: String)?
  private let container: Container
  private var source: SoundFormat?
  private var conversion: Conversion?
  private var filling = HoleFilling()

  init(for container: Container) { self.container = container }

  /// Takes `unit`.
  ///
  /// - Parameters:
  ///   - unit: in the order of its source.
  ///   - isAlone: whether it keeps its own times, because there are no pictures.
  /// - Returns: what can be recorded by now.
  mutating func take(_ unit: SoundUnit, isAlone: Bool) -> [Sample] {
    let start = ((isAlone ? nil : unit.alignedTime) ?? unit.time).nanoseconds
    var rest: [Sample] = []
    if source != unit.format {
      failure = nil
      if container.copies(unit.format) {
        rest = finish()
        conversion = nil
        sound = SoundDescription(format: unit.format.described)
      } else if conversion == nil {
        (conversion, sound) = (Conversion(), nil)
      } else {
        // The encoder goes on, if it can.
        conversion?.decoded = DecodedTrack()
      }
      source = unit.format
    }
    guard var conversion else {
      return rest + copies(of: unit, at: start)
    }
    self.conversion = nil
    conversion.items += 1
    let samples = convert(unit, start: start, with: &conversion)
    self.conversion = conversion
    return rest + samples
  }

  /// What the encoder still has, when nothing more comes of what it was given.
  mutating func finish() -> [Sample] {
    guard var conversion else { return [] }
    let samples = conversion.finish()
    self.conversion = Conversion()
    source = nil
    return samples
  }

  /// What is recorded of the current connection; `nil` before its first unit.
  var current: SoundDescription? { isCurrent ? sound : nil }

  /// Takes note that the connection has ended.
  ///
  /// - Parameter isContinued: whether what comes next belongs to the same file, so that the time in
  ///   between becomes silence.
  /// - Returns: what the encoder still has for the file that ends.
  mutating func interrupt(isContinued: Bool) -> [Sample] {
    guard !isContinued else { return [] }
    filling.restart()
    return finish()
  }

  /// Takes note that what comes next belongs to another connection and another file.
  mutating func reconnect() { isCurrent = false }

  /// `unit` as it came, after the silence that belongs before it.
  private mutating func copies(of unit: SoundUnit, at start: Int64) -> [Sample] {
    guard let sound else { return [] }
    isCurrent = true
    let copy = Sample(
      sound: sound, bytes: unit.bytes, start: start, count: unit.sampleCount, items: 1,
      arrival: unit.firstArrival)
    guard container.fillsHoles, let hole = filling.hole(before: unit) else { return [copy] }
    return (0..<hole.count).map { number in
      Sample(
        sound: sound, bytes: hole.bytes,
        start: start.subtractingSaturating(Int64(hole.count - number) * hole.length),
        count: hole.samples, items: 0, arrival: unit.firstArrival)
    } + [copy]
  }

  private mutating func convert(
    _ unit: SoundUnit, start: Int64, with conversion: inout Conversion
  ) -> [Sample] {
    do {
      let pieces = try conversion.decoded.take(unit)
      guard let first = pieces.first else { return [] }
      let purpose = Conversion.Purpose(
        coding: container.coding(for: unit.format), sampleRate: first.sampleRate,
        channels: first.channels)
      var rest: [Sample] = []
      let encoder: SoundEncoder
      if let open = conversion.encoder, conversion.purpose == purpose {
        encoder = open
      } else {
        rest = conversion.finish()
        encoder = try SoundEncoder(
          purpose.coding, sampleRate: purpose.sampleRate, channels: purpose.channels)
        (conversion.encoder, conversion.purpose) = (encoder, purpose)
        sound = encoder.sound
        if container.holdsPictures, change == nil {
          change = (unit.format.codec.name, encoder.format.codec.name)
        }
      }
      isCurrent = true
      var packets: [SoundEncoder.Packet] = []
      for piece in pieces {
        packets += encoder.encode(piece.values)
        conversion.fed += piece.count
      }
      conversion.anchor = (
        start.addingSaturating(unit.duration.wholeNanoseconds), conversion.fed,
        unit.firstArrival.advanced(by: unit.duration)
      )
      return rest + conversion.samples(of: packets, by: encoder)
    } catch {
      failure = "\(error)"
      return []
    }
  }
}

extension SoundTrack.Conversion {
  /// What the encoder still has; another one follows it.
  fileprivate mutating func finish() -> [SoundTrack.Sample] {
    guard let encoder else { return [] }
    let samples = samples(of: encoder.finish(), by: encoder)
    (self.encoder, purpose, fed, anchor) = (nil, nil, 0, nil)
    return samples
  }

  /// `packets` at their times.
  fileprivate mutating func samples(
    of packets: [SoundEncoder.Packet], by encoder: SoundEncoder
  ) -> [SoundTrack.Sample] {
    guard let anchor, let purpose else { return [] }
    // The encoder may have another rate than what it is given.
    let fed = Double(anchor.fed) / Double(purpose.sampleRate)
    let rate = Double(encoder.format.sampleRate)
    return packets.map { packet in
      defer { items = 0 }
      let distance = Int64(((Double(packet.position) / rate - fed) * 1e9).rounded())
      return SoundTrack.Sample(
        sound: encoder.sound, bytes: packet.bytes, start: anchor.time.addingSaturating(distance),
        count: packet.sampleCount, items: items,
        arrival: anchor.arrival.advanced(by: .nanoseconds(distance)))
    }
  }
}

extension SoundEncoder {
  fileprivate var sound: SoundDescription { SoundDescription(format: format, padding: padding) }
}

extension SoundFormat {
  /// The format with the description that files need, where the stream brings none: an Opus
  /// identification header (RFC 7845 §5.1).
  fileprivate var described: SoundFormat {
    guard codec == Opus.codec, configuration.isEmpty else { return self }
    let header =
      Array("OpusHead".utf8) + [1, UInt8(channels)]
      // Nothing is left out at the start, which is in the middle of the stream; then 48,000 Hz, no
      // gain, and mono or stereo.
      + [0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]
    return SoundFormat(
      codec: codec, sampleRate: sampleRate, channels: channels, configuration: header)
  }
}
