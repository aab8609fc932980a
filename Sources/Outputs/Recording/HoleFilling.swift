import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire

/// Coded silence in place of coded sound that is missing, for files in which nothing else would
/// show that time has passed.
struct HoleFilling {
  private var timeline = SoundTimeline()
  /// A unit of silence and the samples in it, of the last format.
  private var silent: (format: SoundFormat, unit: (bytes: ByteBuffer, samples: Int)?)?

  /// How many units of silence the encoder makes before they are all alike.
  private static let settled = 4

  /// The silence that belongs before `unit`, which begins at `start`; as near as whole units come.
  mutating func silence(before unit: SoundUnit, at start: Int64) -> [SoundTrack.Sample] {
    let missing = timeline.silence(before: unit)
    guard missing > 0, let (bytes, samples) = silentUnit(of: unit.format) else { return [] }
    let count = (missing + samples / 2) / samples
    let length = Int64(samples) * 1_000_000_000 / Int64(unit.format.sampleRate)
    return (0..<count).map { number in
      SoundTrack.Sample(
        bytes: bytes, start: start.subtractingSaturating(Int64(count - number) * length),
        count: samples, items: 0)
    }
  }

  /// A unit of silence; `nil` where no encoder here makes what belongs to the format.
  private mutating func silentUnit(of format: SoundFormat) -> (bytes: ByteBuffer, samples: Int)? {
    if let silent, silent.format == format { return silent.unit }
    let made = Self.make(format)
    silent = (format, made)
    return made
  }

  private static func make(_ format: SoundFormat) -> (bytes: ByteBuffer, samples: Int)? {
    let coding: SoundEncoder.Coding = format.codec.decoderName == "opus" ? .opus : .aac
    guard
      let encoder = try? SoundEncoder(
        coding, sampleRate: format.sampleRate, channels: format.channels),
      encoder.format.sampleRate == format.sampleRate
    else { return nil }
    let second = [Float](repeating: 0, count: format.sampleRate * format.channels)
    let packets = encoder.encode(second)
    return packets.dropFirst(settled).first.map { ($0.bytes, $0.sampleCount) }
  }
}
