import Foundation
import TestSupport
import Testing

/// `-o nats://…` and `nats://…`: cameras in a server of NATS.
@Suite(.serialized)
struct NATSTests {
  /// Publishes `frames` pictures, and writes them to a file as well.
  ///
  /// They are recorded, so that all is kept however long the server takes for it.
  static func publish(
    _ codec: Clip.Codec, _ frames: Int, to url: String, environment: [String: String] = [:]
  ) throws -> (reference: String, publisher: RunningProcess) {
    let recording = try SendingServer(
      "pattern",
      ["--size", "256x144", "--bitrate", "300k", "--bframes", "2", "--fast"]
        + ["--frames", "\(frames)", "--codec", codec.rawValue]
    ).save()
    return try publish(recording, codec, to: url, environment)
  }

  /// The same while they come: at the end the server has two seconds for what it has not kept.
  static func publishLive(
    _ codec: Clip.Codec, _ frames: Int, to url: String, _ options: [String] = [],
    environment: [String: String] = [:]
  ) throws -> (reference: String, publisher: RunningProcess) {
    let (sender, address) = try RecordingTests.server(
      ["--frames", "\(frames)", "--codec", codec.rawValue] + options)
    let published = try publish("udp://\(address)", codec, to: url, environment)
    try sender.waitForExit()
    return published
  }

  private static func publish(
    _ source: String, _ codec: Clip.Codec, to url: String, _ environment: [String: String]
  ) throws -> (reference: String, publisher: RunningProcess) {
    let reference = try Scratch.path(codec.rawValue)
    let publisher = try RunningProcess(
      Product.rtpRecv, [source, "-o", url, "-o", reference, "--stats", "-"],
      environment: environment)
    try publisher.waitForExit()
    return (reference, publisher)
  }

  /// The pictures of a camera, from ten minutes ago on.
  static func receive(
    _ url: String, _ codec: Clip.Codec
  ) throws -> (stream: String, hashes: [String]) {
    let stream = try Scratch.path(codec.rawValue)
    let pictures = try Scratch.path("y4m")
    let reader = try RunningProcess(
      Product.rtpRecv,
      ["\(url)?since=10m", "-o", stream, "-o", pictures])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    return (stream, try FFmpeg.frameHashes(of: pictures))
  }

  static func bytes(_ path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path))
  }

  @Test(
    "what is published is received elsewhere, byte for byte, in pieces where it is large",
    arguments: Clip.Codec.allCases)
  func published(codec: Clip.Codec) throws {
    let server = try NATSServer("max_payload: 2048")
    let (reference, _) = try Self.publish(codec, 90, to: server.url("door"))
    let (stream, hashes) = try Self.receive(server.url("door"), codec)
    #expect(try Self.bytes(stream) == Self.bytes(reference))
    #expect(try hashes == FFmpeg.frameHashes(of: reference))
    #expect(hashes.count == 90)
    // A description and several messages for a key picture, one at least for each of the others.
    #expect(try server.messages(of: "door") > 95)
  }

  @Test(
    "what one machine published before another one followed it is there",
    arguments: Clip.Codec.allCases)
  func followed(codec: Clip.Codec) throws {
    let server = try NATSServer()
    let (first, _) = try Self.publish(codec, 90, to: server.url("door"))
    let (second, _) = try Self.publish(codec, 60, to: server.url("door"))
    let (stream, hashes) = try Self.receive(server.url("door"), codec)
    #expect(try Self.bytes(stream) == Self.bytes(first) + Self.bytes(second))
    #expect(try hashes == FFmpeg.frameHashes(of: first) + FFmpeg.frameHashes(of: second))
  }

  @Test("a recording goes on where the camera is of another codec") func otherCodec() throws {
    let server = try NATSServer()
    let (first, _) = try Self.publish(.h264, 90, to: server.url("door"))
    let (second, _) = try Self.publish(.h265, 60, to: server.url("door"))
    let pictures = try Scratch.path("y4m")
    let reader = try RunningProcess(
      Product.rtpRecv, [server.url("door", "?since=10m"), "-o", pictures])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    #expect(
      try FFmpeg.frameHashes(of: pictures)
        == FFmpeg.frameHashes(of: first) + FFmpeg.frameHashes(of: second))
  }

  @Test("losses are the same for whoever receives them from there", arguments: Clip.Codec.allCases)
  func losses(codec: Clip.Codec) throws {
    let server = try NATSServer()
    let (reference, publisher) = try Self.publishLive(
      codec, 150, to: server.url("door"), ["--bitrate", "2M", "--loss", "0.02", "--seed", "7"])
    let sent = try Statistics(lastLineOf: publisher)
    let damaged = sent["delivery", "damaged_access_units"]
    #expect(sent["rtp", "lost"] > 0)
    let stream = try Scratch.path(codec.rawValue)
    let reader = try RunningProcess(
      Product.rtpRecv,
      [server.url("door", "?since=10m"), "-o", stream, "--stats", "-"])
    try reader.waitForExit()
    #expect(try Self.bytes(stream) == Self.bytes(reference))
    let received = try Statistics(lastLineOf: reader)
    #expect(received["delivery", "damaged_access_units"] == damaged)
  }

  @Test("sound comes with the pictures, and in step") func sound() throws {
    let server = try NATSServer()
    let film = try RTSPSendTests.film.get()
    let sender = try RTSPSendTests.Server([(film, "film")], ["--audio", "copy"])
    let reference = try Scratch.path("mkv")
    let publisher = try RunningProcess(
      Product.rtpRecv, [sender.url("film"), "-o", server.url("film"), "-o", reference])
    #expect(try publisher.waitForExit() == 0, "\(publisher.standardError)")
    let copy = try Scratch.path("mkv")
    let reader = try RunningProcess(
      Product.rtpRecv, [server.url("film", "?since=10m"), "-o", copy])
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    func packets(_ path: String, _ kind: String) throws -> [Substring] {
      let list = try FFmpeg.output(
        ["-i", path, "-map", "0:\(kind)", "-c", "copy", "-f", "framemd5", "-"])
      return String(decoding: list, as: UTF8.self).split(separator: "\n")
        .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
    }
    #expect(try packets(copy, "v") == packets(reference, "v"))
    // Which unit of sound is the first beside a picture depends on the reports that have come.
    let (here, there) = (try packets(reference, "a"), try packets(copy, "a"))
    #expect(here.count > 200)
    #expect(abs(here.count - there.count) <= 3, "\(here.count) \(there.count)")
    #expect(there.count { here.contains($0) } >= there.count - 3)
    func starts(_ path: String) throws -> [Double] {
      try ["v", "a"].map {
        let text = try RecordingTests.probe(path, "packet=pts_time", of: $0)
        return text.split(separator: "\n").first.flatMap {
          Double($0.filter { $0 != "," })
        } ?? -1
      }
    }
    let (first, second) = (try starts(reference), try starts(copy))
    let difference = (first[1] - first[0]) - (second[1] - second[0])
    // Three units of sound at most.
    #expect(abs(difference) < 0.075, "\(first) \(second)")
    #expect(try sender.stop() == 0)
  }

  @Test(
    "nothing is lost and nothing comes twice when the server is killed and started again, or hangs",
    arguments: [SIGKILL, SIGSTOP])
  func restarted(signal: Int32) throws {
    let server = try NATSServer()
    // At its own pace it fills the queue only after 17 s, and it goes on until all is well again.
    let (sender, address) = try RecordingTests.server(["--speed", "1"])
    let reference = try Scratch.path("h264")
    let copy = try Scratch.path("h264")
    let publisher = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", server.url("door"), "-o", reference])
    try waitUntil("the first pictures are kept") { try server.messages(of: "door") > 30 }
    let reader = try RunningProcess(
      Product.rtpRecv, [server.url("door"), "-o", copy, "--timeout", "20"])
    try waitUntil("they are received") { (try? Self.bytes(copy).count) ?? 0 > 10_000 }
    let received = try Self.bytes(copy)
    if signal == SIGKILL { try server.kill() } else { server.send(signal: signal) }
    let before = try Self.bytes(reference).count
    _ = try publisher.waitForLine(#/is away/#)
    try waitUntil("receiving goes on meanwhile") {
      try Self.bytes(reference).count > before + 10_000
    }
    if signal == SIGKILL { try server.start() } else { server.send(signal: SIGCONT) }
    _ = try publisher.waitForLine(#/is there again/#)
    // At the end there is little time, so that what has waited for the server goes before.
    let waited = try Self.bytes(reference).suffix(1000)
    try waitUntil("what has waited is received") {
      try Self.bytes(copy).range(of: waited) != nil
    }
    sender.send(signal: SIGTERM)
    #expect(try publisher.waitForExit() == 0, "\(publisher.standardError)")
    // It begins at the last key picture.
    let all = try Self.bytes(reference)
    try waitUntil("all of it has come") {
      let copied = try Self.bytes(copy)
      return copied.starts(with: received) && all.suffix(copied.count) == copied
    }
    reader.send(signal: SIGINT)
    #expect(try reader.waitForExit() == 0, "\(reader.standardError)")
    let (stream, _) = try Self.receive(server.url("door"), .h264)
    #expect(try Self.bytes(stream) == all)
    try sender.waitForExit()
  }

  @Test("a server that is not there costs nothing but what would go to it") func absent() throws {
    let port = try FreePort.tcp()
    let (reference, publisher) = try Self.publishLive(
      .h264, 60, to: "nats://127.0.0.1:\(port)/door")
    #expect(try FFmpeg.frameHashes(of: reference).count == 60)
    #expect(publisher.standardError.contains("nats://"), "\(publisher.standardError)")
    let reader = try RunningProcess(Product.rtpRecv, ["nats://127.0.0.1:\(port)/door"])
    #expect(try reader.waitForExit() == 2)
    #expect(reader.standardError.contains("cannot connect to NATS"), "\(reader.standardError)")
  }

  @Test("messages that the server does not want are left out, and the others are kept")
  func refusedMessages() throws {
    let server = try NATSServer()
    let peer = try NATSPeer(port: server.port)
    _ = try peer.request(
      "$JS.API.STREAM.CREATE.rtp_door",
      "{\"name\":\"rtp_door\",\"subjects\":[\"rtp.door.*\"],\"max_msg_size\":1500}")
    let (reference, publisher) = try Self.publish(.h264, 90, to: server.url("door"))
    #expect(try FFmpeg.frameHashes(of: reference).count == 90)
    #expect(publisher.standardError.contains("left out"), "\(publisher.standardError)")
    #expect(publisher.standardError.contains("exceeds maximum"), "\(publisher.standardError)")
    #expect(try server.messages(of: "door") > 40)
  }

  @Test("a stream that takes nothing more is said, and the pictures go on elsewhere")
  func fullStream() throws {
    let server = try NATSServer()
    let peer = try NATSPeer(port: server.port)
    _ = try peer.request(
      "$JS.API.STREAM.CREATE.rtp_door",
      "{\"name\":\"rtp_door\",\"subjects\":[\"rtp.door.*\"],\"max_msgs\":5,\"discard\":\"new\"}")
    let (reference, publisher) = try Self.publishLive(.h264, 60, to: server.url("door"))
    #expect(try FFmpeg.frameHashes(of: reference).count == 60)
    #expect(
      publisher.standardError.contains("maximum messages exceeded"), "\(publisher.standardError)")
    #expect(try server.messages(of: "door") == 5)
  }
}
