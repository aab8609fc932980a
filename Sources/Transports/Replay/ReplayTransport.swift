public import NIOCore
internal import NIOPosix
public import RTPWire

/// RTP from a recording: pcap, pcapng, rtpdump, or length-prefixed packets.
///
/// Arrival times are those of the recording. ``open(delivering:)`` returns when the flow to play
/// has been chosen.
public final class ReplayTransport: RTPTransport {
  public let eventLoop: any EventLoop
  private let path: String
  private let configuration: ReplayConfiguration
  private let state: NIOLoopBoundBox<State>

  private enum State {
    case idle
    case opening
    case playing(ReplayPlayer)
    case closed
  }

  /// Opens nothing yet.
  public init(
    path: String, configuration: ReplayConfiguration = ReplayConfiguration(),
    on eventLoop: any EventLoop
  ) {
    self.path = path
    self.configuration = configuration
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(.idle, eventLoop: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .recorded }

  public var isPassive: Bool { false }

  /// A pause in the recording is not a fault of the transport.
  public var longestSilence: Duration? { nil }

  public var takesReports: Bool { false }

  /// - Throws: ``ReplayError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.submit { [state] in
      switch state.value {
      case .idle: state.value = .opening
      case .opening, .playing: throw TransportError.alreadyOpened
      case .closed: throw TransportError.closed
      }
    }.get()
    do {
      let (reader, media) = try await NIOThreadPool.singleton.runIfActive {
        [path, configuration] in
        let reader = try ReplayReader(path: path, configuration: configuration)
        return (reader, try reader.survey())
      }
      try await eventLoop.submit { [state, eventLoop, configuration] in
        guard case .opening = state.value else { throw TransportError.closed }
        let player = ReplayPlayer(
          reader, speed: configuration.speed, on: eventLoop, delivering: sink)
        state.value = .playing(player)
        if !media.isEmpty { sink.describe(media) }
        player.start()
      }.get()
    } catch {
      close()
      throw error
    }
  }

  /// There is nobody to send to.
  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {}

  public func holdReading(_ isHeld: Bool) {
    onLoop { state in
      if case .playing(let player) = state.value { player.holdReading(isHeld) }
    }
  }

  public func counters() async -> TransportCounters {
    let counters = try? await eventLoop.submit { [state] in
      if case .playing(let player) = state.value { player.counters } else { TransportCounters() }
    }.get()
    return counters ?? TransportCounters()
  }

  public func close() {
    onLoop { state in
      switch state.value {
      case .idle, .opening: state.value = .closed
      case .playing(let player): player.finish(.closed)
      case .closed: break
      }
    }
  }

  private func onLoop(_ body: @escaping @Sendable (NIOLoopBoundBox<State>) -> Void) {
    if eventLoop.inEventLoop { return body(state) }
    eventLoop.execute { [state] in body(state) }
  }
}

extension TransportKind {
  /// Recordings in files.
  public static let replay: TransportKind = {
    var kind = TransportKind(
      name: "replay", schemes: [],
      make: { source, options, eventLoop in
        ReplayTransport(path: source, configuration: options.recordings, on: eventLoop)
      },
      describe: { source, options, _ in try await listing(ofRecording: source, options) })
    kind.endings = [".pcap", ".pcapng", ".cap", ".rtpdump", ".rtp4"].flatMap { [$0, $0 + ".gz"] }
    // A framed file may have any name.
    kind.recognizes = { file, options in
      options.framed.framing != nil && file.kind != .pipe
        || file.kind == .regular && file.isRecording
    }
    kind.takesAnyFile = true
    kind.usage = [
      SourceForm(
        "FILE.pcapng",
        "replay a recording (.pcap, .pcapng, .rtpdump, or\n.rtp4: packets after 4-byte lengths)")
    ]
    kind.hasRepairPorts = true
    kind.options = DeclaredOption.ofRecordings
    kind.scopes = [OptionScope("recordings")]
    return kind
  }()

  /// The flows of a recording in a file or a pipe, which is read to its end.
  static func listing(
    ofRecording path: String, _ options: TransportOptions
  ) async throws -> StreamListing {
    let configuration = options.recordings
    return try await NIOThreadPool.singleton.runIfActive {
      try ReplayReader(path: path, configuration: configuration, mayBePipe: true).listing()
    }
  }
}

extension SourceFile {
  fileprivate var isRecording: Bool {
    beginning.readableBytesView.starts(with: GzipReader.signature)
      || RecordingFormat(beginning: beginning, name: path) != nil
  }
}

extension TransportOptions {
  /// The options of recordings.
  var recordings: ReplayConfiguration {
    var configuration = replay
    configuration.framing = framed.framing ?? configuration.framing
    configuration.payloadType = media.payloadType ?? configuration.payloadType
    configuration.auxiliaryTypes.formUnion(media.auxiliaryTypes)
    configuration.description = media.description ?? configuration.description
    configuration.takesCorrection = repair.takesCorrection
    configuration.retransmissionPort = repair.retransmissionPort.map { UInt16(clamping: $0) }
    return configuration
  }
}
