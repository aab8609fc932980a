import Bitstream
import Decode
import Defragment
import Glibc
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
    /// What to do when the server wants a login.
    var loginAdvice: String
    /// Whether the user named the codec.
    var isCodecChosen: Bool
    /// Whether the packets are recorded, which needs no picture.
    var isCapturing: Bool
  }

  let status: ExitStatus
  let complaint: String?

  init(of report: Receiver.Report, wish: Wish) {
    // A failed output says more than the end that it caused.
    let broken = report.outputs.lazy.compactMap { output in
      output.error.map { (output.name, $0) }
    }.first
    if let (path, error) = broken {
      (status, complaint) = Self.judge(error, of: path)
      return
    }
    if let reason = Self.distrust(report) {
      (status, complaint) = (.notTrusted, "\(wish.source): \(reason)")
      return
    }
    let (judged, words) = Self.judge(report, wish)
    if judged == .done,
      let words = report.status.stream.flatMap({
        Self.scrambled($0, isCodecChosen: wish.isCodecChosen)
      })
    {
      (status, complaint) = (.unrecognizedMedia, words)
    } else if judged == .done, let frames = wish.frames, !report.reason.isFramesReached {
      status = .framesMissing
      let missing = "\(report.status.delivery.frames) of \(frames.counted("frame")) came"
      complaint = [words, missing].compactMap(\.self).joined(separator: "; ")
    } else if judged == .done, words == nil,
      let warning = Self.undecodable(report.status, isCodecChosen: wish.isCodecChosen)
    {
      (status, complaint) = (.done, Remark.warning(warning).text)
    } else {
      (status, complaint) = (judged, words)
    }
  }

  private static func judge(_ error: OutputError, of path: String) -> (ExitStatus, String?) {
    let name = path == "-" ? "standard output" : path
    return switch error {
    case .readerGone:
      (.readerGone, "the reader of \(name) has gone away")
    case .formatChanged(let from, let to):
      (
        .formatChanged,
        "\(name) is a pipe and cannot change its format: the pictures went from \(from.words) to "
          + "\(to.words); try --scale-to-first, or write a file"
      )
    case .cannotOpen(_, let number):
      (.outputFailed, "\(name) cannot be opened: \(reason(number))")
    case .noReader:
      (.outputFailed, "nobody has opened \(name) to read it")
    case .writeFailed(let number):
      (
        .outputFailed,
        "\(name) cannot be written: \(reason(number)); a file ends on its last whole frame"
      )
    case .readerTooSlow:
      (.outputFailed, "the reader of \(name) did not take the last frame in time")
    case .unsupportedPixelFormat(let format):
      (.outputFailed, "\(name): its format cannot hold pictures of \(format); try --format yuv")
    case .wrongCodec(let expected, let found):
      (
        .outputFailed,
        "\(name) is to be \(expected.encodingName), but \(found.encodingName) came; "
          + "try a name that ends in .\(found.name)"
      )
    case .cannotScale(let from, let to):
      (.outputFailed, "\(name): pictures of \(from.words) cannot be scaled to \(to.words)")
    }
  }

  private static func reason(_ number: Int32) -> String {
    unsafe String(cString: strerror(number))
  }

  /// What comes where none of it is of a codec that is known.
  private static func unrecognized(_ types: [UInt8], isDecrypted: Bool) -> String {
    let list = types.map(words(forType:)).joined(separator: ", ")
    guard types.contains(where: { StaticPayloadType($0) == nil }) else {
      return "what comes is of payload type \(list); only \(codecs) can be decoded"
    }
    return "packets come, but look like none of \(codecs) (payload type \(list)); "
      + "say --codec and --payload-type if they are"
      + (isDecrypted ? "" : ", or give the key of SRTP with --srtp-key-file if they are encrypted")
  }

  /// Why a connection ended or could not be opened, in words.
  static func words(for reason: EndReason) -> String {
    switch reason {
    case .cannotOpen(let error), .transportFailed(let error), .unsupportedMedia(let error):
      "\(error)"
    case .noMedia(let wait): "no media came within \(wait.words) s"
    case .mediaLost(let wait): "no more media for \(wait.words) s"
    case .goodbye: "the sender said goodbye"
    case .ended: "the stream ended"
    case .framesReached, .durationReached, .stopped, .unrecognizedMedia, .decoderFailed,
      .outputsEnded:
      reason.name
    }
  }

  /// What `error` says, with `advice` where a login is missing.
  static func words(for error: any Error, advice: String) -> String {
    (error as? any TransportFault)?.asksForLogin == true
      ? "the server wants a user name and a password; " + advice : "\(error)"
  }

  private static func judge(_ report: Receiver.Report, _ wish: Wish) -> (ExitStatus, String?) {
    // A run that is stopped while it connects again ends with the reason for that.
    if case .stopped = report.reason, let failure = report.status.connection.failure {
      return judge(failure, report, wish, isRetried: true)
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
      if let words = foreign(report.status) { return (.unrecognizedMedia, words) }
      guard let nothing = whyNothing(report, wish) else { return (.done, nil) }
      if case .stopped = reason { return (.done, nothing) }
      return (.noMedia, nothing)
    case .noMedia(let wait):
      if let words = foreign(report.status) { return (.unrecognizedMedia, words) }
      return (.noMedia, "no media within \(wait.words) s; " + hint(report, source: source))
    case .mediaLost(let wait):
      // That no picture could be made of it says more than that it stopped.
      if report.status.stream?.reception.delivered ?? 0 > 0,
        let nothing = whyNothing(report, wish)
      {
        return (.noMedia, nothing)
      }
      let remedy = isRetried ? "" : " (--timeout sets how long to wait)"
      return (
        .mediaLost,
        "no more media for \(wait.words) s; the sender stopped without saying goodbye, or the "
          + "network broke" + remedy
      )
    case .unrecognizedMedia(let types):
      return (
        .unrecognizedMedia, unrecognized(types, isDecrypted: report.status.transport.srtp != nil)
      )
    case .decoderFailed(let error):
      return (.failed, "the decoder cannot be opened: \(error)")
    case .unsupportedMedia(let error):
      return (.unrecognizedMedia, "\(source): \(error)")
    case .cannotOpen(let error):
      let words = words(for: error, advice: wish.loginAdvice)
      return (ExitStatus(of: error, otherwise: .cannotOpen), "\(source): \(words)")
    case .transportFailed(let error):
      // A pipe ends once.
      let isLasting = [.permanent, .login].contains(ConnectionFault(of: error)) || source == "-"
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
}

extension EndReason {
  fileprivate var isFramesReached: Bool { if case .framesReached = self { true } else { false } }

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
    case .unsupportedMedia: "unsupported_media"
    case .cannotOpen: "cannot_open"
    case .transportFailed: "transport_failed"
    case .decoderFailed: "decoder_failed"
    case .outputsEnded: "outputs_ended"
    }
  }
}

extension Duration {
  /// The duration in seconds, rounded to a `Double`, for display only.
  var seconds: Double { Double(wholeNanoseconds) / 1e9 }

  fileprivate var words: String {
    seconds.formatted(digits: seconds == seconds.rounded() ? 0 : 1)
  }
}

extension RawFrame.Geometry {
  fileprivate var words: String { "\(width)x\(height) \(pixelFormat.name)" }
}
