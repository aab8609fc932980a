import ArgumentParser
import BlockingIO
import Glibc
import Impairment
import RTPSend

/// What goes together on a command line, and what has no effect beside something else.
extension RTPSendCommand {
  /// Throws if an option was typed that has no effect on the sources or the destination.
  func checkScopes() throws {
    let hasFile = try pairs.contains { $0.source != "pattern" }
    let hasPattern = try pairs.contains { $0.source == "pattern" }
    switch destination {
    case .listen: break
    case .send:
      guard listening.hello == nil else {
        throw ValidationError("--hello has no effect with udp://, where nobody has to say it")
      }
      guard !listening.once else {
        throw ValidationError("--once has no effect with udp://, where nobody has to come first")
      }
    case .serveRTSP:
      guard listening.hello == nil else {
        throw ValidationError("--hello has no effect with rtsp://, where nobody has to say it")
      }
      guard !feedback.retransmissionSession else {
        throw ValidationError("--retransmission-session has no effect with rtsp://")
      }
    case .serveHTTP:
      guard listening.hello == nil else {
        throw ValidationError("--hello has no effect with http://, where nobody has to say it")
      }
      guard feedback.feedback == nil else {
        throw ValidationError("--feedback has no effect with http://, which carries no RTCP back")
      }
    }
    if sound.noVideo {
      let typed = [
        ("--feedback", feedback.feedback != nil), ("--fec", packets.fec != nil),
        ("--strip-parameter-sets", media.stripParameterSets),
        ("--size", pattern.size != nil), ("--bframes", pattern.bframes != nil),
        ("--gop", pattern.gop != nil),
        ("--frames", media.frames != nil && hasFile),
      ]
      if let option = typed.first(where: { $0.1 })?.0 {
        throw ValidationError("\(option) has no effect with --no-video")
      }
    }
    let hasCamera = try pairs.contains { Self.isCamera($0.source) }
    guard !hasPattern, !hasCamera else { return }
    let typed = [
      ("--size", pattern.size != nil), ("--bframes", pattern.bframes != nil),
      ("--gop", pattern.gop != nil),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError(
        "\(option) has no effect with a file, only with the pattern and a camera")
    }
  }

  /// Throws if something would be written over what is read, or twice.
  func checkFiles() throws {
    let keys = [protection.keyFile, serving.certificate, serving.key].compactMap { $0 }
    let sources = try pairs.map(\.source).filter { $0 != "pattern" }
    let read = (sources + keys).compactMap { FileIdentity($0, standard: STDIN_FILENO) }
    var written: Set<FileIdentity> = []
    for path in [output.sdp, output.stats, impairments.log].compactMap({ $0 }) where path != "-" {
      guard let identity = FileIdentity(path, standard: STDOUT_FILENO) else { continue }
      guard !read.contains(identity) else {
        throw ValidationError("\(path) is read, and would be overwritten")
      }
      guard written.insert(identity).inserted else {
        throw ValidationError("\(path) would be written twice")
      }
    }
  }

  /// Throws if an option was typed that has no effect on many streams at once.
  func checkLoad() throws {
    guard load.streams != nil else { return }
    let typed = [
      ("--audio", sound.audio != nil), ("--no-video", sound.noVideo), ("--follow", media.follow),
      ("standard input", source == "-"), ("a camera", Self.isCamera(source)),
      ("--speed", pace.speed != 1), ("--fast", pace.fast), ("--rate", pace.rate != nil),
      ("--sequence-jump", packets.sequenceJump != nil),
      ("--ssrc-change", packets.ssrcChange != nil), ("--fec", packets.fec != nil),
      ("--feedback", feedback.feedback != nil),
      ("--srtp-key-file", protection.keyFile != nil), ("--sdp", output.sdp != nil),
      ("a bad network", (try? impairments.impairments) != Impairments()),
      ("--plan", impairments.plan != nil), ("--quirk", impairments.quirk != nil),
      ("--log", impairments.log != nil),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError("\(option) has no effect with --streams")
    }
  }

  /// Throws if an option was typed that has no effect on what is still being made.
  func checkFollowing() throws {
    let sources = try pairs.map(\.source)
    guard sources.filter({ $0 == "-" }).count <= 1 else {
      throw ValidationError("standard input can be read only once")
    }
    if let single = sources.first(where: { $0 == "-" || Self.isCamera($0) }),
      media.repetitions.count != 1
    {
      throw ValidationError("--loop has no effect with \(single), which can be read only once")
    }
    if sources.contains(where: Self.isCamera) {
      guard pace.speed == 1, !pace.fast, pace.rate == nil else {
        throw ValidationError(
          "--speed, --fast and --rate have no effect with a camera, whose pictures are sent at once"
        )
      }
      guard sound.audio == nil else {
        throw ValidationError("--audio has no effect with a camera")
      }
    }
    try checkFollowedNames()
    guard media.follow || !media.followOnly.isEmpty else { return }
    guard sources.contains(where: Self.isFile) else {
      throw ValidationError("--follow has an effect with files alone")
    }
    let typed = [
      ("--loop", media.repetitions.count != 1), ("--speed", pace.speed != 1), ("--fast", pace.fast),
      ("--rate", pace.rate != nil), ("--audio", sound.audio != nil),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError(
        "\(option) has no effect with --follow, which sends pictures as they are written")
    }
  }

  /// Throws if a name that is to be followed is not that of a file.
  private func checkFollowedNames() throws {
    for name in media.followOnly {
      let isFollowed = try pairs.contains { source, destination in
        guard case .serveRTSP(_, _, name, _) = destination else { return false }
        return Self.isFile(source)
      }
      guard isFollowed else {
        throw ValidationError(
          "--follow-only takes the name of a file, as in FILE rtsp://…/NAME, not '\(name)'")
      }
    }
  }

  private static func isFile(_ source: String) -> Bool {
    source != "pattern" && source != "-" && !isCamera(source)
  }

  /// Whether a source is a device of V4L2.
  static func isCamera(_ source: String) -> Bool { source.hasPrefix("/dev/video") }

  /// Throws if several runs would have one SSRC under one key: each begins to count anew, and what
  /// is encrypted twice with the same numbers is encrypted no more (RFC 3711 §9.1).
  func checkSource() throws {
    guard protection.keyFile != nil, packets.ssrc != nil else { return }
    switch destination {
    case .send: return
    case .listen where listening.once: return
    case .listen:
      throw ValidationError(
        "--ssrc with --srtp-key-file is for one client; add --once, or leave one of them out")
    case .serveHTTP, .serveRTSP:
      throw ValidationError(
        "--ssrc cannot be chosen with --srtp-key-file where each client has a stream of its own")
    }
  }

  func checkMatrix() throws {
    guard packets.fec?.matrix != nil else { return }
    guard case .send(_, let port) = destination, port <= 65_531 else {
      throw ValidationError(
        "--fec st2022-1 goes to the ports two and four above that of udp://HOST:PORT")
    }
    guard protection.keyFile == nil else {
      throw ValidationError("--fec st2022-1 protects packets that are not encrypted")
    }
  }
}
