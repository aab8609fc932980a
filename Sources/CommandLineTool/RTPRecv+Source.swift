import ArgumentParser
import Bitstream
import Defragment
import Outputs
import RTPWire
import Receiver
import Reception
import Transports

/// What the options say of the source, and which of them it has no use for.
extension RTPRecv {
  /// What the options say that the transports declare.
  func declaredOptions() throws -> TransportOptions {
    var options = TransportOptions()
    // The parser finds the groups in the same way, so none is forgotten.
    for property in Mirror(reflecting: self).children {
      try (property.value as? any DeclaredGroup)?.apply(to: &options)
    }
    return options
  }

  /// The transport options, with the credentials for `source`, which `described` describes.
  ///
  /// - Throws: why the options cannot be used.
  func transportOptions(
    for source: SourceArgument, described: SessionDescription?, isShown: Bool = false
  ) throws -> TransportOptions {
    var options = try declaredOptions()
    // With --reconnect, --timeout covers all connections together.
    if !stopping.reconnect, let silence = stopping.silence { options.silence = silence }
    options.credentials = try login.credentials(for: source)
    options.media.payloadType = media.payloadType
    options.media.knownEncodings = media.knownEncodings
    options.media.description = described
    let wantsSound = try wantsSound(isShown: isShown)
    options.media.auxiliaryTypes = Set(
      try mediaDescription(completedBy: described, wantsSound: wantsSound).auxiliaryTypes)
    if case .matrix = media.fec { options.repair.takesCorrection = true }
    options.repair.retransmissionPort = feedback.retransmissionPort
    // What the user says takes precedence over the description.
    if media.codec == .automatic {
      options.media.encodings = Set(
        CommandLineTool.current.formats.codecs.map { $0.encodingName.uppercased() })
    }
    if wantsSound {
      options.media.soundEncodings = Set(
        CommandLineTool.current.formats.soundFormats.flatMap { $0.encodingNames })
    }
    try options.srtp.readKeys()
    if options.srtp.keys.isEmpty {
      options.srtp.keys = try media.keys(in: described, options.srtp, wantsSound: wantsSound)
    }
    // Sound that is not set up does not come.
    if try expectation.rules().contains(where: \.metric.isAboutSound) {
      options.media.wantsEverything = true
    }
    return options
  }

  /// Whether sound by itself is of use, as it is not to outputs of pictures alone.
  func wantsSound(isShown: Bool) throws -> Bool {
    let requests = try outputs.requests()
    return isShown || requests.isEmpty
      || requests.contains { $0.format.inputs.contains(.sound) }
  }

  /// Warns where the sound in `described`, which --sdp names, comes to another port than that on
  /// which `source` listens.
  func warn(ofSoundIn described: SessionDescription?, beside source: SourceArgument) throws {
    guard !display.quiet, let file = media.sessionDescription, let described,
      let port = media.portOfSound(in: described),
      let own = try CommandLineTool.current.transports.listeningPort(
        of: source.bare, transport: transport, options: declaredOptions()), own != port,
      try outputs.requests().contains(where: { $0.format.inputs.contains(.sound) })
    else { return }
    StandardError.say(
      .warning(
        "the sound of \(file) comes to port \(port), where nothing listens; give \(file) as the "
          + "source, in place of \(source.shown)"))
  }

  /// The media as the options describe it, with gaps filled from `session`.
  func mediaDescription(
    completedBy session: SessionDescription?, wantsSound: Bool
  ) throws -> MediaDescription {
    try feedback.completed(media.description(completedBy: session, wantsSound: wantsSound))
  }

  /// Whether `--feedback` would ask for key pictures of `media`, and nothing does yet.
  func canAskForKeyPictures(of media: MediaDescription, _ options: TransportOptions) throws -> Bool
  {
    let own = try CommandLineTool.current.transports.scope(
      of: sourceArgument.bare, transport: transport, options: options)
    return media.feedback.requests.isDisjoint(with: [.pli, .fir])
      && own?.names.contains("--feedback") ?? true
  }

  /// Which of `options` have no effect on the source.
  func useless(among options: Set<String>) throws -> Set<String> {
    let own = try CommandLineTool.current.transports.scope(
      of: sourceArgument.bare, transport: transport, options: declaredOptions())
    return options.filter { option in own.map { !others(than: $0, with: option).isEmpty } ?? false }
  }

  /// What has `option`, where `own` has not.
  private func others(than own: OptionScope, with option: String) -> [String] {
    guard !own.names.contains(option) else { return [] }
    return CommandLineTool.current.transports.scopes.filter { $0.names.contains(option) }
      .map(\.words)
  }

  /// Throws if an option was typed that has no effect on `source`.
  func checkScopes(for source: SourceArgument, _ options: TransportOptions) throws {
    let transports = CommandLineTool.current.transports
    let isDescribed = try transports.describesMedia(
      of: source.bare, transport: transport, options: options)
    guard
      options.srtp.rollover == nil || options.srtp.hasKeys || isDescribed
        || media.sessionDescription != nil
    else {
      throw UselessOption(
        "--srtp-roc", "has no effect without a key; give it with --srtp-key-file"
      ).noted()
    }
    let own = try transports.scope(of: source.bare, transport: transport, options: options)
    guard let own else { return }
    for option in CommandLineSecrets.taken.typedOptions {
      let others = others(than: own, with: option)
      guard !others.isEmpty else { continue }
      let list: [String] = others.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
      throw UselessOption(
        option, "has no effect with \(own.words); it is for \(list.joined(separator: ", "))"
      ).noted()
    }
  }
}
