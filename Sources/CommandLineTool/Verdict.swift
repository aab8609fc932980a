import Bitstream
import Decode
import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// The result of a run: the exit status, and a line that says what to try.
struct Verdict {
  /// What was asked for, to decide whether the run did it.
  struct Wish {
    /// The source without a password.
    var source: String
    /// The number of frames wanted; `nil` for all.
    var frames: UInt64?
    /// The wanted time in seconds; `nil` for all.
    var duration: Double?
    /// What to do when the server wants a login.
    var loginAdvice: String
    /// Whether the user named the codec.
    var isCodecChosen: Bool
    /// The payload type that the user named.
    var payloadType: UInt8?
    /// Whether the packets are recorded and nothing else is made of them, which needs no picture.
    var onlyRecords: Bool
    /// Whether the source can be connected to again after an end.
    var comesAgain: Bool
    /// Whether packets come as they are sent, and not from a recording.
    var isLive: Bool
    /// Whether `--feedback` would ask for key pictures, and nothing does yet.
    var canAskForKeyPictures: Bool
    /// Whether frames are counted, and not access units.
    var decodes: Bool
    /// Whether the user gave a session description.
    var isDescribed: Bool
    /// Whether it is a camera of a fleet, which may be down when it is stopped.
    var isOfFleet: Bool
    /// What the source's transport has to say.
    var hints: SourceHints
  }

  let status: ExitStatus
  /// What went wrong, as an error; where the run did what it could, a warning, or a word about what
  /// it was stopped before.
  let complaint: Remark?
  /// What is worth knowing although the run did what it could.
  private(set) var remark: String?

  init(of report: Receiver.Report, wish: Wish) {
    // A failed output says more than the end that it caused.
    let broken = report.outputs.lazy.compactMap { output in
      output.error.map { (output.name, $0) }
    }.first
    if let (path, error) = broken {
      status = ExitStatus(of: error.outcome)
      complaint = .error(Self.explanation(of: error, about: path.shownPath))
      return
    }
    if let reason = Self.distrust(report, wish) {
      (status, complaint) = (.notTrusted, .error("\(wish.source): \(reason)"))
      return
    }
    let (judged, words) = Self.judge(report, wish)
    if judged == .done, let frames = wish.frames, !report.reason.isFulfilment {
      status = .framesMissing
      let missing = Self.missing(frames, report.status.delivery, wish)
      complaint = .error(
        [words, missing, Self.ending(report.reason, wish)].compactMap(\.self)
          .joined(separator: "; "))
    } else if judged == .done, let words = Self.lackOfEnd(report) {
      (status, complaint) = (.outputFailed, .error(words))
    } else if judged == .done,
      let words = Self.lackOfSound(report, wish) ?? Self.lackOfPictures(report)
    {
      (status, complaint) = (.noMedia, .error(words))
    } else if judged == .done, words == nil,
      let warning = Self.undecodable(report.status, wish)
    {
      (status, complaint) = (.done, .warning(warning))
    } else {
      (status, complaint) = (
        judged, words.map { Remark($0, level: judged == .done ? .notice : .error) }
      )
    }
    guard status == .done, let duration = wish.duration,
      let ending = Self.ending(report.reason, wish)
    else { return }
    let digits = duration == duration.rounded() ? 0 : 3
    remark = "\(ending) before the \(duration.formatted(digits: digits)) s of --duration were over"
  }

  /// How many of the wanted `frames` came.
  private static func missing(
    _ frames: UInt64, _ delivery: DeliveryStatistics, _ wish: Wish
  ) -> String {
    if delivery.accessUnits == 0, delivery.soundUnits > 0 {
      return "only sound came, in which --frames has nothing to count; --duration ends such a run"
    }
    return wish.decodes
      ? "\(delivery.frames) of \(frames.counted("frame")) came"
      : "\(delivery.usableUnits) of \(frames.counted("access unit")) came"
  }

  /// That outputs of frames lack the end of the stream; `nil` if they have it, or if the user
  /// wanted no more.
  private static func lackOfEnd(_ report: Receiver.Report) -> String? {
    if case .stopped = report.reason { return nil }
    guard report.isCutShort, report.outputs.contains(where: \.inputs.needDecoding) else {
      return nil
    }
    let count = report.status.delivery.undecodedAtEnd
    return "an output or the decoder was stuck at the end: "
      + (count > 0
        ? "\(count.counted("access unit")) left undecoded" : "the last frame may be missing")
  }

  /// What ended a stream that was to go on; `nil` where nothing did, or something that is said
  /// anyway.
  private static func ending(_ reason: EndReason, _ wish: Wish) -> String? {
    switch reason {
    case .goodbye: "the sender said goodbye"
    case .ended where wish.comesAgain: "the server ended the stream"
    case .ended: wish.isLive ? "the input ended" : "the recording ended"
    default: nil
    }
  }

  /// What comes where none of it is of a codec that is known.
  static func unrecognized(
    _ types: [UInt8], _ report: Receiver.Report, _ wish: Wish
  ) -> String {
    if let words = wrongType(types, wish) ?? undescribedType(types, report.status, wish) {
      return words
    }
    let takesSound = takesSound(report)
    let list = types.map(words(forType:)).joined(separator: ", ")
    guard types.contains(where: { StaticPayloadType($0) == nil }) else {
      return "what comes is of payload type \(list); "
        + (takesSound ? "that coding is not known here" : "only \(codecs) can be decoded")
        + remedy(forFixed: types)
    }
    return "packets come, but look like none of \(codecs) (payload type \(list)); "
      + (takesSound ? "if they are sound, give their session description with --sdp; " : "")
      + remedy(ifOfKnownCodec: report.status, wish)
  }

  /// What the sender has to do where what comes is of `types`, which have fixed meanings.
  private static func remedy(forFixed types: [UInt8]) -> String {
    let fixed = types.compactMap(StaticPayloadType.init)
    // FFmpeg's `rtp_mpegts`, and VLC's `#rtp{mux=ts}`.
    if fixed.contains(where: { $0.encodingName == "MP2T" }) {
      return "; have the sender put each stream into RTP by itself (ffmpeg: -f rtp for each, "
        + "not rtp_mpegts; VLC: without mux=ts)"
    }
    return fixed.contains { $0.kind == .video } ? "; have the sender code \(codecs)" : ""
  }

  /// Why a connection ended or could not be opened, in words.
  static func words(for reason: EndReason) -> String {
    switch reason {
    case .cannotOpen(let error), .transportFailed(let error), .unsupportedMedia(let error):
      explanation(of: error)
    case .noMedia(let wait): "no media came within \(wait.words) s"
    case .mediaLost(let wait): "no more media for \(wait.words) s"
    case .otherCodec(let codec): "what comes is \(codec.encodingName)"
    case .goodbye: "the sender said goodbye"
    case .ended: "the stream ended"
    case .framesReached, .durationReached, .stopped, .unrecognizedMedia, .decoderFailed,
      .outputsEnded:
      reason.name
    }
  }

  /// What `error` says, with `advice` where a login is missing.
  static func words(for error: any Error, advice: String) -> String {
    (error as? any TransportFault)?.advice == .login
      ? "the server wants a user name and a password; " + advice : explanation(of: error)
  }

  private static func judge(_ report: Receiver.Report, _ wish: Wish) -> (ExitStatus, String?) {
    // Whoever stops a run while it connects again is told why it has to. Where media came before,
    // the run is done; where none ever did, it has not done what was asked.
    if case .stopped = report.reason, !report.status.connection.isOpen,
      let failure = report.status.connection.failure
    {
      let (status, words) = judge(failure, report, wish, isRetried: true)
      return (wish.isOfFleet || report.status.stream?.lastMedia != nil ? .done : status, words)
    }
    return judge(report.reason, report, wish, isRetried: false)
  }

  /// Judges `reason`; `isRetried` says that another connection was being tried because of it.
  private static func judge(
    _ reason: EndReason, _ report: Receiver.Report, _ wish: Wish, isRetried: Bool
  ) -> (ExitStatus, String?) {
    let source = wish.source
    switch reason {
    case .framesReached, .durationReached, .goodbye, .ended, .stopped, .outputsEnded:
      if let words = unusable(report.status, wish) { return (.unrecognizedMedia, words) }
      guard let nothing = whyNothing(report, wish) else { return (.done, nil) }
      let isStopped = if case .stopped = reason { true } else { false }
      if !isStopped, let words = unknownCodec(report, wish) { return (.unrecognizedMedia, words) }
      // Who stops a run may not have waited for a key picture. Where some came and none was of use,
      // waiting would not have helped.
      if isStopped, !hasUselessKeyPictures(report) { return (.done, nothing) }
      return (.noMedia, nothing)
    case .noMedia(let wait):
      if let words = unusable(report.status, wish) ?? unknownCodec(report, wish) {
        return (.unrecognizedMedia, words)
      }
      let cause = lastFailure(report.status, wish) ?? hint(report, wish)
      return (.noMedia, "no media within \(wait.words) s; \(cause)")
    case .mediaLost(let wait):
      if let words = unusable(report.status, wish) { return (.unrecognizedMedia, words) }
      // That no picture could be made of it says more than that it stopped.
      if report.status.stream?.reception.delivered ?? 0 > 0,
        let nothing = whyNothing(report, wish)
      {
        return (.noMedia, nothing)
      }
      let remedy = isRetried ? "" : " (--timeout sets how long to wait)"
      let cause =
        lastFailure(report.status, wish) ?? wish.hints.first(.otherSender, report.status)
        ?? "the sender stopped without saying goodbye, or the network broke"
      return (.mediaLost, "no more media for \(wait.words) s; \(cause)\(remedy)")
    case .unrecognizedMedia(let types):
      return (.unrecognizedMedia, unrecognized(types, report, wish))
    case .otherCodec(let codec):
      return (
        .unrecognizedMedia,
        otherCodec(report.status, isChosen: wish.isCodecChosen)
          ?? "what comes is \(codec.encodingName)"
      )
    case .decoderFailed(let error):
      let status: ExitStatus =
        if case .noLibrary? = error as? DecoderError { .noLibrary } else { .failed }
      return (status, "the decoder cannot be opened: \(error)")
    case .unsupportedMedia(let error):
      return (
        .unrecognizedMedia, "\(source): \(explanation(of: error))" + advice(on: error, report)
      )
    case .cannotOpen(let error):
      let words = words(for: error, advice: wish.loginAdvice)
      return (ExitStatus(of: error, otherwise: .cannotOpen), "\(source): \(words)")
    case .transportFailed(let error):
      let isLasting =
        [.permanent, .login].contains(ConnectionFault(of: error)) || !wish.comesAgain
      let remedy = isLasting || isRetried ? "" : "; --reconnect goes on by itself"
      let words = words(for: error, advice: wish.loginAdvice)
      return (ExitStatus(of: error, otherwise: .failed), "\(source): \(words)\(remedy)")
    }
  }
}

extension ExitStatus {
  /// The status for `error`; `occasion` if it has none of its own.
  init(of error: any Error, otherwise occasion: ExitStatus) {
    self =
      switch (error as? any TransportFault)?.outcome {
      case .usage: .usage
      case .credentials: .credentialsRefused
      case .notTrusted: .notTrusted
      case .noSuchStream: .noSuchStream
      case .redirectRefused: .redirectRefused
      case .noMedia: .noMedia
      case .mediaLost: .mediaLost
      case .unrecognized: .unrecognizedMedia
      case .cannotOpen: .cannotOpen
      case .failed: .failed
      case nil: occasion
      }
  }

  /// The status for what became of an output.
  init(of outcome: OutputOutcome) {
    self =
      switch outcome {
      case .cannotWrite: .outputFailed
      case .readerGone: .readerGone
      case .formatChanged: .formatChanged
      case .nothingIntact: .noMedia
      }
  }
}

extension EndReason {
  /// Whether the run ended because it had done everything; an output that failed is judged before.
  fileprivate var isFulfilment: Bool {
    switch self {
    case .framesReached, .outputsEnded: true
    default: false
    }
  }

  /// The reason's name in the statistics.
  var name: String {
    switch self {
    case .framesReached: "frames_reached"
    case .durationReached: "duration_reached"
    case .goodbye: "goodbye"
    case .ended: "ended"
    case .stopped: "stopped"
    case .noMedia: "no_media"
    case .mediaLost: "media_lost"
    case .unrecognizedMedia: "unrecognized_media"
    case .otherCodec: "other_codec"
    case .unsupportedMedia: "unsupported_media"
    case .cannotOpen: "cannot_open"
    case .transportFailed: "transport_failed"
    case .decoderFailed: "decoder_failed"
    case .outputsEnded: "outputs_ended"
    }
  }
}

extension Duration {
  fileprivate var words: String {
    seconds.formatted(digits: seconds == seconds.rounded() ? 0 : 1)
  }
}
