import Bitstream
import Defragment
import Outputs
import RTPProcessor
import Receiver
import Reception

/// What is said where pictures come without parameter sets, so that nobody can decode them.
extension Verdict {
  /// What an elementary stream lacks that was written without any parameter set; `nil` where it
  /// can be decoded, or pictures came.
  static func undecodable(_ status: Receiver.Status, _ wish: Wish) -> String? {
    guard !status.outputs.isEmpty, let stream = status.stream,
      stream.defragmentation?.malformedParameterSets ?? 0 == 0,
      let words = withoutParameterSets(stream, status, wish)
    else { return nil }
    return words + "; no player can decode what was written without them"
  }

  /// That no parameter sets came; `nil` where some did, or where no media came.
  static func withoutParameterSets(
    _ stream: StreamStatus, _ status: Receiver.Status, _ wish: Wish
  ) -> String? {
    guard status.lacksParameterSets, case .receiving(let codec, _) = stream.phase else {
      return nil
    }
    return lackOfParameterSets(of: codec, status, wish)
  }

  /// That no parameter sets of `codec` came, and what to do about it.
  static func lackOfParameterSets(
    of codec: VideoCodec, _ status: Receiver.Status, _ wish: Wish
  ) -> String {
    let other = "; " + remedy(ifNot: codec, isChosen: wish.isCodecChosen)
    guard status.delivery.keyUnits == 0 else {
      return setsOutOfBand(of: codec, status, isDescribed: wish.isDescribed) + other
    }
    let request = wish.canAskForKeyPictures ? ", or ask for one with --feedback pli" : ""
    return "packets came, but no parameter sets of \(codec.encodingName)"
      + (wish.comesAgain ? ", which come with key pictures: wait longer\(request); " : ": ")
      + "if a session description has them, give it with --sdp" + other
  }

  /// That key pictures came without parameter sets, so that neither patience nor a request for
  /// another one helps.
  ///
  /// FFmpeg's `-c copy` of an MP4 sends them so: its sets are in the session description alone.
  private static func setsOutOfBand(
    of codec: VideoCodec, _ status: Receiver.Status, isDescribed: Bool
  ) -> String {
    let sets = "parameter sets of \(codec.encodingName)"
    let isDescribed = isDescribed || status.stream?.tracks.contains { $0.place != nil } ?? false
    return isDescribed
      ? "key pictures came, but no \(sets), and the session description has none: the sender must "
        + "repeat them in the stream (in FFmpeg -bsf:v dump_extra)"
      : "key pictures came, but no \(sets), without which none can be decoded: give the sender's "
        + "session description with --sdp, or let it repeat them (in FFmpeg -bsf:v dump_extra)"
  }

  /// That pictures have come for `time` without parameter sets; `nil` where it is too early to
  /// say so.
  static func setsAwaited(
    _ status: Receiver.Status, for time: Duration, isDescribed: Bool, canAskForKeyPictures: Bool
  ) -> String? {
    guard status.lacksParameterSets, let stream = status.stream,
      case .receiving(let codec, _) = stream.phase,
      stream.defragmentation?.malformedParameterSets ?? 0 == 0
    else { return nil }
    guard status.delivery.keyUnits == 0 else {
      return time >= patienceWithSets
        ? setsOutOfBand(of: codec, status, isDescribed: isDescribed) : nil
    }
    guard time >= patienceWithKeyPictures else { return nil }
    return
      "no key picture has come for \(time.seconds.formatted(digits: 0)) s, with which decoding "
      + "and recordings can begin" + (canAskForKeyPictures ? "; --feedback pli asks for one" : "")
  }

  /// How long pictures may come without parameter sets, of which some are key pictures.
  private static let patienceWithSets = Duration.seconds(3)
  /// The same where none is: by default, x264 and x265 leave 250 pictures between two.
  private static let patienceWithKeyPictures = Duration.seconds(11)

  /// Whether outputs have nothing, although key pictures came, for lack of parameter sets.
  static func hasUselessKeyPictures(_ report: Receiver.Report) -> Bool {
    report.outputs.contains { $0.inputs != .sound } && report.status.lacksParameterSets
      && report.status.delivery.keyUnits > 0
  }
}

extension Receiver.Status {
  /// Whether media came, and no parameter sets, without which no picture can be decoded or
  /// recorded.
  ///
  /// Of earlier connections the format is not known any more.
  var lacksParameterSets: Bool {
    guard let stream, case .receiving = stream.phase, stream.reception.delivered > 0 else {
      return false
    }
    return stream.format == nil && delivery.frames == 0 && connection.statistics.attempts == 0
  }
}
