import Glibc
import RTPSend

/// Sources that are still being made: a file that is followed, standard input, a camera.
extension Session {
  func soundRecipe(_ source: String, _ live: LiveStream?) -> SoundRecipe? {
    let recipe = command.sound.recipe(source, command.media)
    return recipe == nil ? nil : live.map { .live($0) } ?? recipe
  }

  /// Whether the source is still being made.
  func isLive(_ source: String, _ destination: Destination) -> Bool {
    source == "-" || RTPSendCommand.isCamera(source)
      || (command.media.follows(to: destination) && source != "pattern")
  }

  /// What is still being made, if the source is.
  func liveStream(_ source: String, _ destination: Destination) throws -> LiveStream? {
    guard isLive(source, destination) else { return nil }
    let readership = destination.readership(ofPipe: source == "-")
    if source == "-" {
      var wanted: Set<LiveStream.Track> = command.sound.noVideo ? [] : [.video]
      if command.sound.audio != nil { wanted.insert(.sound) }
      return try LiveStream.reading(
        STDIN_FILENO, name: "standard input", for: readership,
        isLive: command.pace.fast || readership == .many, wanted: wanted,
        framesPerSecond: command.media.fps)
    }
    if RTPSendCommand.isCamera(source) {
      return try LiveStream.camera(cameraConfiguration(source), for: readership)
    }
    var configuration = FollowConfiguration(path: source)
    configuration.framesPerSecond = command.media.fps
    configuration.parameterSets = command.media.parameterSets
    return try LiveStream.following(configuration, for: readership) { event in
      switch event {
      case .waiting(let name): say("waiting for \(name)")
      case .began(let name): say("following \(name)")
      case .leftOut(let bytes, let name):
        say("\(name) broke off: its last \(bytes) bytes are no whole picture")
      case .refused(let name, let reason): say("\(name) is left out: \(reason)")
      case .withoutParameterSets(let name):
        say(
          "\(name) does not have its parameter sets before it is closed; waiting for the next "
            + "file, or see --parameter-sets")
      case .pauses(let name):
        say("\(name): its writer pauses within pictures, so each is sent when the next one begins")
      case .restarted(let name): say("\(name) begins again")
      }
    }
  }

  /// Waits until it is known what comes; false when it was stopped first.
  func isBegun(_ live: LiveStream) async throws -> Bool {
    do {
      _ = try await live.contents()
      return true
    } catch {
      if live.isStopped { return false }
      throw error
    }
  }

  private func cameraConfiguration(_ source: String) -> CameraConfiguration {
    let made = command.pattern.configuration(command.media)
    var configuration = CameraConfiguration(path: source)
    configuration.codec = made.codec
    configuration.width = command.pattern.size?.width
    configuration.height = command.pattern.size?.height
    configuration.framesPerSecond = command.media.fps.map { max(1, Int($0.rounded())) }
    configuration.bitRate = made.bitRate
    configuration.groupLength = made.groupLength
    configuration.bidirectionalPictures = made.bidirectionalPictures
    return configuration
  }
}

extension Destination {
  /// Who reads what is still being made: a single receiver, or clients that come and go.
  ///
  /// Where there is one at a time, a pipe waits for the first of them.
  fileprivate func readership(ofPipe isPipe: Bool) -> LiveStream.Readership {
    switch self {
    case .send: .one
    case .listen: isPipe ? .one : .many
    case .serveHTTP, .serveRTSP: .many
    }
  }
}
