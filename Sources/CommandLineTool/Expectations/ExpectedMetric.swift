import Bitstream
import Decode
import Defragment
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// What `--expect` can ask about a run.
struct ExpectedMetric: Sendable {
  /// Its name in rules and in the result.
  let name: String
  let kind: Kind
  /// Whether tracks of sound have to be received for it.
  var isAboutSound = false
  /// Whether decoded frames alone show it.
  var needsDecoding = false
  /// The words that it can be.
  var words: @Sendable () -> [String] = { [] }
  let measure: @Sendable (MeasuredRun) -> Measurement

  /// All of them, in the order in which they are listed.
  static let all: [ExpectedMetric] = pictures + conditions + packets + streams

  /// All names, for messages.
  static var names: String { all.map(\.name).joined(separator: ", ") }

  /// Whether it can ever be `value`.
  func allows(_ value: Expectation.Value) -> Bool {
    guard kind == .name, case .word(let word) = value else { return true }
    return words().contains(word)
  }

  /// What to write instead of something that is no value of it.
  var remedy: String {
    kind == .name
      ? "there are \(words().joined(separator: ", "))" : "try \(kind.examples)"
  }

  private static let pictures: [ExpectedMetric] = [
    ExpectedMetric(name: "frames", kind: .count) { .number(Double($0.frames)) },
    ExpectedMetric(name: "fps", kind: .rate) { .of($0.pictures.rate, else: fewPictures) },
    ExpectedMetric(name: "duration", kind: .time) {
      $0.isSoundAlone
        ? .number($0.status.delivery.soundSeconds) : .of($0.pictures.duration, else: fewPictures)
    },
    ExpectedMetric(name: "gap", kind: .time) {
      if $0.isSoundAlone { return .number($0.status.delivery.longestSoundGap) }
      return $0.pictures.pictures == 0 ? .unknown(noPictures) : .number($0.pictures.longestGap)
    },
    ExpectedMetric(name: "first_frame", kind: .time) {
      $0.isLive
        ? .of($0.pictures.firstPicture?.seconds, else: noPictures) : .unknown(recording)
    },
    ExpectedMetric(name: "key_interval", kind: .time) { keyInterval($0.pictures) },
    ExpectedMetric(name: "bitrate", kind: .bitRate) {
      .of($0.pictures.bitRate, else: fewPictures)
    },
    ExpectedMetric(name: "size", kind: .size) {
      $0.pictures.sizes.isEmpty
        ? .unknown(noPictures) : .words($0.pictures.sizes.map { "\($0.width)x\($0.height)" })
    },
  ]

  private static let conditions: [ExpectedMetric] =
    RawFrame.Condition.allCases.map { condition in
      ExpectedMetric(name: "\(condition)", kind: .part, needsDecoding: true) { run in
        ofFrames(run) { .part(Double($0.conditions[condition] ?? 0), of: Double($0.frames)) }
      }
    } + [
      ExpectedMetric(name: "freezes", kind: .count, needsDecoding: true) { run in
        ofFrames(run) { .number(Double($0.freezes.count)) }
      },
      ExpectedMetric(name: "latency", kind: .time, needsDecoding: true) {
        latency($0, \.meanLatency)
      },
      ExpectedMetric(name: "max_latency", kind: .time, needsDecoding: true) {
        latency($0) { $0.meanLatency == nil ? nil : Double($0.greatestLatency) }
      },
    ]

  private static let packets: [ExpectedMetric] = [
    ExpectedMetric(name: "loss", kind: .share) { run in
      ofPackets(run) { .number($0.lossPercentage / 100) }
    },
    ExpectedMetric(name: "lost", kind: .count) { run in
      ofPackets(run) { .number(Double($0.lost)) }
    },
    ExpectedMetric(name: "jitter", kind: .time) { run in
      ofPackets(run) {
        $0.delivered > 1 ? .number($0.jitterSeconds) : .unknown("fewer than two packets came")
      }
    },
  ]

  private static let streams: [ExpectedMetric] = [
    ExpectedMetric(
      name: "codec", kind: .name,
      words: { CommandLineTool.current.formats.codecs.map(\.name) }
    ) { run in
      if case .receiving(let codec, _)? = run.status.stream?.phase { return .words([codec.name]) }
      return .unknown("the codec was not recognized")
    },
    ExpectedMetric(
      name: "audio", kind: .name, isAboutSound: true,
      words: { TrackStatus.soundNames + ["none"] }
    ) { sound($0.status) },
    ExpectedMetric(name: "reconnects", kind: .count) {
      .number(Double($0.status.connection.statistics.recoveries))
    },
  ]

  private static let noPictures = "no picture came"
  private static let fewPictures = "fewer than two pictures came"
  private static let recording = "a recording is played at another time than it was made"

  private static func ofFrames(
    _ run: MeasuredRun, _ measure: (DeliveryStatistics) -> Measurement
  ) -> Measurement {
    guard run.decodes else { return .unknown("nothing is decoded for these outputs") }
    return run.frames == 0 ? .unknown(noPictures) : measure(run.status.delivery)
  }

  private static func ofPackets(
    _ run: MeasuredRun, _ measure: (ReceptionStatistics) -> Measurement
  ) -> Measurement {
    let stream = run.status.stream
    // Those of the pictures, or of sound where it is alone.
    let receptions = [stream?.reception, stream?.sound?.reception].compactMap(\.self)
    guard let reception = receptions.first(where: { $0.delivered > 0 }) else {
      return .unknown("no packets came")
    }
    return measure(reception)
  }

  private static func latency(
    _ run: MeasuredRun, _ nanoseconds: (DeliveryStatistics) -> Double?
  ) -> Measurement {
    guard run.isLive else { return .unknown(recording) }
    return ofFrames(run) { .of(nanoseconds($0).map { $0 / 1e9 }, else: noPictures) }
  }

  /// The time since the last key picture counts too: the next one comes no earlier.
  private static func keyInterval(_ pictures: PictureStatistics) -> Measurement {
    guard let since = pictures.sinceKeyPicture else { return .unknown("no key picture came") }
    guard let longest = pictures.longestKeyInterval, longest >= since else {
      return .atLeast(since, "the run ended before the key picture came that ends the interval")
    }
    return .number(longest)
  }

  private static func sound(_ status: Receiver.Status) -> Measurement {
    guard let stream = status.stream, status.transport.delivered > 0 else {
      return .unknown("no packets came")
    }
    let came = stream.tracks.filter { $0.reception.delivered > 0 }
    if let sound = came.first(where: { $0.kind == .audio }) {
      return sound.soundName.map { .words([$0]) }
        ?? .unknown("sound came whose coding is not known; --sdp can describe it")
    }
    let unknown = stream.reception.ignoredPayloadTypes.keys.filter {
      StaticPayloadType($0)?.kind != .video
    }
    guard unknown.isEmpty, !came.contains(where: { $0.kind == .unknown }) else {
      return .unknown("packets of an unknown type came, which may be sound; --sdp can describe it")
    }
    return .words(["none"])
  }
}

/// What the rules are about: a run that is over.
struct MeasuredRun: Sendable {
  let status: Receiver.Status
  /// Whether pictures were decoded; otherwise access units are what is counted.
  let decodes: Bool
  /// Whether packets came as they were sent, and not from a recording.
  let isLive: Bool

  var pictures: PictureStatistics { status.delivery.pictures }

  /// Frames, or access units where nothing is decoded, as `--frames` counts them.
  var frames: UInt64 { decodes ? status.delivery.frames : status.delivery.usableUnits }

  /// Whether sound came, and no picture.
  var isSoundAlone: Bool { pictures.pictures == 0 && status.delivery.soundUnits > 0 }
}
