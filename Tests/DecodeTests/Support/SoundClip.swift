import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Two seconds of sound that ffmpeg coded, in units, and what ffmpeg itself decodes from it.
struct SoundClip: Sendable, CustomTestStringConvertible {
  /// ffmpeg's encoder.
  var encoder: String
  /// libavcodec's decoder.
  var decoder: String
  var rate = 8000
  var channels = 1
  var codeBits = 0
  /// Bytes of one unit of 20 ms; `nil` where a container keeps the units apart.
  var unitBytes: Int?
  /// Samples that its encoder puts before the first one.
  var padding = 0
  /// How ffmpeg writes and reads it without a container.
  var rawFormat = "matroska"

  var testDescription: String { encoder }

  private static let codecs = [
    AAC.codec, Opus.codec, G711.muLaw, G711.aLaw, G722.codec, G726.mostSignificantFirst,
    G726.leastSignificantFirst, LinearPCM.l8, LinearPCM.l16, LinearPCM.l24,
  ]

  private static let quiet = ["-nostdin", "-v", "error", "-y"]

  /// The coded file.
  private func write(to path: String) throws {
    let source = "sine=frequency=440:sample_rate=\(rate):duration=2"
    let size = codeBits > 0 ? ["-code_size", "\(codeBits)"] : []
    _ = try FFmpeg.output(
      ["-f", "lavfi", "-i", source, "-ac", "\(channels)", "-c:a", encoder] + size
        + ["-f", rawFormat, path])
  }

  /// The units in order, and ffmpeg's samples as 16-bit integers.
  func made() throws -> (units: [SoundUnit], samples: [UInt8]) {
    let folder = try TemporaryFolder()
    let path = folder.url("sound").path
    try write(to: path)
    let shape =
      unitBytes == nil || rawFormat == "wav"
      ? [] : ["-f", rawFormat] + (codeBits > 0 ? ["-code_size", "\(codeBits)"] : [])
    let channel = ["g722", "g726", "g726le"].contains(rawFormat) ? [] : ["-ac", "\(channels)"]
    let plain = unitBytes == nil ? [] : ["-ar", "\(rate)"] + channel
    let samples = try FFmpeg.output(
      // It has two decoders, of which this one conceals losses.
      (decoder == "opus" ? ["-c:a", "libopus"] : []) + shape
        + (unitBytes == nil || rawFormat == "g722" ? [] : plain)
        + ["-i", path, "-f", "s16le", "-c:a", "pcm_s16le", "-"])
    let (payloads, configuration) = try payloads(of: path)
    let format = SoundFormat(
      codec: try #require(Self.codecs.first { $0.decoderName == decoder }), sampleRate: rate,
      channels: channels, configuration: configuration, codeBits: codeBits)
    let perUnit = unitBytes == nil ? (decoder == "aac" ? 1024 : 960) : rate / 50
    return (
      payloads.enumerated().map { index, bytes in
        SoundUnit(
          format: format, bytes: ByteBuffer(bytes: bytes),
          time: MediaTime(ticks: Int64(index * perUnit), timescale: UInt32(rate)),
          sampleCount: perUnit, firstArrival: Instant(nanoseconds: Int64(index) * 20_000_000),
          lastArrival: Instant(nanoseconds: Int64(index) * 20_000_000))
      }, Array(samples)
    )
  }

  private func payloads(of path: String) throws -> (payloads: [[UInt8]], configuration: [UInt8]) {
    if let unitBytes {
      let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
      return (
        stride(from: 0, to: bytes.count, by: unitBytes).map {
          Array(bytes[$0..<min($0 + unitBytes, bytes.count)])
        }, []
      )
    }
    func shown(_ what: String) throws -> [[UInt8]] {
      let text = try RunningProcess.output(
        of: "ffprobe", ["-v", "error", what, "-show_data", path])
      return Self.dumps(in: String(decoding: text, as: UTF8.self))
    }
    return (try shown("-show_packets"), try shown("-show_streams").first ?? [])
  }

  /// The bytes of each hexadecimal dump in `text`.
  private static func dumps(in text: String) -> [[UInt8]] {
    var dumps: [[UInt8]] = []
    for line in text.split(separator: "\n") {
      guard let colon = line.firstIndex(of: ":"), line[..<colon].count == 8 else { continue }
      if line[..<colon].allSatisfy({ $0 == "0" }) { dumps.append([]) }
      let digits = line[colon...].dropFirst(2).prefix(40).filter(\.isHexDigit)
      var rest = digits[...]
      while rest.count >= 2, let byte = UInt8(rest.prefix(2), radix: 16) {
        dumps[dumps.count - 1].append(byte)
        rest = rest.dropFirst(2)
      }
    }
    return dumps
  }
}
