import ArgumentParser
import Impairment
import RTPSend

/// What `--audio` asks for: the sound of the file, or the tone in a format.
enum SoundArgument {
  case copy
  case tone(SoundFormat)

  init(_ argument: String) throws {
    if argument.lowercased() == "copy" {
      self = .copy
      return
    }
    do throws(SendError) {
      self = .tone(try SoundFormat(argument))
    } catch { throw ValidationError("\(error)") }
  }
}

struct SoundOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Send sound too: with the pattern a tone with a click every second, when the pattern flashes, \
      coded as pcmu, pcma, g722, g726-16 … g726-40, aal2-g726-16 … aal2-g726-40, l8, l16, l24, opus, \
      aac, aac-lbr, adts, latm or latm-inband; with a file 'copy', its sound as it is.
      """, valueName: "format[/rate[/channels]]"),
    transform: { try SoundArgument($0) })
  var audio: SoundArgument?

  @Flag(help: "Send the sound alone.")
  var noVideo = false

  @Option(
    help: ArgumentHelp(
      "The port of the sound with udp:// (default: two above that of the video).", valueName: "n"))
  var audioPort: Int?

  @Option(
    help: ArgumentHelp(
      "0 to 127 (default: that of RFC 3551 for the format, or a free one from 97 on).",
      valueName: "n"))
  var audioPayloadType: UInt8?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("What a packet of sound holds, at least one frame.", valueName: "ms"))
  var audioPacketTime = 20

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "AAC frames take turns in this many packets (RFC 3640): 2 to 8, with aac-lbr to 4.",
      valueName: "n"))
  var audioInterleave = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      --jitter for the sound alone. A receiver that waits 200 ms for a missing packet loses some \
      from 50 on.
      """, valueName: "time"),
    transform: MillisecondsArgument.read)
  var audioJitter: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("--loss for the sound alone.", valueName: "p"),
    transform: ShareArgument.read)
  var audioLoss: Double?

  @Option(
    name: .customLong("audio-clock-ppm"), parsing: .unconditional,
    help: ArgumentHelp(
      "The clock of the sound is that many millionths too fast; negative: too slow.",
      valueName: "ppm"))
  var clockDeviation = 0.0

  /// Throws if the options do not fit each other, the source, the destination or the packets.
  func check(
    source: String, _ destination: Destination, _ packets: PacketOptions,
    _ feedback: FeedbackOptions
  ) throws {
    guard let audio else { return try checkAbsence() }
    switch audio {
    case .copy where source == "pattern":
      throw ValidationError("--audio copy takes the sound of a file; the pattern needs a format")
    case .tone where source != "pattern":
      throw ValidationError("--audio of a file can only be 'copy'")
    default: break
    }
    guard (1...1000).contains(audioPacketTime) else {
      throw ValidationError("--audio-packet-time must be 1 to 1000 ms")
    }
    if case .tone(let format) = audio, format.coding == .opus,
      ![5, 10, 20, 40, 60].contains(audioPacketTime)
    {
      throw ValidationError("--audio-packet-time of Opus must be 5, 10, 20, 40 or 60 ms")
    }
    guard interleavingLimits.contains(audioInterleave) else {
      throw ValidationError(
        "--audio-interleave must be 2 to 8 with aac, adts and copy, 2 to 4 with aac-lbr, and "
          + "cannot be used with another format")
    }
    guard abs(clockDeviation) <= 100_000 else {
      throw ValidationError("--audio-clock-ppm must be -100000 to 100000")
    }
    try checkPorts(destination, packets, feedback)
    let types = Self.usedTypes(packets, feedback, hasVideo: !noVideo)
    if let type = audioPayloadType, type > 127 || types.contains(type) {
      throw ValidationError(
        "--audio-payload-type must be 0 to 127, and not a type that is used already")
    }
  }

  private func checkAbsence() throws {
    let typed = [
      ("--no-video", noVideo), ("--audio-port", audioPort != nil),
      ("--audio-payload-type", audioPayloadType != nil),
      ("--audio-packet-time", audioPacketTime != 20), ("--audio-interleave", audioInterleave != 1),
      ("--audio-jitter", audioJitter != nil), ("--audio-loss", audioLoss != nil),
      ("--audio-clock-ppm", clockDeviation != 0),
    ]
    if let option = typed.first(where: { $0.1 })?.0 {
      throw ValidationError("\(option) has no effect without --audio")
    }
  }

  private var interleavingLimits: ClosedRange<Int> {
    guard case .tone(let format) = audio else { return 1...8 }
    switch format.coding {
    case .aac, .adts: return 1...8
    case .aacLowRate: return 1...4
    default: return 1...1
    }
  }

  private func checkPorts(
    _ destination: Destination, _ packets: PacketOptions, _ feedback: FeedbackOptions
  ) throws {
    guard case .send(_, let port) = destination else {
      guard audioPort == nil else {
        throw ValidationError("--audio-port has no effect where all tracks share a port")
      }
      return
    }
    guard !(noVideo && audioPort != nil) else {
      throw ValidationError("--audio-port has no effect with --no-video")
    }
    let own = port + portOffset(destination)
    guard (1...65_534).contains(own), port <= 65_534 else {
      throw ValidationError("the sound and its RTCP need ports up to 65535; see --audio-port")
    }
    guard !noVideo else { return }
    var used = [port, port + 1]
    if packets.fec?.matrix != nil { used += [port + 2, port + 4] }
    if feedback.retransmissionSession { used.append(port + 2) }
    guard !used.contains(own), !used.contains(own + 1) else {
      let ports = used.map(String.init).joined(separator: ", ")
      throw ValidationError(
        "the sound and its RTCP need two ports that the video does not use (\(ports)); "
          + "see --audio-port")
    }
  }

  /// How far above the destination's port the sound goes.
  func portOffset(_ destination: Destination) -> Int {
    guard case .send(_, let port) = destination, !noVideo else { return 0 }
    return audioPort.map { $0 - port } ?? 2
  }

  /// The payload type of sound in `format`.
  func payloadType(
    of format: SoundFormat, _ packets: PacketOptions, _ feedback: FeedbackOptions
  ) -> UInt8 {
    let used = Self.usedTypes(packets, feedback, hasVideo: !noVideo)
    let fixed = format.staticPayloadType.flatMap { used.contains($0) ? nil : $0 }
    return audioPayloadType ?? fixed ?? (97...127).first { !used.contains($0) } ?? 97
  }

  private static func usedTypes(
    _ packets: PacketOptions, _ feedback: FeedbackOptions, hasVideo: Bool
  ) -> [UInt8] {
    guard hasVideo else { return [] }
    return [packets.payloadType] + (packets.fec?.correction?.payloadTypes ?? [])
      + (feedback.retransmissionPayloadType.map { [$0] } ?? [])
  }

  func recipe(_ source: String, _ media: SourceOptions) -> SoundRecipe? {
    switch audio {
    case nil: nil
    case .copy: .file(path: source)
    case .tone(let format):
      .tone(format, seconds: media.frames.map { Double($0) / (media.fps ?? 30) })
    }
  }

  func packetization(_ packets: PacketOptions) -> SoundPacketization {
    var packetization = SoundPacketization()
    packetization.packetTime = audioPacketTime
    packetization.interleaving = audioInterleave
    packetization.payloadLimit = packets.packetSize
    return packetization
  }

  /// The impairments of the sound, where those of all tracks are `others`.
  func impairments(_ others: Impairments) -> Impairments {
    var impairments = others
    if let audioJitter {
      impairments.delay = .disorderly(jitter: Int64(audioJitter * 1_000_000))
    }
    if let audioLoss { impairments.loss = audioLoss }
    return impairments
  }
}
