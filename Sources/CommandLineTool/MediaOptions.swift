import ArgumentParser
import Bitstream
import Defragment
import OptionNames
import RTPWire
import Receiver
import Transports

struct MediaOptions: ParsableArguments {
  @Option(
    name: .customLong("sdp"),
    help: ArgumentHelp("A session description of SOURCE.", valueName: "file"), completion: .file(),
    transform: CommandLineSecrets.path)
  var sessionDescription: String?

  @Option(
    help: ArgumentHelp(
      "\(CommandLineTool.current.formats.names), or auto to recognize it by the packets.",
      valueName: "name"),
    completion: .list(
      CommandLineTool.current.formats.codecs.map(\.name) + [CodecChoice.automaticName]))
  var codec = CodecChoice.automatic

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The RTP payload type, 0 to 127; by default any.", valueName: "n"))
  var payloadType: UInt8?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("RTP clock ticks a second; by default 90000.", valueName: "n"))
  var clockRate: UInt32?

  @Option(
    help: ArgumentHelp(
      """
      Rebuild lost packets from correction packets of payload type PT: ulpfec (RFC 5109, numbered \
      with the media), flexfec (RFC 8627) or flexfec-03; add red:PT if packets come in RED (RFC \
      2198). Not needed with SDP. Or st2022-1 (SMPTE ST 2022-1), which comes to the ports two and four \
      above that of the media.
      """, valueName: "format:pt[,red:pt]|st2022-1"),
    transform: CorrectionArgument.reading(
      or: "it is ulpfec:PT, flexfec:PT or flexfec-03:PT, perhaps with ,red:PT of another type, or "
        + "st2022-1; PT is 0 to 127"))
  var fec: CorrectionArgument?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "How long to wait for a missing packet, in ms or with its unit; 0 does not wait.",
      valueName: "time"),
    transform: Milliseconds.read)
  var reorderWindow = 200

  func validate() throws {
    if case .named(let name) = codec, codec.known == nil {
      throw ValidationError(
        "no codec named '\(name)'; there are auto, \(CommandLineTool.current.formats.names)")
    }
    guard (payloadType ?? 0) < 128 else { throw ValidationError("--payload-type must be 0 to 127") }
    guard clockRate != 0 else { throw ValidationError("--clock-rate must be at least 1") }
    if let payloadType, let fec, fec.payloadTypes.contains(payloadType) {
      throw ValidationError("--fec needs payload types that are not that of the media")
    }
    guard (0...5000).contains(reorderWindow) else {
      throw ValidationError("the reorder window is 0 to 5000 ms")
    }
  }

  /// What a medium is taken for that may come in several formats.
  var knownEncodings: Set<String> {
    let formats = CommandLineTool.current.formats
    guard let own = codec.known else { return formats.encodingNames }
    let ofOwn = formats.formats.filter { $0.codec == own }
    return FormatCatalogue(ofOwn, sound: formats.soundFormats).encodingNames
  }

  /// Reads the SDP file, if one is given; that may be a pipe, which can be read only once.
  func session() throws(TransportError) -> SessionDescription? {
    guard let sessionDescription else { return nil }
    var choice = MediaChoice()
    (choice.payloadType, choice.knownEncodings) = (payloadType, knownEncodings)
    do {
      return try SessionDescription(contentsOf: sessionDescription).choosing(by: choice)
    } catch {
      guard case .sessionDescription(let fault) = error else { throw error }
      // The source is another file, and may be right.
      throw .fileUnreadable(path: sessionDescription, reason: "\(fault)")
    }
  }

  /// The media as described by the options, with gaps filled from `session`, the SDP file's.
  ///
  /// With `wantsSound`, it may be sound by itself.
  func description(
    completedBy session: SessionDescription?, wantsSound: Bool
  ) throws -> MediaDescription {
    var own = MediaDescription(
      payloadType: payloadType, encodingName: codec.known?.encodingName, clockRate: clockRate)
    fec?.describe(in: &own)
    guard let sessionDescription, let session else { return own }
    guard let media = received(of: session, wantsSound: wantsSound) else {
      throw ValidationError("\(sessionDescription) describes no video and no sound")
    }
    return own.completed(by: media.description)
  }
}

extension MediaOptions {
  /// The keys in `session`, the SDP file's, for the received stream, if any.
  func keys(
    in session: SessionDescription?, _ options: SRTPOptions, wantsSound: Bool
  ) throws -> [SRTPKeyMaterial] {
    guard let sessionDescription, let session else { return [] }
    guard let media = received(of: session, wantsSound: wantsSound), !media.cryptos.isEmpty else {
      return []
    }
    let exposure = session.isExposed ? "others can read \(sessionDescription)" : nil
    guard case .fixed(let keys) = try media.protection(options, exposure: exposure).keys else {
      return []
    }
    return keys
  }
}

extension MediaOptions {
  /// The section of what is received: the first video whose codec is known, or named by the user,
  /// or to be recognized; or else the sound by itself; or else any video, so that it can be named.
  private func received(
    of session: SessionDescription, wantsSound: Bool
  ) -> SessionDescription.Media? {
    let formats = CommandLineTool.current.formats
    let videos = session.media.filter { $0.kind == .video && !$0.isRetransmission }
    let known = videos.first { video in
      video.description.encodingName.flatMap(formats.codec(encodingName:)) != nil
    }
    let video =
      known ?? videos.first { $0.description.encodingName == nil }
      ?? (codec.known == nil ? nil : videos.first)
    let sound = session.sound
    let isKnown = sound.map { formats.knowsSound($0.description) } ?? false
    return video ?? (wantsSound && isKnown ? sound : nil) ?? videos.first ?? sound
  }

  /// The sound in `session` where video is received.
  func soundBesideVideo(in session: SessionDescription, wantsSound: Bool) -> MediaDescription? {
    received(of: session, wantsSound: wantsSound)?.kind == .video
      ? session.sound?.description : nil
  }

  /// The port of the sound in `session`, where it is another than that of the received video.
  func portOfSound(in session: SessionDescription) -> Int? {
    guard let media = received(of: session, wantsSound: true), media.kind == .video,
      let port = session.sound?.port, port > 0, port != media.port
    else { return nil }
    return port
  }
}

extension SessionDescription {
  /// The first section of known sound, or else of any, which comes from the sender.
  fileprivate var sound: Media? {
    let sections = media.filter { $0.kind == .audio && !$0.isBackChannel }
    return sections.first { CommandLineTool.current.formats.knowsSound($0.description) }
      ?? sections.first
  }
}
