import ArgumentParser
import Foundation
import Impairment
import RTPSend
import RTPWire
import Transports

struct SourceOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Frames a second, for the pattern and for elementary streams (default: what the file says).",
      valueName: "rate"))
  var fps: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many frames.", valueName: "n"))
  var frames: Int?

  @Option(
    name: .customLong("loop"),
    help: ArgumentHelp("Send the source this many times, or 'forever'.", valueName: "n"))
  var repetitions = Repetitions(count: 1)

  @Flag(
    help: """
      The file goes on: it is still being written, and when its writer goes on to the next one, that \
      is sent on without a seam. See SOURCE above.
      """)
  var follow = false

  @Option(
    help: ArgumentHelp(
      """
      With --follow: where the parameter sets are, if the files do not have them before they are \
      closed: an elementary stream, or an MP4 that the same writer has closed.
      """, valueName: "file"))
  var parameterSets: String?

  @Flag(help: "Leave VPS, SPS and PPS out of the stream, so that only the SDP file has them.")
  var stripParameterSets = false

  func check() throws {
    if let fps, !(fps > 0 && fps <= 1000) {
      throw ValidationError("--fps must be above 0, to 1000")
    }
    guard parameterSets == nil || follow else {
      throw ValidationError("--parameter-sets has no effect without --follow")
    }
    if let frames, frames < 1 { throw ValidationError("--frames must be at least 1") }
  }
}

struct PatternOptions: ParsableArguments {
  @Option(help: "h264 or h265.")
  var codec = Codec.h264

  @Option(
    help: ArgumentHelp(
      "Even, at least 256x144 (default: 1280x720).", valueName: "width x height"))
  var size: Size?

  @Option(help: ArgumentHelp("Bits a second; k and M may follow.", valueName: "rate"))
  var bitrate = BitRate(bitsPerSecond: 4_000_000)

  @Option(help: ArgumentHelp("Frames between key pictures (default: one second).", valueName: "n"))
  var gop: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Consecutive B-frames, which delay the stream (default: 0).", valueName: "n"))
  var bframes: Int?

  func configuration(_ media: SourceOptions) -> PatternConfiguration {
    var configuration = PatternConfiguration()
    configuration.codec = codec
    let size = self.size ?? Size(width: 1280, height: 720)
    configuration.width = size.width
    configuration.height = size.height
    // What is not a whole number is refused as 0.
    configuration.framesPerSecond = Int(exactly: media.fps ?? 30) ?? 0
    configuration.bitRate = bitrate.bitsPerSecond
    configuration.groupLength = gop
    configuration.bidirectionalPictures = bframes ?? 0
    configuration.frameLimit = media.frames
    return configuration
  }
}

struct LoadOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Send this many streams of the same pictures at once, to every second port from that of \
      udp://HOST:PORT on, in batches. Of the pattern, the first two groups of pictures repeat.
      """, valueName: "n"))
  var streams: Int?

  func check(_ destination: Destination) throws {
    guard let streams else { return }
    guard case .send(_, let port) = destination else {
      throw ValidationError("--streams is for udp://HOST:PORT")
    }
    let most = (65_535 - port) / 2 + 1
    guard (1...most).contains(streams) else {
      throw ValidationError("--streams must be 1 to \(most), since each has a port of its own")
    }
  }
}

struct PaceOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A multiple of the pace of the timestamps.", valueName: "factor"))
  var speed = 1.0

  @Flag(help: "As fast as possible.")
  var fast = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A constant number of packets per second.", valueName: "packets"))
  var rate: Double?

  var pacing: Pacing {
    if let rate { return .packetRate(rate) }
    return fast ? .unpaced : .mediaTime(speed: speed)
  }

  func check() throws {
    guard speed >= 0.001, speed <= 1000 else {
      throw ValidationError("--speed must be 0.001 to 1000")
    }
    if let rate, !(rate >= 0.1 && rate <= 10_000_000) {
      throw ValidationError("--rate must be 0.1 to 10000000 packets a second")
    }
    if [fast, rate != nil, speed != 1].filter({ $0 }).count > 1 {
      throw ValidationError("--speed, --fast and --rate exclude one another")
    }
  }
}

struct ListeningOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What a client says to be served: text, @FILE, or hex:48656c6c6f (default: Hello).",
      valueName: "bytes"),
    transform: { try BytesArgument(parsing: $0) })
  var hello: BytesArgument?

  @Option(
    help: ArgumentHelp(
      "The expected time between heartbeats; after three times that, a client is gone.",
      valueName: "seconds"))
  var heartbeatInterval = 3.0

  @Flag(
    help: """
      End when the first client has gone, instead of waiting for the next; with rtsp:// also when \
      its stream has ended.
      """)
  var once = false

  func check() throws {
    guard heartbeatInterval >= 0.01, heartbeatInterval <= 86_400 else {
      throw ValidationError("--heartbeat-interval must be 0.01 to 86400 seconds")
    }
  }
}

struct ServingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Ask clients for a name and a password: lines of NAME:PASSWORD, in a file that its owner alone \
      can read. Anybody may read a command line, so that passwords cannot stand there.
      """, valueName: "file"))
  var accounts: String?

  @Option(
    help: ArgumentHelp(
      """
      How clients log in: digest, sha-256 (the same with a hash that fewer know), basic (the \
      password itself, which rtsps:// hides), or several, separated by commas (default: digest).
      """, valueName: "methods"))
  var auth: LoginArgument?

  @Option(
    help: ArgumentHelp(
      "The certificate of rtsps:// in PEM, with those of its authorities.", valueName: "file"))
  var certificate: String?

  @Option(help: ArgumentHelp("The certificate's private key in PEM.", valueName: "file"))
  var key: String?

  @Option(
    help: ArgumentHelp(
      """
      Where what is live goes for clients that ask for multicast; each track has two ports, from \
      this one on, which must be even.
      """, valueName: "group:port"))
  var multicast: GroupArgument?

  /// Throws if the options do not fit the destinations.
  func check(
    _ pairs: [(source: String, destination: Destination)], _ media: SourceOptions,
    _ protection: ProtectionOptions, _ output: OutputOptions
  ) throws {
    guard case .serveRTSP(let host, let port, _, let isSecure) = pairs.first?.destination else {
      let typed = [
        ("--accounts", accounts != nil), ("--auth", auth != nil),
        ("--certificate", certificate != nil), ("--key", key != nil),
        ("--multicast", multicast != nil),
      ]
      if let option = typed.first(where: { $0.1 })?.0 {
        throw ValidationError("\(option) has no effect without rtsp://")
      }
      guard pairs.count == 1 else {
        throw ValidationError("only rtsp:// takes several sources, each under a name of its own")
      }
      return
    }
    var names: Set<String> = []
    for pair in pairs {
      guard case .serveRTSP(host, port, let name, isSecure) = pair.destination else {
        throw ValidationError("several sources need names at the same rtsp://[ADDRESS]:PORT")
      }
      guard names.insert(name).inserted else {
        throw ValidationError("two sources have the name '\(name)'")
      }
    }
    guard isSecure == (certificate != nil), isSecure == (key != nil) else {
      throw ValidationError(
        isSecure
          ? "rtsps:// needs --certificate and --key"
          : "--certificate and --key have no effect with rtsp://; see rtsps://")
    }
    guard auth == nil || accounts != nil else {
      throw ValidationError("--auth has no effect without --accounts")
    }
    guard media.repetitions.count == 1 || media.repetitions.count == nil else {
      throw ValidationError("--loop takes only 'forever' with rtsp://, which makes a file live")
    }
    guard output.sdp == nil else {
      throw ValidationError("--sdp has no effect with rtsp://, which describes its streams itself")
    }
  }
}

struct PacketOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The longest RTP payload.", valueName: "bytes"))
  var packetSize = 1400

  @Option(
    help: ArgumentHelp(
      """
      non-interleaved (STAP-A or AP, and FU), single (a packet for each NAL unit: H.264 \
      packetization-mode 0), interleaved (H.264 packetization-mode 2, H.265 with DONL), mtap16 or \
      mtap24 (H.264), paci (H.265).
      """, valueName: "mode"))
  var packetization = Packetization.nonInterleaved

  @Flag(help: "Do not aggregate NAL units.")
  var noAggregation = false

  @Option(help: ArgumentHelp("0 to 127.", valueName: "n"))
  var payloadType: UInt8 = 96

  @Option(help: ArgumentHelp("Decimal, or with 0x hexadecimal (default: random).", valueName: "n"))
  var ssrc: UnsignedNumber?

  @Option(help: ArgumentHelp("The first sequence number (default: random).", valueName: "n"))
  var initialSequence: UInt16?

  @Option(
    help: ArgumentHelp("The RTP timestamp of media time 0 (default: random).", valueName: "n"))
  var initialTimestamp: UInt32?

  @Option(
    help: ArgumentHelp(
      "After AT packets, continue with a sequence number BY too high.", valueName: "at,by"))
  var sequenceJump: NumberPair?

  @Option(
    help: ArgumentHelp(
      "Change the SSRC after this many packets, or with every 'gop'.", valueName: "n|gop"))
  var ssrcChange: SourceChangeArgument?

  @Option(
    help: ArgumentHelp(
      """
      Add correction packets of payload type PT, one for every K packets, 1 to 48: K of 5 adds 20 %. \
      The format is ulpfec (RFC 5109), flexfec (RFC 8627) or flexfec-03; with ,red:PT all of it comes \
      in RED packets (RFC 2198). Or st2022-1,L,D (SMPTE ST 2022-1): L columns to the port two above, \
      D rows to the one four above, 1 to 20 each.
      """, valueName: "format:pt,k|st2022-1,l,d"))
  var fec: CorrectionArgument?

  @Flag(
    help: """
      Send no sender reports and no BYE; otherwise they come on the port of the media, or with sound \
      to udp:// on the port above.
      """)
  var noRtcp = false

  func check() throws {
    guard (16...65_000).contains(packetSize) else {
      throw ValidationError("--packet-size must be 16 to 65000 bytes")
    }
    guard packetization != .paci || packetSize >= ContentInformationPacketizer.minimumLimit else {
      throw ValidationError(
        "--packetization paci needs --packet-size \(ContentInformationPacketizer.minimumLimit) or "
          + "more")
    }
    guard payloadType <= 127 else { throw ValidationError("--payload-type must be 0 to 127") }
    guard fec?.correction?.payloadTypes.contains(payloadType) != true else {
      throw ValidationError("--fec needs payload types that are not that of the media")
    }
  }

  /// Whether the numbers that a stream begins with are chosen, even if only in part.
  var setsNumbers: Bool {
    ssrc != nil || initialSequence != nil || initialTimestamp != nil
  }

  /// The header fields; those not given are drawn from `dice`.
  func stream(_ dice: inout SplitMix64) -> RTPStream.Configuration {
    var configuration = RTPStream.Configuration(
      ssrc: UInt32(truncatingIfNeeded: dice.next()),
      initialSequence: UInt16(truncatingIfNeeded: dice.next()),
      initialTimestamp: UInt32(truncatingIfNeeded: dice.next()))
    if let ssrc { configuration.ssrc = ssrc.value }
    if let initialSequence { configuration.initialSequence = initialSequence }
    if let initialTimestamp { configuration.initialTimestamp = initialTimestamp }
    configuration.payloadType = payloadType
    configuration.correction = fec?.correction
    configuration.sequenceJump = sequenceJump.map {
      RTPStream.SequenceJump(after: $0.first, by: $0.second)
    }
    configuration.sourceChange = ssrcChange?.change
    return configuration
  }
}

struct FeedbackOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Answer what the receiver asks for by RTCP: nack (packets again), pli or fir (a key picture, \
      which the pattern has at once and a file when its next one comes), separated by commas.
      """, valueName: "names"))
  var feedback: FeedbackArgument?

  @Option(
    help: ArgumentHelp(
      "Retransmit in a separate stream (RFC 4588) with this payload type.",
      valueName: "n"))
  var retransmissionPayloadType: UInt8?

  @Flag(
    help: """
      Retransmit in a separate session: the SSRC of the media, the port two above.
      """)
  var retransmissionSession = false

  func check(_ packets: PacketOptions, _ protection: ProtectionOptions) throws {
    guard feedback == nil || !packets.noRtcp else {
      throw ValidationError("--feedback needs RTCP; leave out --no-rtcp")
    }
    if retransmissionSession {
      guard retransmissionPayloadType != nil else {
        throw ValidationError("--retransmission-session needs --retransmission-payload-type")
      }
      guard protection.keyFile == nil else {
        throw ValidationError(
          "--retransmission-session would need a separate key; leave out --srtp-key-file")
      }
      guard packets.fec?.matrix == nil else {
        throw ValidationError("--retransmission-session and st2022-1 would share a port")
      }
    }
    guard let type = retransmissionPayloadType else { return }
    guard feedback?.requests.contains(.nack) == true else {
      throw ValidationError("--retransmission-payload-type needs --feedback nack")
    }
    let others = [packets.payloadType] + (packets.fec?.correction?.payloadTypes ?? [])
    guard type <= 127, !others.contains(type) else {
      throw ValidationError(
        "--retransmission-payload-type must be 0 to 127, and not a type that is used already")
    }
  }

  var configuration: FeedbackConfiguration {
    var configuration = FeedbackConfiguration()
    configuration.requests = feedback?.requests ?? []
    configuration.retransmissionPayloadType = retransmissionPayloadType
    configuration.hasRetransmissionSession = retransmissionSession
    return configuration
  }
}

struct ProtectionOptions: ParsableArguments {
  @Option(
    name: .customLong("srtp-key-file"),
    help: ArgumentHelp(
      """
      Send SRTP and SRTCP under the first key of a file that its owner alone can read: \
      SUITE BASE64(key and salt) [MKI in hexadecimal].
      """, valueName: "file"))
  var keyFile: String?

  @Option(
    name: .customLong("srtp-roc"),
    help: ArgumentHelp(
      "Begin with this roll-over counter, as a stream does that has run for long.", valueName: "n"))
  var rollover: UInt32?

  func check() throws {
    guard rollover == nil || keyFile != nil else {
      throw ValidationError("--srtp-roc needs --srtp-key-file")
    }
  }

  /// The first key of the file as `a=crypto` has it (RFC 4568 §9.1), for a description in TLS.
  ///
  /// - Throws: that the file cannot be used.
  func cryptoAttribute() throws -> String? {
    guard let keyFile else { return nil }
    // Whether its owner alone can read it is checked with the keys.
    let text = FileManager.default.contents(atPath: keyFile).map {
      String(decoding: $0, as: UTF8.self)
    }
    let words =
      (text ?? "").split(whereSeparator: \.isNewline)
      .first { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }?
      .split(whereSeparator: \.isWhitespace) ?? []
    guard words.count >= 2 else { throw SRTPError.keySource(keyFile, .empty) }
    var attribute = "1 \(words[0]) inline:\(words[1])"
    if words.count > 2 {
      guard let identifier = UInt64(words[2], radix: 16) else {
        throw ValidationError("rtsps:// takes keys whose MKI has 8 bytes at most")
      }
      attribute += "|\(identifier):\(words[2].count / 2)"
    }
    return attribute
  }
}

struct ImpairmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What happens when, by a file (see PLANS), or all the time like wifi, lte, satellite, congested \
      or powerline. The options below hold where the plan does not say otherwise.
      """, valueName: "file|name"),
    transform: { try PlanArgument(parsing: $0) })
  var plan: PlanArgument?

  @Option(
    help: ArgumentHelp(
      "Do as some cameras and servers do; 'list' lists the names. Also in plans: quirk NAME.",
      valueName: "names"))
  var quirk: QuirkArgument?

  @Option(help: ArgumentHelp("The share of packets lost one by one: 0 to 1.", valueName: "p"))
  var loss = 0.0

  @Option(
    help: ArgumentHelp(
      "The share of packets lost in bursts, and their mean length.", valueName: "p,length"))
  var burstLoss: ProbabilityPair?

  @Option(
    help: ArgumentHelp(
      "The share of packets overtaken by later ones, and by how many at most.",
      valueName: "p,depth"))
  var reorder: ProbabilityPair?

  @Option(help: ArgumentHelp("The share of packets sent twice.", valueName: "p"))
  var duplicate = 0.0

  @Option(
    help: ArgumentHelp(
      "The standard deviation of a random delay, whose mean is three times that.",
      valueName: "ms"))
  var jitter = 0.0

  @Option(
    help: ArgumentHelp("The share of packets that random bytes follow.", valueName: "p"))
  var garbage = 0.0

  @Option(
    help: ArgumentHelp(
      "The same number, the same faults and header fields (default: random).", valueName: "n"))
  var seed: UInt64?

  @Option(
    help: ArgumentHelp(
      "Write what became of each packet, and why, as lines of JSON.", valueName: "file"))
  var log: String?

  // Only the pattern's pictures can be changed; quirks can be in these places.
  func check(isPattern: Bool, quirksOf places: Set<Quirk.Place>) throws {
    if quirk?.isList == true { throw CleanExit.message(Quirk.list(places)) }
    _ = try impairments
    let plan = try plan(over: Impairments())
    if plan.changesPictures, !isPattern {
      throw ValidationError("size and parameter-sets in a plan are for the pattern alone")
    }
    let others = plan.quirksEver.filter { !places.contains($0.place) }
    guard let other = others.min(by: { $0.rawValue < $1.rawValue }) else { return }
    let reason =
      switch other.place {
      case .packets, .payloads: "is of those who make the packets, not of a proxy"
      case .description: "is of descriptions, so it needs --sdp, or rtsp://"
      case .session: "is of the answers of RTSP servers, so it needs rtsp://, here or in a proxy"
      }
    throw ValidationError("the quirk \(other.rawValue) \(reason); --quirk list lists the others")
  }

  /// What happens when, where `base` holds all the time.
  func plan(over base: Impairments) throws -> Plan {
    var whole = try PlanText.parse(plan?.text ?? "", over: base)
    whole.quirks = quirk?.quirks ?? []
    return whole
  }

  /// The seed of the networks in a run with this seed, the same for a sender and for a proxy: what
  /// is drawn behind the SSRC, the sequence number and the timestamp.
  static func networkSeed(of seed: UInt64) -> UInt64 {
    var dice = SplitMix64(seed: seed)
    for _ in 0..<3 { _ = dice.next() }
    return dice.next()
  }

  var impairments: Impairments {
    get throws {
      for (name, value) in [("loss", loss), ("duplicate", duplicate), ("garbage", garbage)]
      where !(0...1).contains(value) {
        throw ValidationError("--\(name) must be 0 to 1")
      }
      guard jitter >= 0, jitter <= 60_000 else {
        throw ValidationError("--jitter must be 0 to 60000 ms")
      }
      var impairments = Impairments()
      impairments.loss = loss
      impairments.duplication = duplicate
      impairments.garbage = garbage
      if jitter > 0 { impairments.delay = .disorderly(jitter: Int64(jitter * 1_000_000)) }
      if let burstLoss {
        impairments.burstLoss = GilbertElliott(
          probability: burstLoss.probability, meanLength: burstLoss.other)
        if impairments.burstLoss == nil {
          throw ValidationError(
            "--burst-loss P,LENGTH needs a LENGTH of 1 or more, and P of at most LENGTH/(LENGTH+1)")
        }
      }
      if let reorder {
        impairments.reordering = Int(exactly: reorder.other).flatMap {
          Impairments.Reordering(probability: reorder.probability, depth: $0)
        }
        if impairments.reordering == nil {
          throw ValidationError(
            "--reorder P,DEPTH needs P of 0 to 1, and a whole DEPTH of 1 or more")
        }
      }
      return impairments
    }
  }
}

struct OutputOptions: ParsableArguments {
  @Option(
    name: .customLong("sdp"),
    help: ArgumentHelp("Describe the stream in a file, before the first packet.", valueName: "file")
  )
  var sdp: String?

  @Option(
    help: ArgumentHelp(
      "Write the totals as JSON at the end; - is standard output.", valueName: "file"))
  var stats: String?

  @Flag(help: "Say nothing but errors on standard error.")
  var quiet = false
}
