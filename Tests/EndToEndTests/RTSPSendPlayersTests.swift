import Foundation
import TestSupport
import Testing

/// The players that people have, in front of `rtp-send … rtsp://…`: what they show is the source.
@Suite(.serialized)
struct RTSPSendPlayersTests {
  typealias Server = RTSPSendTests.Server
  typealias Way = Player.Way

  /// Serves a clip and has it played whole.
  private func expectAll(
    _ player: Player, _ way: Way, _ options: [String], scheme: String = "rtsp"
  ) throws {
    let clip = try Clip.of(way.codec)
    // GStreamer ends what is said to have an end by its own clock, on a busy machine too early.
    // The others take what is in a connection as fast as it comes.
    let isLive = player == .gstreamer || way.transport == .udp
    let (pace, count): ([String], Int?) =
      isLive ? Self.live(clip, for: player) : (["--speed", "4"], nil)
    let name = player == .openCV ? "in/a%20container" : "bare"
    let hashes = try withoutKernelDrops {
      // Only its first client sees what is live from the beginning.
      let server = try Server(
        [(clip.path, "bare"), (clip.container, "in/a container")], options + pace, scheme: scheme)
      let hashes = try player.hashes(of: server.url(name, scheme: scheme), way, taking: count)
      #expect(try server.stop() == 0)
      return hashes
    }
    #expect(try hashes == player.hashes(of: clip), "\(way)")
  }

  /// The options with which a clip is live, so that it begins with its first client, and how many
  /// of its pictures the player is to take.
  ///
  /// At a goodbye FFmpeg leaves with what its socket still holds. So it and OpenCV hear none: they
  /// take what they want of a stream without an end. That of GStreamer ends after the clip.
  private static func live(_ clip: Clip, for player: Player) -> ([String], Int?) {
    let options = ["--loop", "forever"]
    return player == .gstreamer
      ? (options + ["--frames", "\(clip.frames)"], nil) : (options, clip.frames)
  }

  private static let players =
    Player.allCases.flatMap { player in
      [Player.Transport.tcp, .udp, .http].map { (player, $0) }
    }

  @Test("every picture of a file from the first on", arguments: players)
  func file(player: Player, transport: Player.Transport) throws {
    for codec in Clip.Codec.allCases {
      try expectAll(player, Way(transport: transport, codec: codec), [])
    }
  }

  @Test(
    "a packet for each NAL unit, and parameter sets in the description alone",
    arguments: Player.allCases)
  func single(player: Player) throws {
    for codec in Clip.Codec.allCases {
      // The pictures of the clip are not cut into slices.
      try expectAll(
        player, Way(codec: codec), ["--packetization", "single", "--packet-size", "60000"])
      try expectAll(player, Way(codec: codec), ["--strip-parameter-sets"])
    }
  }

  @Test(
    "a login", arguments: [Player.gstreamer, .openCV], ["digest", "basic", "digest,sha-256"])
  func login(player: Player, methods: String) throws {
    try expectAll(
      player, Way(login: "viewer:canary"),
      ["--accounts", try RTSPSendTests.accounts(), "--auth", methods])
  }

  @Test(
    "TLS", arguments: [Player.ffmpeg, .ffmpegNewer, .gstreamer],
    [Player.Transport.tcp, .http])
  func tls(player: Player, transport: Player.Transport) throws {
    let certificates = try Certificates.shared.get()
    try expectAll(
      player, Way(transport: transport),
      ["--certificate", certificates.good, "--key", certificates.key],
      scheme: "rtsps")
  }

  /// What GStreamer shows of a URL, with the steps on the way.
  private func shown(
    _ url: String, _ transport: Player.Transport, _ steps: [String]
  ) throws -> [String] {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Servers/gstreamer-rtsp-client.py").path
    let output = try RunningProcess.output(
      of: "/usr/bin/python3", [script, url, "--protocols", transport.rawValue] + steps)
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test("pauses lose nothing", arguments: [Player.Transport.tcp, .udp])
  func pause(transport: Player.Transport) throws {
    let film = try RTSPSendTests.film.get()
    let server = try Server([(film, "film")])
    let pictures = try withoutKernelDrops {
      try shown(server.url("film"), transport, ["60", "pause", "play", "40", "pause", "play"])
    }
    #expect(try pictures == FFmpeg.frameHashes(of: film))
    #expect(try server.stop() == 0)
  }

  /// GStreamer 1.22 does not notice the end over UDP if less is left than its two seconds of delay.
  @Test("a seek goes on at the key picture before it", arguments: [Player.Transport.tcp, .udp])
  func seek(transport: Player.Transport) throws {
    let film = try RTSPSendTests.film.get()
    let all = try FFmpeg.frameHashes(of: film)
    let server = try Server([(film, "film")])
    func seek() throws -> [String] {
      try withoutKernelDrops { try shown(server.url("film"), transport, ["60", "seek=2.3"]) }
    }
    let expected: [String] = Array(all.prefix(60)) + ["seek=2.3"] + Array(all.suffix(200))
    var pictures = try seek()
    // A datagram that is on its way just then may still be shown, which says nothing of the seek.
    for _ in 1..<3 where transport == .udp && pictures != expected { pictures = try seek() }
    #expect(pictures == expected)
    #expect(try server.stop() == 0)
  }

  @Test(
    "a multicast group", .enabled(if: NeighbouringMachine.works), arguments: Player.allCases,
    [false, true])
  func multicast(player: Player, isEverywhere: Bool) throws {
    let machine = try NeighbouringMachine()
    let own = machine.ownAddress
    try expectGroup(
      "239.255.42.9:6000", player, on: machine, at: own, listeningOn: isEverywhere ? "[::]" : own)
  }

  @Test(
    "a multicast group of IPv6",
    .enabled(if: NeighbouringMachine.works && NeighbouringMachine.hasIPv6),
    arguments: Player.allCases)
  func multicast(player: Player) throws {
    let machine = try NeighbouringMachine()
    let own = "[\(machine.ownAddress6)]"
    try expectGroup("[ff15::4242]:6000", player, on: machine, at: own, listeningOn: own)
  }

  private func expectGroup(
    _ group: String, _ player: Player, on machine: NeighbouringMachine, at address: String,
    listeningOn host: String
  ) throws {
    // The players are elsewhere, because not all of them can be told an interface.
    let clip = try Clip.h264.get()
    let (options, count) = Self.live(clip, for: player)
    let server = try Server(
      [(clip.path, "live")], options + ["--multicast", group], host: host)
    let port = server.address.split(separator: ":").last ?? ""
    let hashes = try player.hashes(
      of: "rtsp://\(address):\(port)/live", Way(transport: .multicast), taking: count, on: machine)
    #expect(try hashes == player.hashes(of: clip))
    #expect(try server.stop() == 0)
  }
}
