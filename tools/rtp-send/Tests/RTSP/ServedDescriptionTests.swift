import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// What clients read before they set anything up.
@Suite struct ServedDescriptionTests {
  static let cases: [(ending: String, encoder: [String], types: [UInt8: [UInt8]])] = [
    ("h264", ["-c:v", "libx264"], [0x1F: [7, 8]]),
    ("h265", ["-c:v", "libx265", "-x265-params", "log-level=none"], [0x7E: [64, 66, 68]]),
  ]

  @Test(arguments: [0, 1], ["", "interleaved"])
  func itHasTheFilesParameterSetsItsTracksAndTheirRates(
    number: Int, packetization: String
  ) async throws {
    let (ending, encoder, types) = Self.cases[number]
    let folder = try TemporaryFolder()
    let (film, bare) = (folder("film.mp4"), folder("film.\(ending)"))
    _ = try await FFmpeg.run(
      ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine"]
        + ["-t", "2", "-pix_fmt", "yuv420p"] + encoder + ["-c:a", "aac", film])
    _ = try await FFmpeg.run(["-i", film, "-c", "copy", "-an", bare])
    // The sets as they stand in the stream, cut at start codes of three bytes.
    let (mask, wanted) = try #require(types.first)
    let stream = try folder.contents(bare.split(separator: "/").last.map(String.init) ?? "")
    var sets: [String] = []
    for unit in Self.units(in: stream) {
      let set = SessionDescription.base64(ByteBuffer(bytes: unit))
      guard let first = unit.first, wanted.contains(first & mask), !sets.contains(set) else {
        continue
      }
      sets.append(set)
    }
    #expect(sets.count == wanted.count)

    var description = SessionDescription(
      try StreamDescription(of: .file(path: film)), payloadType: 96,
      packetization: Packetization(rawValue: packetization) ?? .nonInterleaved,
      address: try SocketAddress(ipAddress: "192.0.2.1", port: 9), multiplexesRTCP: true)
    description.sound = try SoundDescription(
      of: .file(path: film), payloadType: 97, packetization: SoundPacketization())
    description.served = SessionDescription.Served(duration: 2_000_000_000)
    let lines = description.text.split(separator: "\r\n").map(String.init)
    #expect(description.text.hasSuffix("\r\n"))
    // Addresses and ports are SETUP's business; VLC would join a group that stands here.
    #expect(
      lines.prefix(7) == [
        "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=rtp-send", "c=IN IP4 0.0.0.0", "t=0 0",
        "a=control:*", "a=range:npt=0-2.000",
      ])
    let sound = try #require(lines.firstIndex { $0.hasPrefix("m=audio") })
    let (video, audio) = (Array(lines[7..<sound]), Array(lines[sound...]))
    let isInterleaved = !packetization.isEmpty
    let format = try #require(video.first { $0.hasPrefix("a=fmtp:96 ") })
    let named =
      number == 0
      ? ["sprop-parameter-sets=\(sets.joined(separator: ","))"]
      : zip(["sprop-vps", "sprop-sps", "sprop-pps"], sets).map { "\($0)=\($1)" }
    for parameter in named { #expect(format.contains(parameter), "\(format)") }
    if number == 0 {
      #expect(format.contains("packetization-mode=\(isInterleaved ? 2 : 1);"))
      // RFC 6184 §8.1: mode 2 must have it, and the others must not.
      #expect(format.contains("sprop-deint-buf-req=368640;") == isInterleaved, "\(format)")
    } else {
      #expect(format.contains("sprop-max-don-diff") == isInterleaved)
    }
    #expect(
      video.filter { $0 != format } == [
        "m=video 0 RTP/AVP 96", "a=rtpmap:96 \(ending.uppercased())/90000", "a=framerate:25.000",
        "a=control:trackID=1",
      ])
    #expect(audio.first == "m=audio 0 RTP/AVP 97")
    #expect(audio.dropFirst().first?.lowercased() == "a=rtpmap:97 mpeg4-generic/44100")
    #expect(audio.last == "a=control:trackID=2")
  }

  @Test func whatIsLiveHasNoEnd() throws {
    var description = SessionDescription(
      try StreamDescription(of: .pattern(PatternConfiguration())), payloadType: 96,
      packetization: .nonInterleaved, address: try SocketAddress(ipAddress: "192.0.2.1", port: 9),
      multiplexesRTCP: true)
    description.served = SessionDescription.Served(crypto: "1 AES_CM_128_HMAC_SHA1_80 inline:x")
    #expect(description.text.contains("\r\na=range:npt=now-\r\n"))
    #expect(description.text.contains("\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n"))
    #expect(description.text.hasSuffix("\r\na=control:trackID=1\r\n"))
  }

  /// The NAL units between start codes, without the zeros behind them.
  private static func units(in bytes: [UInt8]) -> [[UInt8]] {
    var units: [[UInt8]] = []
    var start: Int?
    var index = 0
    while index + 2 < bytes.count {
      if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
        if let start { units.append(Array(bytes[start..<index])) }
        start = index + 3
        index += 3
      } else {
        index += 1
      }
    }
    if let start { units.append(Array(bytes[start...])) }
    return units.map { unit in
      Array(unit.reversed().drop { $0 == 0 }.reversed())
    }
  }
}
