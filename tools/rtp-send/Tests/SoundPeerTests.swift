import Foundation
import Impairment
import NIOCore
import TestPattern
import TestSupport
import Testing

@testable import RTPSend

/// FFmpeg and GStreamer as the receivers of sound.
@Suite(.serialized) struct SoundPeerTests {
  /// A session of sound on its way to `port`, four times as fast as it sounds.
  ///
  /// Reports share its port: where they have one of their own, FFmpeg reads them, and leaves at a
  /// goodbye, before it reads media that came earlier.
  private func sender(
    _ format: String, to port: UInt16, seconds: Double = 3, packetTime: Int = 20,
    interleaving: Int = 1, controlOffset: Int = 0
  ) throws -> (configuration: SenderConfiguration, description: SessionDescription) {
    var packetization = SoundPacketization()
    (packetization.packetTime, packetization.interleaving) = (packetTime, interleaving)
    let recipe = SoundRecipe.tone(try SoundFormat(format), seconds: seconds)
    var sound = PacketFeed.SoundConfiguration(
      recipe: recipe,
      stream: RTPStream.Configuration(ssrc: 6, initialSequence: 65_500, initialTimestamp: 1 << 20))
    sound.packetization = packetization
    sound.stream.payloadType = try SoundFormat(format).staticPayloadType ?? 97
    var configuration = SenderConfiguration(
      tracks: [TrackConfiguration(.sound(sound))],
      destination: .send(host: "127.0.0.1", port: Int(port)))
    configuration.pacing = .mediaTime(speed: 4)
    configuration.controlOffset = controlOffset
    var description = SessionDescription(
      nil, payloadType: 96, packetization: .nonInterleaved,
      address: try SocketAddress(ipAddress: "127.0.0.1", port: Int(port)),
      multiplexesRTCP: controlOffset == 0)
    description.sound = try SoundDescription(
      of: recipe, payloadType: sound.stream.payloadType, packetization: packetization)
    return (configuration, description)
  }

  private func waitForReceiver(on ports: [UInt16]) async throws {
    for port in ports {
      try await eventually("a socket is bound to \(port)") { try FreePort.isTaken(udp: port) }
    }
  }

  private func decoded(_ bytes: Data) -> [Float] {
    stride(from: 0, to: bytes.count - 1, by: 2).map {
      Float(Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8)) / 32_767
    }
  }

  /// How alike two stretches of sound are, from -1 to 1.
  private func correlation(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Float {
    var (product, squareA, squareB): (Float, Float, Float) = (0, 0, 0)
    for (a, b) in zip(a, b) {
      product += a * b
      squareA += a * a
      squareB += b * b
    }
    return product / max(1e-9, (squareA * squareB).squareRoot())
  }

  /// Expects the tone with its clicks in `samples`, the first of which is that of `start`.
  private func expectTone(
    _ samples: [Float], _ format: String, from start: Int, isExact: Bool, threshold: Float
  ) throws {
    let format = try SoundFormat(format)
    let (rate, channels) = (format.samplingRate, format.channels)
    let tone = Tone(samplingRate: rate, channels: channels)
    try #require(samples.count >= 2 * rate * channels, "only \(samples.count) samples came")
    if isExact {
      let expected = tone.samples(Int64(start)..<Int64(start + samples.count / channels))
      let step: Float = format.coding == .l8 ? 1 / 127 : 2 / 32_767
      #expect(zip(samples, expected).allSatisfy { abs($0 - $1) <= step })
      return
    }
    // Where the first channel is loud.
    let first = stride(from: 0, to: samples.count, by: channels).map { samples[$0] }
    var onsets: [Int] = []
    for (index, sample) in first.enumerated()
    where abs(sample) > 0.2 && (onsets.last.map { index > $0 + rate / 2 } ?? true) {
      onsets.append(index)
    }
    // GStreamer gives silence for the first frames of AAC, so the first click may be missing.
    let expectedOnsets = (1..<3).map { $0 * rate - start }
      .filter { (0..<first.count - rate / 20).contains($0) }
    try #require(onsets.count >= expectedOnsets.count, "clicks at \(onsets)")
    // Few bits blur the beginning.
    let isRough =
      format.coding == .aacLowRate || (format.sampleGroup?.ticks == 8 && threshold < 0.9)
    let tolerance = isRough ? rate / 50 : rate / 400
    for (onset, expected) in zip(onsets.suffix(expectedOnsets.count), expectedOnsets) {
      #expect(abs(onset - expected) <= tolerance, "\(onset) is not \(expected)")
    }
    // A quarter of a second of the tone in each channel.
    let place = rate * 3 / 2 - start
    for channel in 0..<channels {
      let heard = (place..<place + rate / 4).map { samples[$0 * channels + channel] }
      let all = tone.samples(Int64(place + start)..<Int64(place + start + rate / 4))
      let sent = stride(from: channel, to: all.count, by: channels).map { all[$0] }
      let match = correlation(heard[...], sent[...])
      #expect(match > threshold, "channel \(channel) of \(format.map): \(match)")
    }
  }

  /// Samples between the first one that a decoder puts out and the first one of the tone.
  private func encoderDelay(_ format: String) throws -> Int {
    let source = try SoundRecipe.tone(try SoundFormat(format), seconds: 1).make()
    let first = try #require(try source.next().element)
    return Int(first.presentationTicks) * source.format.samplingRate / source.format.clockRate
  }

  @Test(arguments: [
    "pcmu", "pcma", "pcma/16000", "pcmu/8000/2", "g722", "g726-16", "g726-24", "g726-32", "g726-40",
    "aal2-g726-16", "aal2-g726-24", "aal2-g726-32", "aal2-g726-40", "l16", "l16/44100", "l24",
    "opus", "opus/48000/1", "aac", "aac/16000/1", "aac-lbr", "adts", "latm", "latm/16000/1",
  ])
  func fFmpegHearsTheTone(format: String) async throws {
    let port = try FreePort.udpPair()
    let (configuration, description) = try sender(format, to: port)
    let folder = try TemporaryFolder()
    let file = folder.url("stream.sdp")
    try Data(description.text.utf8).write(to: file)
    let sound = try SoundFormat(format)
    async let output = FFmpeg.run([
      "-protocol_whitelist", "file,udp,rtp", "-buffer_size", "4000000", "-i", file.path,
      "-f", "s16le", "-ac", "\(sound.channels)", "-ar", "\(sound.samplingRate)", "-",
    ])
    try await waitForReceiver(on: [port])
    let sender = try await Sender.start(configuration)
    _ = try await withDeadline { try await sender.finished() }
    let samples = decoded(try await output)
    let isExact = [.l16, .l24].contains(sound.coding)
    let isRough = ["16", "24"].contains { format.hasSuffix("g726-\($0)") }
    try expectTone(
      samples, format, from: try encoderDelay(format), isExact: isExact,
      threshold: isRough ? 0.8 : 0.95)
  }

  /// The elements that take packets apart and decode them.
  ///
  /// That of RFC 3640 in GStreamer 1.22 reads AU headers of 16 bits alone, so none is for AAC-lbr.
  static let elements: [(format: String, packetTime: Int, interleaving: Int, elements: String)] = [
    ("pcmu", 20, 1, "rtppcmudepay ! mulawdec"), ("pcma", 30, 1, "rtppcmadepay ! alawdec"),
    ("g722", 20, 1, "rtpg722depay ! avdec_g722"),
    ("g726-32", 20, 1, "rtpg726depay force-aal2=false ! avdec_g726"),
    ("aal2-g726-32", 20, 1, "rtpg726depay ! avdec_g726"),
    ("aal2-g726-40", 20, 1, "rtpg726depay ! avdec_g726"), ("l8", 20, 1, "rtpL8depay"),
    ("l16", 20, 1, "rtpL16depay"), ("l24", 20, 1, "rtpL24depay"),
    ("opus", 20, 1, "rtpopusdepay ! opusdec"), ("opus", 60, 1, "rtpopusdepay ! opusdec"),
    ("aac", 20, 1, "rtpmp4gdepay ! aacparse ! avdec_aac"),
    ("aac", 100, 1, "rtpmp4gdepay ! aacparse ! avdec_aac"),
    ("aac", 100, 3, "rtpmp4gdepay ! aacparse ! avdec_aac"),
    ("latm", 20, 1, "rtpmp4adepay ! aacparse ! avdec_aac"),
    ("latm", 100, 1, "rtpmp4adepay ! aacparse ! avdec_aac"),
  ]

  @Test(arguments: elements)
  func gStreamerHearsTheTone(
    format: String, packetTime: Int, interleaving: Int, elements: String
  ) async throws {
    let port = try FreePort.udpPair()
    // GStreamer would take reports for media.
    let (configuration, description) = try sender(
      format, to: port, packetTime: packetTime, interleaving: interleaving, controlOffset: 1)
    let sound = try SoundFormat(format)
    // What sdpdemux would make of the description.
    var caps = ["application/x-rtp", "media=audio", "clock-rate=\(sound.clockRate)"]
    caps.append("encoding-name=\(sound.coding.encodingName.uppercased())")
    caps.append("payload=\(description.sound?.payloadType ?? 97)")
    if sound.coding != .opus {
      caps += ["channels=\(sound.channels)", "encoding-params=(string)\(sound.channels)"]
    }
    for line in description.sound?.attributes ?? [] where line.hasPrefix("a=fmtp") {
      for parameter in line.split(separator: " ", maxSplits: 1)[1].split(separator: ";") {
        let words = parameter.split(separator: "=", maxSplits: 1)
        caps.append("\(words[0].lowercased())=(string)\(words[1])")
      }
    }
    // UDP has no end, so GStreamer takes nine tenths of the packets.
    var feed = try configuration.tracks[0].media.makeFeed(Plan())
    var count = 0
    while let batch = try feed.next().element { count += batch.packets.count }
    let folder = try TemporaryFolder()
    let output = folder.url("output.raw")
    let receiver = try RunningProcess(
      "gst-launch-1.0",
      [
        "-q", "udpsrc", "port=\(port)", "buffer-size=4000000",
        "num-buffers=\(count * 9 / 10)", "caps=\(caps.joined(separator: ","))", "!",
      ] + elements.split(separator: " ").map(String.init) + [
        "!", "audioconvert", "dithering=none", "!",
        "audio/x-raw,format=S16LE,layout=interleaved,channels=\(sound.channels)", "!", "filesink",
        "location=\(output.path)",
      ])
    try await waitForReceiver(on: [port])
    let sender = try await Sender.start(configuration)
    _ = try await withDeadline { try await sender.finished() }
    _ = try await receiver.finished()
    let samples = decoded(try Data(contentsOf: output))
    // That of LATM cannot know that the first packet is a whole element, and leaves it out.
    let isLATM = elements.hasPrefix("rtpmp4adepay")
    let lost = isLATM ? max(1, sound.clockRate * packetTime / 1000 / 1024) * 1024 : 0
    try expectTone(
      samples, format, from: try encoderDelay(format) + lost,
      isExact: [.l8, .l16, .l24].contains(sound.coding),
      threshold: 0.95)
  }

  /// Both tracks at once: what FFmpeg writes has each click at the time of its flash.
  @Test(arguments: ["pcmu", "aac", "opus"])
  func clicksAndFlashesAreTogetherInWhatFFmpegReceives(format: String) async throws {
    let port = try FreePort.udpPair()
    var (configuration, description) = try sender(format, to: port, seconds: 4)
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (320, 180, 120)
    let video = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 5, initialSequence: 9, initialTimestamp: 1 << 30))
    configuration.tracks[0].portOffset = 2
    configuration.tracks.insert(TrackConfiguration(.video(video)), at: 0)
    configuration.pacing = .mediaTime(speed: 1)
    description.description = try StreamDescription(of: .pattern(pattern))
    description.sound?.portOffset = 2
    let folder = try TemporaryFolder()
    try Data(description.text.utf8).write(to: folder.url("stream.sdp"))
    let file = folder.url("received.nut").path
    // A sender that is a second late does not make up for it, perhaps between a click and its
    // flash, so this one sends again.
    for _ in 0..<3 {
      async let received = FFmpeg.run([
        "-protocol_whitelist", "file,udp,rtp", "-i", folder.url("stream.sdp").path, "-map", "0",
        "-fps_mode", "passthrough", "-enc_time_base:v", "-1", "-c:v", "rawvideo",
        "-pix_fmt", "gray", "-c:a", "pcm_s16le", "-ac", "1", file,
      ])
      try await waitForReceiver(on: [port, port + 2])
      let sender = try await Sender.start(configuration)
      let report = try await withDeadline { try await sender.finished() }
      _ = try await received
      if report.duration < .milliseconds(4900) { break }
    }
    let planes = try await FFmpeg.run([
      "-i", file, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-",
    ])
    let samples = decoded(try await FFmpeg.run(["-i", file, "-map", "0:a", "-f", "s16le", "-"]))

    var flashes: [Double] = []
    var wasLit = false
    for (index, packet) in try await packets(of: file, "v").enumerated() {
      let luma = [UInt8](planes[index * 320 * 180..<(index + 1) * 320 * 180])
      let isLit = PatternFlash.read(luma: luma.span, stride: 320, width: 320, height: 180)
      if isLit == true, !wasLit { flashes.append(packet.time) }
      wasLit = isLit == true
    }
    var clicks: [Double] = []
    var sample = 0
    let rate = Double(try SoundFormat(format).samplingRate)
    for packet in try await packets(of: file, "a") {
      for offset in 0..<packet.size / 2 where abs(samples[sample + offset]) > 0.2 {
        let time = packet.time + Double(offset) / rate
        if clicks.last.map({ time > $0 + 0.5 }) ?? true { clicks.append(time) }
      }
      sample += packet.size / 2
    }
    #expect(flashes.count == 4)
    // FFmpeg begins both where it has both.
    let heard = flashes.filter { flash in clicks.contains { abs($0 - flash) < 0.02 } }
    #expect(heard.count >= 3, "clicks at \(clicks), flashes at \(flashes)")
  }

  private func packets(
    of file: String, _ track: String
  ) async throws -> [(time: Double, size: Int)] {
    let listing = try await RunningProcess(
      "ffprobe",
      [
        "-v", "error", "-select_streams", track, "-show_entries", "packet=pts_time,size", "-of",
        "csv=p=0", file,
      ]
    ).finished()
    return String(decoding: listing, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: ",")
      guard words.count >= 2, let time = Double(words[0]), let size = Int(words[1]) else {
        return nil
      }
      return (time, size)
    }
  }
}
