import Bitstream
import Decode
import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// Why nothing usable came, by the counters.
extension Verdict {
  /// Why a run wrote nothing; `nil` if it wrote something.
  ///
  /// A run without outputs needs pictures only if it records nothing, and is told only that none
  /// can be made of what came.
  static func whyNothing(_ report: Receiver.Report, _ wish: Wish) -> String? {
    let status = report.status
    guard !status.outputs.isEmpty else {
      guard !wish.onlyRecords, let stream = status.stream else { return nil }
      return withoutParameterSets(stream, status, wish)
    }
    // A line about a picture that did not come is none.
    let hasNothing = zip(report.outputs, status.outputs).allSatisfy {
      $1.counters.written == 0 || $0.inputs == .reports && status.delivery.frames == 0
    }
    guard hasNothing else {
      return ignoredPictures(report).map { "no pictures came: \($0)" }
    }
    guard let stream = status.stream, case .receiving(let codec, _) = stream.phase,
      stream.reception.delivered > 0
    else { return hint(report, wish) }
    let inputs = report.outputs.map(\.inputs)
    if inputs.allSatisfy({ $0 == .sound }) { return lackOfSound(report, wish) }
    guard stream.format != nil else { return lackOfParameterSets(of: codec, status, wish) }
    // Of a source that has ended, no more can be asked.
    let request = wish.canAskForKeyPictures ? ", or ask for one with --feedback pli" : ""
    let remedy = wish.comesAgain ? "; wait longer" + request : ""
    guard inputs.contains(where: \.needDecoding) else {
      return "no intact key picture came, with which a recording can begin" + remedy
    }
    let units = status.delivery.accessUnits
    let failures = status.delivery.failures
    if failures[.notIntact] != nil {
      return
        "none of \(units.counted("picture")) was intact; --on-loss conceal shows them all the same"
    }
    if units == 0 || failures[.noRandomAccessPoint] != nil {
      return "no key picture came, with which decoding can begin" + remedy
    }
    return "none of \(units.counted("access unit")) could be decoded"
  }

  /// What came instead of the pictures that an output beside sound was to have; `nil` if it has
  /// some.
  private static func ignoredPictures(_ report: Receiver.Report) -> String? {
    guard let reception = report.status.stream?.reception, reception.delivered == 0,
      report.outputs.contains(where: { $0.inputs != .sound })
    else { return nil }
    return ignoredType(reception)
  }

  /// The payload type that most of the packets had which are not the stream's; `nil` without any.
  private static func ignoredType(_ reception: ReceptionStatistics) -> String? {
    guard let type = reception.ignoredPayloadTypes.max(by: { $0.value < $1.value })?.key else {
      return nil
    }
    return "packets of payload type \(words(forType: type)) came"
      // A type with a fixed meaning is nothing that is decoded here.
      + (StaticPayloadType(type) == nil ? "; try --payload-type \(type)" : "")
  }

  /// That an output of sound has nothing, although others may; `nil` if none has nothing.
  static func lackOfSound(_ report: Receiver.Report, _ wish: Wish) -> String? {
    let empty = report.outputs.enumerated().first { index, output in
      output.inputs == .sound && report.status.outputs[index].counters.written == 0
    }
    guard let name = empty?.element.name else { return nil }
    return "\(name.shownPath): " + noSound(report.status, wish)
  }

  /// That an output of pictures has nothing because only sound came; `nil` if none has nothing.
  static func lackOfPictures(_ report: Receiver.Report) -> String? {
    let delivery = report.status.delivery
    guard delivery.accessUnits == 0, delivery.soundUnits > 0 else { return nil }
    let empty = report.outputs.enumerated().first { index, output in
      !output.inputs.contains(.sound) && report.status.outputs[index].counters.written == 0
    }
    guard let name = empty?.element.name else { return nil }
    return "\(name.shownPath): no picture came, only sound"
  }

  /// That there is sound, but the user chose to be without.
  static let soundUnchosen = "the sound is left out, because --stream chooses one stream"

  /// Why no sound came.
  private static func noSound(_ status: Receiver.Status, _ wish: Wish) -> String {
    let tracks = status.stream?.tracks ?? []
    let sounds = tracks.filter { $0.kind == .audio }
    if let came = sounds.first(where: { $0.reception.delivered > 0 && $0.sound == nil }) {
      return "the sound that came is of no coding that is known here"
        + (came.codecName.map { " (\($0))" } ?? "")
    }
    if let described = sounds.first(where: { $0.place != nil }) {
      return "no sound came, although the source describes some"
        + (described.codecName.map { " (\($0))" } ?? "")
    }
    guard !status.transport.leavesSoundOut else { return soundUnchosen }
    guard !tracks.contains(where: { $0.place != nil }) else {
      return "no sound came; the source describes none"
    }
    return "no sound came that is known here"
      + (wish.isDescribed ? "" : "; if a session description has it, give that with --sdp")
  }

  /// What to try where `error` says that a source has nothing of what is wanted.
  static func advice(on error: any Error, _ report: Receiver.Report) -> String {
    guard let error = error as? MissingMedium else { return "" }
    guard error.kind == .video else { return "; --list shows all streams" }
    let isSound = error.media.contains { $0.kind == .audio }
    guard !isSound || !takesSound(report) else {
      return ", whose coding is not known here, or is described wrongly; --list shows all streams"
    }
    return "; --list shows all streams" + (isSound ? ", and -o NAME.wav takes sound" : "")
  }

  /// Whether any output takes sound.
  static func takesSound(_ report: Receiver.Report) -> Bool {
    report.outputs.contains { $0.inputs.contains(.sound) }
  }

  /// Whether the far end, or the session description, says what there is, and has no sound.
  static func describesNoSound(_ status: Receiver.Status) -> Bool {
    let tracks = status.stream?.tracks ?? []
    return tracks.contains { $0.place != nil } && !tracks.contains { $0.kind == .audio }
      && !status.transport.leavesSoundOut
  }

  /// That sound comes, or what may be sound, which recordings are without; `nil` where all of it is
  /// recorded, or none comes.
  static func soundLeftOut(_ status: Receiver.Status) -> String? {
    let tracks = status.stream?.tracks ?? []
    guard !tracks.contains(where: { $0.sound != nil }) else { return nil }
    if let sound = tracks.first(where: { $0.kind == .audio && $0.reception.delivered > 0 }) {
      let coding = sound.codecName.map { "\($0), which" } ?? "of a coding that"
      return "the sound is \(coding) is not known here; recordings are without it"
    }
    // A few packets may be strays.
    guard tracks.allSatisfy({ $0.place == nil }),
      let type = tracks.first(where: { $0.kind == .unknown && $0.reception.delivered >= 20 })?
        .payloadType
    else { return nil }
    return "packets of payload type \(type) come too, and recordings are without them; if they are "
      + "sound, give their session description with --sdp"
  }

  /// What to do if the media is of another codec than `codec`, which the user has chosen or not.
  static func remedy(ifNot codec: VideoCodec, isChosen: Bool) -> String {
    guard !isChosen else { return "if this is another codec, leave --codec out" }
    let others = CommandLineTool.current.formats.codecs.filter { $0 != codec }
    guard !others.isEmpty else { return "if it is of another codec, nothing here decodes it" }
    let options = others.map { "--codec \($0.name)" }.joined(separator: " or ")
    return "if the session description names the wrong codec, \(options) overrules it"
  }

  /// What came that cannot be used, whatever else there is to say; `nil` if there is no such thing.
  static func unusable(_ status: Receiver.Status, _ wish: Wish) -> String? {
    if let words = wish.hints.first(.notRTP, status)
      ?? otherCodec(status, isChosen: wish.isCodecChosen)
    {
      return words
    }
    return wish.onlyRecords
      ? nil : scrambled(status, wish.hints, isCodecChosen: wish.isCodecChosen)
  }

  /// This many packets are a stream that could be recognized, and no stray.
  private static let fewestOfStream: UInt64 = 10

  /// That all that came looks like no known codec; `nil` where too little came to tell, where media
  /// of any kind was received, or where there is more to say of a connection or a payload type.
  static func unknownCodec(_ report: Receiver.Report, _ wish: Wish) -> String? {
    let status = report.status
    guard let stream = status.stream, case .recognizing = stream.phase, stream.lastMedia == nil,
      status.transport.delivered >= fewestOfStream, lastFailure(status, wish) == nil,
      !stream.unrecognizedPayloadTypes.isEmpty, stream.unrecognizedTypesAreRuledOut,
      wrongType(stream.unrecognizedPayloadTypes, wish) == nil
    else { return nil }
    return unrecognized(stream.unrecognizedPayloadTypes, report, wish)
  }

  /// That the media is of another codec than the user or the description says; `nil` if it may be
  /// of that one.
  static func otherCodec(_ status: Receiver.Status, isChosen: Bool) -> String? {
    guard let stream = status.stream, let other = stream.otherCodec,
      case .receiving(let codec, _) = stream.phase, status.delivery.frames == 0
    else { return nil }
    let comes = "what comes is \(other.encodingName), and not \(codec.encodingName) as "
    return comes
      + (isChosen
        ? "--codec says; leave --codec out"
        : "the session description says; --codec \(other.name) overrules it")
  }

  /// Why the last connection could not be opened or broke, where another one was tried; `nil` where
  /// that one is open.
  static func lastFailure(_ status: Receiver.Status, _ wish: Wish) -> String? {
    guard !status.connection.isOpen else { return nil }
    return switch status.connection.failure {
    case .cannotOpen(let error)?, .transportFailed(let error)?, .unsupportedMedia(let error)?:
      "the last connection: " + words(for: error, advice: wish.loginAdvice)
    default: nil
    }
  }

  /// Why nothing that came is to be trusted; `nil` if it is, or if the user stopped the run.
  static func distrust(_ report: Receiver.Report, _ wish: Wish) -> String? {
    if case .stopped = report.reason { return nil }
    return wish.hints.first(.distrust, report.status)
  }

  /// What is wrong with a stream whose payloads make no sense; `nil` where they do, or where most
  /// pictures are intact: Dolby Vision adds a unit of an unspecified type to each.
  static func scrambled(
    _ status: Receiver.Status, _ hints: SourceHints, isCodecChosen: Bool
  ) -> String? {
    let delivery = status.delivery
    guard let stream = status.stream, case .receiving(let codec, _) = stream.phase,
      stream.defragmentation?.looksScrambled == true,
      delivery.conditions[.intact, default: 0] <= delivery.frames / 2
    else { return nil }
    return "most packets that come make no sense as \(codec.encodingName): "
      + (hints.first(.nonsense, status).map { "\($0); " } ?? "")
      + remedy(ifNot: codec, isChosen: isCodecChosen)
  }

  /// What to try with packets that look like no known codec.
  static func remedy(ifOfKnownCodec status: Receiver.Status, _ wish: Wish) -> String {
    "say --codec and --payload-type if they are"
      + (wish.hints.first(.nonsense, status).map { ", or \($0)" } ?? "")
  }

  /// The number of a payload type, and its meaning if that is fixed.
  static func words(forType type: UInt8) -> String {
    guard let fixed = StaticPayloadType(type) else { return "\(type)" }
    return "\(type) (\(fixed.name) \(fixed.kind == .audio ? "sound" : fixed.kind.rawValue))"
  }

  /// What is wrong where `types` came, but not the one that the user named; `nil` if it did.
  static func wrongType(_ types: [UInt8], _ wish: Wish) -> String? {
    guard let named = wish.payloadType, !types.isEmpty, !types.contains(named) else { return nil }
    let list = types.map(words(forType:)).joined(separator: ", ")
    return "what comes is of payload type \(list), and not \(named) as --payload-type says; "
      + "leave --payload-type out"
  }

  /// What is wrong where `types` came, but not the one that a session description names; `nil` if
  /// it did or lists one of them beside it, or if there is no description.
  static func undescribedType(
    _ types: [UInt8], _ status: Receiver.Status, _ wish: Wish
  ) -> String? {
    guard wish.payloadType == nil, let stream = status.stream, stream.reception.delivered == 0,
      case .receiving(let codec, let named?) = stream.phase, !types.isEmpty,
      !types.contains(named),
      stream.tracks.allSatisfy({ $0.otherPayloadTypes.allSatisfy { !types.contains($0) } }),
      wish.isDescribed || stream.tracks.contains(where: { $0.place != nil })
    else { return nil }
    let list = types.map(words(forType:)).joined(separator: ", ")
    // A type with a fixed meaning is no other name for the codec.
    let remedy = types.first { StaticPayloadType($0) == nil }
    return "packets have payload type \(list), the session description names \(named) for "
      + codec.encodingName
      + (remedy.map { "; --payload-type \($0) overrules it" } ?? "")
  }

  /// What is wrong where sound came, but in none of the formats that are described; `nil` if it
  /// did, or if there is none.
  private static func otherSound(_ status: Receiver.Status) -> String? {
    guard let statistics = status.stream?.sound?.sound?.statistics, statistics.otherTypes > 0,
      statistics.otherTypes == statistics.packets
    else { return nil }
    return "\(statistics.otherTypes.counted("packet")) came, none of a payload type that is "
      + "described for sound and whose coding is known"
  }

  /// The codecs that are known: `H264, H265`.
  static var codecs: String {
    CommandLineTool.current.formats.codecs.map(\.encodingName).joined(separator: ", ")
  }

  /// Why nothing came, by the counters.
  static func hint(_ report: Receiver.Report, _ wish: Wish) -> String {
    let status = report.status
    if let words = wish.hints.first(.refusal, status) { return words }
    if let ignored = status.stream?.reception.ignoredPayloadTypes,
      let words = undescribedType(ignored.keys.sorted(), status, wish)
    {
      return words
    }
    if let words = status.stream.flatMap({ ignoredType($0.reception) }) { return words }
    if let words = wish.hints.first(.notRTP, status) ?? wish.hints.first(.otherTraffic, status) {
      return words
    }
    if let malformed = status.stream?.reception.malformed, malformed > 0 {
      return "\(malformed.counted("datagram")) came that are not RTP"
    }
    if let reception = status.stream?.reception, reception.delivered == 0,
      reception.unconfirmed > 0
    {
      return TransportHint.unproven(reception.unconfirmed)
    }
    if let words = otherSound(status) { return words }
    let delivered = status.transport.delivered
    if status.stream?.hasReportsAlone == true { return TransportHint.reportsAlone }
    if case .recognizing? = status.stream?.phase, delivered > 0 {
      let types = status.stream?.unrecognizedPayloadTypes ?? []
      if delivered == 1 || types.isEmpty { return TransportHint.unproven(delivered) }
      if let words = wrongType(types, wish) { return words }
      guard delivered >= fewestOfStream else {
        return "\(delivered.counted("packet")) came, too few to tell what they carry"
      }
      return
        "\(delivered.counted("packet")) came that look like none of \(codecs); "
        + remedy(ifOfKnownCodec: status, wish)
    }
    if let words = wish.hints.first(.silence, status) { return words }
    // Whoever stops a run may not have waited, and a recording needs no network.
    if case .stopped = report.reason { return "nothing came" }
    return "nothing came"
      + (wish.isLive ? ": check the sender's address and port, and the firewall" : "")
  }
}
