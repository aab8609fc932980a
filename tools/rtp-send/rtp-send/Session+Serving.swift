import Impairment
import RTPSend
import Transports

/// What an RTSP server has, as the options say it.
extension Session {
  /// The server of all sources.
  func server(
    seed: UInt64, _ lives: [LiveStream?], _ key: SRTPKeyMaterial?,
    _ onVerdicts: (@Sendable ([Verdict]) -> Void)?
  ) throws -> RTSPServerConfiguration {
    let options = command.serving
    var streams: [ServedStream] = []
    var address = (host: "", port: 0)
    let pairs = try command.pairs
    for (index, pair) in pairs.enumerated() {
      guard case .serveRTSP(let host, let port, let name, let isSecure) = pair.destination else {
        continue
      }
      address = (host, port)
      let (source, destination, live) = (pair.source, pair.destination, lives[index])
      let own = seed &+ UInt64(index)
      // One of several files may have none, if its pictures are sent.
      let needsSound = pairs.count == 1 || live != nil || command.sound.noVideo
      let content: @Sendable () throws -> ServedStream.Content = {
        let (sending, description) = try stream(
          source, to: destination, seed: own, live, key, needsSound: needsSound)
        var made = ServedStream.Content(sending, description)
        made.sending.onVerdicts = onVerdicts
        return made
      }
      var served =
        if let live {
          ServedStream(
            name: name, trackCount: trackCount(of: source, live), awaiting: live, content)
        } else {
          ServedStream(name: name, try content())
        }
      // A file without an end is the same for all, like the pattern and what is still being made.
      if source != "pattern", live == nil, command.media.repetitions.count != nil {
        served.survey = try FileSurvey(ofFile: source, framesPerSecond: command.media.fps)
      }
      served.keepsNumbers = command.packets.setsNumbers
      served.crypto = isSecure ? try command.protection.cryptoAttribute() : nil
      streams.append(served)
    }
    try checkSound(of: streams, pairs.map(\.source))
    var configuration = RTSPServerConfiguration(
      streams: streams, host: address.host, port: address.port)
    if let certificate = options.certificate, let key = options.key {
      configuration.identity = RTSPServerConfiguration.Identity(
        certificates: certificate, key: key)
    }
    if let path = options.accounts {
      configuration.login = RTSPLogin(
        accounts: try AccountFile(path).accounts, methods: options.auth?.methods ?? [.digest])
    }
    configuration.seed = ImpairmentOptions.networkSeed(of: seed)
    configuration.group = options.multicast?.group
    configuration.servesOnce = command.listening.once
    configuration.quirks = try command.impairments.plan(over: Impairments()).quirksEver
    return configuration
  }

  /// Says which sources lack the sound that was asked for.
  ///
  /// - Throws: ``SendError/noSound(path:)`` when all of them do.
  private func checkSound(of streams: [ServedStream], _ sources: [String]) throws {
    guard command.sound.audio != nil else { return }
    let silent = zip(streams, sources).filter { $0.0.isSilent }.map(\.1)
    guard silent.count < streams.count else {
      throw SendError.noSound(path: silent.joined(separator: " and in "))
    }
    for source in silent {
      say("\(SendError.noSound(path: source)); its pictures are sent alone")
    }
  }

  /// How many tracks there will be of what is still being made.
  private func trackCount(of source: String, _ live: LiveStream) -> Int {
    (command.sound.noVideo ? 0 : 1) + (soundRecipe(source, live) == nil ? 0 : 1)
  }
}

extension ServedStream {
  /// Whether it is known to have no sound.
  fileprivate var isSilent: Bool { content.map { $0.description.sound == nil } ?? false }
}
