import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

extension VideoCodec {
  static let testH264 = H264.codec
  static let testH265 = H265.codec
}

/// A short elementary stream made by the ffmpeg command, and what ffmpeg itself decodes from it.
struct Clip: Sendable, CustomTestStringConvertible {
  var name: String
  var codec = VideoCodec.testH264
  /// A source filter of libavfilter's; `nil` for a test picture of the size below.
  var source: String?
  var width = 176
  var height = 144
  var frames = 24
  var pixelFormat = "yuv420p"
  /// Arguments of ffmpeg after the encoder's name.
  var encoder: [String] = []
  /// Parameters of x264.
  var h264Parameters = ""
  /// Parameters of x265.
  var codecParameters = ""

  var testDescription: String { name }

  /// A description that differs between different clips, which is all it is for.
  var format: FormatDescription {
    FormatDescription(
      codec: codec, width: width, height: height, profile: 100, level: 40,
      chroma: pixelFormat.contains("444")
        ? .yuv444 : pixelFormat.contains("422") ? .yuv422 : .yuv420,
      lumaBitDepth: pixelFormat.contains("10") ? 10 : 8)
  }

  /// The elementary stream.
  func encoded() throws -> [UInt8] {
    try encoded(
      as: [
        "-bsf:v", codec == .testH264 ? "h264_metadata=aud=insert" : "hevc_metadata=aud=insert",
        "-f", codec == .testH264 ? "h264" : "hevc",
      ])
  }

  /// The same in another form, by ffmpeg's arguments.
  func encoded(as form: [String]) throws -> [UInt8] {
    let isH264 = codec == .testH264
    let quiet = "log-level=none:pools=none:frame-threads=1:"
    let made = try FFmpeg.made(
      ["-f", "lavfi", "-i", source ?? "testsrc2=size=\(width)x\(height):rate=30"]
        + ["-frames:v", "\(frames)"]
        + ["-pix_fmt", pixelFormat, "-c:v", isH264 ? "libx264" : "libx265"]
        + (isH264 && !h264Parameters.isEmpty ? ["-x264-params", h264Parameters] : [])
        + (isH264 ? [] : ["-x265-params", quiet + codecParameters])
        + ["-threads", "1"] + encoder + form)
    return [UInt8](made)
  }

  /// ffmpeg's decode of `stream`: the packed planes of all frames in order.
  func decodedByFFmpeg(_ stream: [UInt8], muxer: [String] = ["-f", "rawvideo"]) throws -> [UInt8] {
    try run(
      ["-f", codec == .testH264 ? "h264" : "hevc", "-framerate", "30", "-i", "pipe:0"]
        + ["-vsync", "passthrough"] + muxer + ["-"], input: stream)
  }

  /// The stream's access units, each beginning with its access unit delimiter.
  func accessUnits(of stream: [UInt8], startingAt first: Int = 0) -> [AccessUnit] {
    AnnexB.accessUnits(of: stream, codec: codec, format: format, startingAt: first)
  }
}

/// Runs ffmpeg quietly with `input` and returns its standard output.
func run(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
  try [UInt8](FFmpeg.output(arguments, input: input))
}

/// Enough of Annex B to cut an elementary stream with delimiters into access units.
enum AnnexB {
  static func accessUnits(
    of stream: [UInt8], codec: VideoCodec, format: FormatDescription?, startingAt first: Int = 0
  ) -> [AccessUnit] {
    let isH264 = codec == .testH264
    var groups: [[[UInt8]]] = []
    for unit in nalUnits(of: stream) {
      let type = isH264 ? unit[0] & 0x1F : unit[0] >> 1 & 0x3F
      if type == (isH264 ? 9 : 35) || groups.isEmpty { groups.append([]) }
      groups[groups.count - 1].append(unit)
    }
    return groups.enumerated().map { number, group in
      var bytes = ByteBuffer()
      // A reader index other than 0: nothing may assume that a slice begins where its storage does.
      bytes.writeBytes([0xAA, 0xAA, 0xAA])
      bytes.moveReaderIndex(forwardBy: 3)
      for unit in group { bytes.writeBytes([0, 0, 0, 1] + unit) }
      let units = units(in: bytes, codec: codec)
      let isRandomAccess = zip(group, units).contains { bytes, unit in
        isH264
          ? unit.type == 5 || (unit.type == 6 && bytes.count > 1 && bytes[1] == 6)
          : (16...23).contains(unit.type)
      }
      let index = Int64(first + number)
      return AccessUnit(
        codec: codec, bytes: bytes, units: units,
        time: MediaTime(ticks: index * 3000, timescale: 90_000),
        firstArrival: Instant(nanoseconds: index * 1000),
        lastArrival: Instant(nanoseconds: index * 1000 + 500),
        isRandomAccess: isRandomAccess, format: format)
    }
  }

  /// Where the NAL units lie in an access unit's bytes, and of what type they are.
  static func units(in bytes: ByteBuffer, codec: VideoCodec) -> [NALUnit] {
    let bytes = Array(bytes.readableBytesView)
    let starts = starts(in: bytes).filter { $0 < bytes.count }
    return zip(starts, starts.dropFirst().map { $0 - 4 } + [bytes.count]).map { start, end in
      let type = codec == .testH264 ? bytes[start] & 0x1F : bytes[start] >> 1 & 0x3F
      return NALUnit(offset: start, length: end - start, type: type)
    }
  }

  /// The NAL units between start codes, without trailing zero bytes.
  static func nalUnits(of stream: [UInt8]) -> [[UInt8]] {
    let starts = starts(in: stream)
    return starts.enumerated().compactMap { position, start in
      var end = position + 1 < starts.count ? starts[position + 1] - 3 : stream.count
      while end > start, stream[end - 1] == 0 { end -= 1 }
      return end > start ? Array(stream[start..<end]) : nil
    }
  }

  private static func starts(in stream: [UInt8]) -> [Int] {
    var starts: [Int] = []
    var index = 0
    while index + 2 < stream.count {
      if stream[index] == 0, stream[index + 1] == 0, stream[index + 2] == 1 {
        starts.append(index + 3)
        index += 3
      } else {
        index += 1
      }
    }
    return starts
  }
}
