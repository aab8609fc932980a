import Bitstream
import Decode
import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// The receiver's status in words: while it runs, and at the end.
enum Summary {
  /// `pcmu, 8000 Hz`, with the channels if there are several.
  static func words(for format: SoundFormat?) -> String {
    guard let format else { return "sound" }
    let channels = format.channels > 1 ? ", \(format.channels) channels" : ""
    return "\(format.codec.name), \(format.sampleRate) Hz\(channels)"
  }

  /// What became of the sound; empty if there was none.
  private static func words(for sound: TrackStatus?, _ delivery: DeliveryStatistics) -> String {
    guard let sound, delivery.soundUnits > 0 else { return "" }
    var text = "\(delivery.soundSeconds.formatted(digits: 1)) s of sound"
    text += " (\(words(for: sound.sound?.format)))"
    let statistics = sound.sound?.statistics ?? SoundStatistics()
    if statistics.lostPackets > 0 {
      text += ", \(statistics.lostPackets.counted("packet")) of it lost"
    }
    if statistics.malformedPayloads > 0 {
      text += ", \(statistics.malformedPayloads.counted("packet")) of it malformed"
    }
    return text
  }

  /// The result of a run, in one line; `outputs` are those that were asked for.
  static func line(of status: Receiver.Status, outputs: [OutputRequest]) -> String {
    let delivery = status.delivery
    let sound = words(for: status.stream?.sound, delivery)
    guard let stream = status.stream, stream.reception.received > 0 else {
      if !sound.isEmpty { return "received \(sound)" + course(of: status, outputs: outputs) }
      let isSoundWanted = !outputs.isEmpty && outputs.allSatisfy { $0.format.inputs == .sound }
      return "received \(status.transport.delivered.counted("packet")); no "
        + (isSoundWanted ? "sound" : "video") + " was recognized"
    }
    let reception = stream.reception
    if reception.delivered == 0, reception.ignoredPayloadType > 0 {
      return "received \(reception.received.counted("packet")), none of the video's payload type"
        + (sound.isEmpty ? "" : "; \(sound)") + course(of: status, outputs: outputs)
    }
    var text = "received \(reception.delivered.counted("packet"))"
    text += ", \(delivery.accessUnits.counted("access unit"))"
    if delivery.frames > 0 { text += ", \(delivery.frames.counted("frame"))" }
    if let format = stream.format {
      let sizes = delivery.pictures.sizes.count
      text += sizes > 1 ? " of \(sizes) sizes, at last \(format.summary)" : " of \(format.summary)"
    }
    let skipped = zip(status.outputs, outputs).lazy.filter { $1.format.inputs == .units }
      .map(\.0.counters.skipped)
    let before =
      delivery.failures[.noRandomAccessPoint] ?? max(delivery.beforeKeyPicture, skipped.max() ?? 0)
    if before > 0, status.lacksParameterSets, delivery.keyUnits > 0 {
      text += "; none of them with parameter sets"
    } else if before > 0 {
      // A new process of the decoder begins at one too.
      let which = delivery.decoderRestarts > 0 ? "a" : "the first"
      text += "; \(before.counted("access unit")) came before \(which) key picture"
    }
    text += "; " + losses(of: reception, status.transport)
    if reception.reordered > 0 { text += ", \(reception.reordered) reordered" }
    if reception.duplicate > 0 { text += ", \(reception.duplicate) duplicate" }
    text += pictures(of: delivery, reception, status.transport)
    if !sound.isEmpty { text += "; \(sound)" }
    return text + course(of: status, outputs: outputs)
  }

  /// What happened to the connection, and what was too slow; empty if nothing.
  private static func course(of status: Receiver.Status, outputs: [OutputRequest]) -> String {
    var text = ""
    let connection = status.connection.statistics
    if connection.recoveries > 0 {
      text +=
        "; reconnected \(connection.recoveries.times), "
        + "\(connection.withoutMedia.seconds.formatted(digits: 1)) s missed"
    }
    if status.delivery.decoderRestarts > 0 {
      text += "; the decoder's process was replaced \(status.delivery.decoderRestarts.times)"
    }
    let leftOut = status.delivery.droppedBeforeDecoder
    if leftOut > 0 {
      text += "; the decoder is too slow: \(leftOut.counted("access unit")) left out"
    }
    let undecoded = status.delivery.undecodedAtEnd
    if undecoded > 0 {
      text += "; \(undecoded.counted("access unit")) left undecoded at the end"
    }
    for (output, request) in zip(status.outputs, outputs) where output.counters.dropped > 0 {
      let name = output.name.shownPath
      let dropped = output.counters.dropped.counted(request.format.inputs.word)
      let left = output.counters.discarded
      text +=
        "; \(name) is too slow: \(dropped) dropped" + (left > 0 ? ", \(left) left at the end" : "")
    }
    return text
  }

  /// Whether no packet was lost, not even one that was repaired.
  private static func isComplete(
    _ reception: ReceptionStatistics, _ transport: TransportCounters
  ) -> Bool {
    reception.lost + reception.repaired == 0 && transport.lostLocally == 0
  }

  /// Where packets were lost, and how many of them were repaired.
  private static func losses(
    of reception: ReceptionStatistics, _ transport: TransportCounters
  ) -> String {
    guard !isComplete(reception, transport) else { return "nothing lost" }
    let lostLocally = transport.lostLocally
    let repaired = reception.repaired
    // Packets lost in this machine or never sent are missing in the sequence too.
    let missing = reception.lost + repaired
    if reception.lost == 0, lostLocally == 0 {
      return missing == 1 ? "1 lost and repaired" : "\(missing) lost, all \(repaired) repaired"
    }
    let leftOut = min(reception.leftOut, reception.lost)
    let network = missing - min(lostLocally + leftOut, missing)
    let sent = Double(reception.lost + reception.delivered)
    func share(_ count: UInt64) -> String {
      // What the kernel drops may be strangers', and more than was ever sent.
      count == 0 || sent == 0 || Double(count) > sent
        ? "\(count)" : "\(count) (\((100 * Double(count) / sent).formatted(digits: 1)) %)"
    }
    var text = "\(share(network)) lost in the network"
    if transport.isIncompleteRecording { text += " or not in the capture" }
    if lostLocally > 0 { text += ", \(share(lostLocally)) lost in this machine" }
    if leftOut > 0 { text += ", \(share(leftOut)) never sent" }
    if repaired > 0 { text += "; \(repaired) of them repaired" }
    return text
  }

  /// Which pictures are not intact, and why; empty if all are.
  static func pictures(
    of delivery: DeliveryStatistics, _ reception: ReceptionStatistics,
    _ transport: TransportCounters
  ) -> String {
    let concealed = delivery.conditions[.concealed] ?? 0
    let damaged = delivery.conditions[.damaged] ?? 0
    let withoutFrame: [(count: UInt64, word: String)] = [
      (delivery.failures[.notIntact] ?? 0, "skipped"),
      (delivery.failures[.decoder] ?? 0, "not decodable"),
      (delivery.failures[.decoderLost] ?? 0, "lost with the decoder's process"),
    ]
    let isComplete = isComplete(reception, transport)
    // Where no other picture is wrong or was left out, the sender left out what they refer to, or
    // this side joined the stream behind it.
    let lacksReferences =
      isComplete && delivery.droppedBeforeDecoder == 0 && concealed == 0
      && withoutFrame.allSatisfy { $0.count == 0 }
      && delivery.damages.keys.allSatisfy { $0 == .reference }
    let isInherited = damaged == delivery.damages[.reference] && !lacksReferences
    let shown: [(count: UInt64, word: String)] = [
      (concealed, "concealed"),
      (damaged, isInherited ? "damaged by errors in earlier pictures" : "damaged"),
      (delivery.conditions[.repeated] ?? 0, "repeated"),
    ]
    let parts = (shown + withoutFrame).filter { $0.count > 0 }.map { "\($0.count) \($0.word)" }
    var text = parts.isEmpty ? "" : "; pictures: " + parts.joined(separator: ", ")
    let causes = PictureDamage.allCases.compactMap { cause in
      delivery.damages[cause].flatMap { count in
        words(for: cause, isComplete: isComplete, lacksReferences: lacksReferences)
          .map { "\(count) \($0)" }
      }
    }
    if !causes.isEmpty { text += " (\(causes.joined(separator: ", ")))" }
    if delivery.freezes.count > 0 {
      text +=
        "; stood still \(delivery.freezes.count.times), "
        + "\(delivery.freezes.seconds.formatted(digits: 1)) s in all"
    }
    return text
  }

  /// What damaged a picture; `nil` for what the figures before it tell: losses, and other pictures
  /// that are not intact.
  private static func words(
    for cause: PictureDamage, isComplete: Bool, lacksReferences: Bool
  ) -> String? {
    switch cause {
    case .lostPackets:
      isComplete ? "where the stream began, began anew or went on behind a marker" : nil
    case .reference: lacksReferences ? "whose references did not come" : nil
    case .uselessPiece: "with fragments or lengths that make no sense"
    case .cutUnit: "with NAL units cut short"
    case .overLimit: "over the size limit"
    case .unfinished: "unfinished at the end of the stream"
    case .lostField: "without their second field"
    case .wrongBits: "with wrong bits"
    case .wrongHash: "that differ from the sender's hash"
    case .noKeyPicture: "begun without a key picture"
    }
  }
}

extension OutputFormat.Inputs {
  /// One of them.
  fileprivate var word: String {
    switch self {
    case .frames: "frame"
    case .units: "access unit"
    case .reports: "line"
    default: "unit"
    }
  }
}
