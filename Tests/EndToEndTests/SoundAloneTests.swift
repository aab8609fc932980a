import Foundation
import TestSupport
import Testing

/// Sound without pictures: of every coding, from every kind of source.
@Suite("Sound alone", .serialized)
struct SoundAloneTests {
  /// How much of the sound at `path` is a tone of `frequency`, from 0 to 1: the median of pieces of
  /// 50 ms, in which clicks do not count.
  static func share(of frequency: Double, in path: String) throws -> Double {
    let samples = try FFmpeg.output([
      "-i", path, "-map", "0:a", "-af", "pan=mono|c0=c0,aresample=8000", "-f", "s16le", "-",
    ])
    let values = stride(from: 0, to: samples.count - 1, by: 2).map {
      Double(Int16(truncatingIfNeeded: Int(samples[$0]) | Int(samples[$0 + 1]) << 8))
    }
    let length = 400
    let shares = stride(from: 0, through: values.count - length, by: length).map { start in
      var (inPhase, inQuadrature, power) = (0.0, 0.0, 0.0)
      for index in 0..<length {
        let phase = 2 * Double.pi * frequency * Double(index) / 8000
        let value = values[start + index]
        inPhase += value * cos(phase)
        inQuadrature += value * sin(phase)
        power += value * value
      }
      let found = 2 * (inPhase * inPhase + inQuadrature * inQuadrature) / Double(length)
      return power == 0 ? 0 : found / power
    }
    try #require(!shares.isEmpty, "\(path) has \(values.count) samples")
    return shares.sorted()[shares.count / 2]
  }

  /// A second and a half of rtp-send's tone, behind which it says goodbye.
  private static let brief = ["--frames", "45"]

  /// What rtp-send calls a coding, and what it is called when it came.
  static let ours = [
    ("pcmu", "pcmu"), ("pcma/16000", "pcma"), ("g722", "g722"), ("g726-16", "g726le"),
    ("g726-24", "g726le"), ("g726-32", "g726le"), ("g726-40", "g726le"), ("aal2-g726-16", "g726"),
    ("aal2-g726-24", "g726"), ("aal2-g726-32", "g726"), ("aal2-g726-40", "g726"), ("l8", "l8"),
    ("l16/44100/2", "l16"), ("l24", "l24"), ("opus", "opus"), ("aac", "aac"), ("aac-lbr", "aac"),
    ("adts", "aac"), ("latm", "aac"), ("latm-inband", "aac"),
  ]

  @Test("of every coding of rtp-send, by RTSP", arguments: ours)
  func codings(format: String, name: String) throws {
    let server = try RTSPSendTests.Server(
      [("pattern", "live")], ["--audio", format, "--no-video"] + Self.brief)
    let outputs = try ["wav", "mp4", "mkv"].map { try Scratch.path($0) }
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--rtsp-transport", "tcp"]
        + ["--expect", "audio=\(name), duration>=0.3s, lost>=0, gap<1min, jitter<1min"]
        + outputs.flatMap { ["-o", $0] })
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try server.stop() == 0)
    for path in outputs {
      let share = try Self.share(of: 1000, in: path)
      #expect(share > (format.hasSuffix("-16") ? 0.6 : 0.9), "\(path): \(share)")
    }
    // Where the lengths of RF64 go, should the file pass 4 GiB (EBU Tech 3306).
    let beginning = try Data(contentsOf: URL(fileURLWithPath: outputs[0])).prefix(16)
    #expect(beginning.suffix(4).elementsEqual(Data("JUNK".utf8)))
  }

  /// Elements of GStreamer that code and pack sound, and what it is called when it came.
  static let theirs = [
    ("mulawenc ! rtppcmupay", "pcmu"), ("alawenc ! rtppcmapay", "pcma"),
    ("avenc_g722 ! rtpg722pay", "g722"),
    ("avenc_g726 bitrate=32000 ! rtpg726pay force-aal2=false", "g726le"),
    ("audio/x-raw,format=U8 ! rtpL8pay", "l8"), ("rtpL16pay", "l16"), ("rtpL24pay", "l24"),
    ("opusenc ! rtpopuspay", "opus"), ("avenc_aac ! rtpmp4gpay", "aac"),
    ("avenc_aac ! rtpmp4apay", "aac"),
  ]

  @Test("of every coding of GStreamer, as its RTSP server describes it", arguments: theirs)
  func gstreamer(elements: String, name: String) throws {
    let server = try GStreamerServer(tone: elements)
    let outputs = try ["wav", "mp4", "mkv"].map { try Scratch.path($0) }
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url(), "--rtsp-transport", "tcp"]
        + ["--expect", "audio=\(name), duration>=0.3s"] + outputs.flatMap { ["-o", $0] })
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    for path in outputs {
      let share = try Self.share(of: 440, in: path)
      #expect(share > 0.9, "\(path): \(share)")
    }
  }

  @Test("described wrongly by the server, and rightly by the user")
  func describedWrongly() throws {
    // Packed as in AAL2, whatever it is called.
    let server = try GStreamerServer(tone: "avenc_g726 bitrate=32000 ! rtpg726pay")
    let (description, sound) = try (Scratch.path("sdp"), Scratch.path("wav"))
    try "v=0\nm=audio 0 RTP/AVP 97\na=rtpmap:97 AAL2-G726-32/8000\n".write(
      toFile: description, atomically: true, encoding: .utf8)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url(), "--rtsp-transport", "tcp", "--sdp", description]
        + ["-o", sound, "--expect", "audio=g726"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let share = try Self.share(of: 440, in: sound)
    #expect(share > 0.95, "\(share)")
  }

  @Test("encrypted, into a capture, and out of it at its own pace")
  func capturedAndPaced() throws {
    let suite = try #require(SRTPTests.Suite.all.first)
    let key = try ["--srtp-key-file", suite.keyFile()]
    let port = try FreePort.udpPair()
    let (live, capture) = try (Scratch.path("wav"), Scratch.path("pcapng"))
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:\(port)", "-o", live, "--capture", capture] + key)
    _ = try receiver.waitForLine(#/listening on/#)
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "udp://127.0.0.1:\(port)", "--audio", "pcma", "--no-video"] + Self.brief + key)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let (paced, samples) = try (Scratch.path("wav"), Scratch.path("pcm"))
    let player = try RunningProcess(
      "sh",
      ["-c", #""$0" "$@" --pace -o - --format pcm > "$OUTPUT""#, Product.rtpRecv, capture]
        + ["-o", paced],
      environment: ["OUTPUT": samples])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    let plain = ["-f", "s16le", "-"]
    let expected = try FFmpeg.output(["-i", live] + plain)
    let found = try FFmpeg.output(["-i", paced] + plain)
    #expect(expected.count > 1_600)
    // The capture may have what came with the last packet that was wanted.
    #expect(found.starts(with: expected))
    #expect(try Data(contentsOf: URL(fileURLWithPath: samples)) == found)
    #expect(try Self.share(of: 1000, in: live) > 0.9)
  }

  @Test("by a TCP connection, as GStreamer sends it")
  func connection() throws {
    let port = try FreePort.tcp()
    let sender = try RunningProcess(
      "gst-launch-1.0",
      "audiotestsrc is-live=true ! mulawenc ! rtppcmupay ! rtpstreampay ! tcpserversink"
        .appending(" host=127.0.0.1 port=\(port)").split(separator: " ").map(String.init))
    try FreePort.waitForListener(on: port, "GStreamer")
    let sound = try Scratch.path("wav")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["tcp://127.0.0.1:\(port)", "-o", sound, "--expect", "audio=pcmu, duration>=0.3s, lost=0"])
    try waitUntil("a second is written") { Scratch.size(of: sound) > 16_000 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    #expect(try Self.share(of: 440, in: sound) > 0.9)
  }

  @Test("to a multicast group", .enabled(if: NeighbouringMachine.works))
  func multicast() throws {
    let machine = try NeighbouringMachine()
    let server = try RTSPSendTests.Server(
      [("pattern", "live")],
      ["--multicast", "239.255.42.9:6000", "--audio", "aac", "--no-video"], host: machine.address,
      on: machine)
    let sound = try Scratch.path("wav")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--rtsp-transport", "multicast", "--interface", machine.interface]
        + ["-o", sound, "--expect", "audio=aac, duration>=0.3s, lost=0"])
    // Of two channels.
    try waitUntil("half a second is written") { Scratch.size(of: sound) > 96_000 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try server.stop() == 0)
    #expect(try Self.share(of: 1000, in: sound) > 0.9)
  }

  @Test("by HTTP, through an outage")
  func outage() throws {
    let port = try FreePort.tcp()
    func serve() throws -> RunningProcess {
      let sender = try RunningProcess(
        Product.rtpSend,
        ["pattern", "http://127.0.0.1:\(port)", "--audio", "pcmu", "--no-video"])
      _ = try sender.waitForLine(#/listening on/#)
      return sender
    }
    let first = try serve()
    let sound = try Scratch.path("wav")
    let next = sound.replacing(".wav", with: ".0001.wav")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["http://127.0.0.1:\(port)/live", "--reconnect", "-o", sound])
    try waitUntil("a second is written") { Scratch.size(of: sound) > 16_000 }
    first.send(signal: SIGKILL)
    try first.waitForExit()
    let second = try serve()
    try waitUntil("another second is written") { Scratch.size(of: next) > 16_000 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    second.send(signal: SIGTERM)
    let words = receiver.standardError
    #expect(words.contains(#/wav ends after .* pieces of sound: /#), "\(words)")
    #expect(words.contains(#/received .* s of sound .*; reconnected once, /#), "\(words)")
    for path in [sound, next] { #expect(try Self.share(of: 1000, in: path) > 0.9) }
  }

  @Test("an output of pictures that stays empty is no success", arguments: ["y4m", "jsonl", "jpg"])
  func noPictures(ending: String) throws {
    let server = try RTSPSendTests.Server([("pattern", "live")], ["--audio", "opus", "--no-video"])
    let (sound, pictures) = try (Scratch.path("opus"), Scratch.path(ending))
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("live"), "-o", sound, "-o", pictures, "--duration", "2s"])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    #expect(try server.stop() == 0)
    let words = receiver.standardError
    #expect(words.contains("\(pictures): no picture came, only sound\n"), "\(words)")
    #expect(try Self.share(of: 1000, in: sound) > 0.9)
  }
}
