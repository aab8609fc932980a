import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire

/// What stands for coded sound that is missing, in files in which nothing else would show that time
/// has passed: frames that say that they are lost (RFC 7845 §4.1), or else coded silence.
struct HoleFilling {
  /// A unit of silence, or a lost frame.
  private struct Silence {
    let bytes: ByteBuffer
    /// How many samples it decodes to, at the format's rate.
    let samples: Int
  }

  /// `count` equal units.
  struct Hole: Hashable {
    let count: Int
    let bytes: ByteBuffer
    /// Samples of each unit.
    let samples: Int
    /// How long each unit lasts, in nanoseconds.
    let length: Int64
  }

  private var timeline = SoundTimeline()
  /// The silence of the last format, if there is any.
  private var silence: (format: SoundFormat, unit: Silence?)?
  private var last: SoundUnit?

  /// How many units of silence the encoder of AAC makes before they are all alike.
  private static let settled = 4

  /// What belongs before `unit`, as near as whole units come; `nil` for nothing.
  mutating func hole(before unit: SoundUnit) -> Hole? {
    defer { last = unit }
    let missing = timeline.silence(before: unit)
    guard missing > 0, let silence = lostFrame(of: unit.format) ?? silence(of: unit.format) else {
      return nil
    }
    return Hole(
      count: (missing + silence.samples / 2) / silence.samples, bytes: silence.bytes,
      samples: silence.samples,
      length: Int64(silence.samples) * 1_000_000_000 / Int64(unit.format.sampleRate))
  }

  /// Forgets what came before: the next unit follows nothing.
  mutating func restart() { timeline = SoundTimeline() }

  /// A lost frame, which players make up by themselves; `nil` where the format has none.
  private func lostFrame(of format: SoundFormat) -> Silence? {
    guard let last, last.format == format else { return nil }
    return format.codec.concealment?.lostFrame(last.bytes).map {
      Silence(bytes: $0.bytes, samples: $0.samples)
    }
  }

  /// A unit of silence; `nil` where no encoder here makes what belongs to the format.
  private mutating func silence(of format: SoundFormat) -> Silence? {
    if let silence, silence.format == format { return silence.unit }
    let made = Self.make(format)
    silence = (format, made)
    return made
  }

  private static func make(_ format: SoundFormat) -> Silence? {
    // Where bands are replicated, the units are those of a core of half the rate, and where stereo
    // is made of one channel, of one. The decoder finds nothing to replicate in silence.
    guard
      let configuration = try? AudioSpecificConfig(
        parsing: ByteBuffer(bytes: format.configuration)),
      configuration.coreSamples == 1024, (1...4).contains(configuration.objectType),
      let core = make(
        rate: configuration.coreSampleRate,
        channels: configuration.channelConfiguration == 1 ? 1 : configuration.channels)
    else { return nil }
    return Silence(
      bytes: core.bytes,
      samples: core.samples * format.sampleRate / configuration.coreSampleRate)
  }

  private static func make(rate: Int, channels: Int) -> Silence? {
    guard let encoder = try? SoundEncoder(.aac, sampleRate: rate, channels: channels),
      encoder.format.sampleRate == rate
    else { return nil }
    let second = [Float](repeating: 0, count: rate * channels)
    return encoder.encode(second).dropFirst(settled).first.map {
      Silence(bytes: $0.bytes, samples: $0.sampleCount)
    }
  }
}
