import BlockingIO
import NIOCore
import Outputs
import RTPWire
import Transports

/// Keeps a consumer of a camera's stream, on a thread of its own: it connects, begins at the right
/// place, and begins anew behind the last message wherever the server forgets.
struct StreamReader: Sendable {
  let address: StreamAddress
  let login: NATSLogin
  let options: JetStreamOptions
  /// How long the server may be away, or unable to do what is asked of it.
  let patience: Duration?
  let state: ReadingState

  /// Where it begins.
  struct Beginning: Sendable {
    let start: PushConsumer.Start
    /// The description in force there, unless one comes first.
    var description: ByteBuffer?
    /// The last message that is wanted; `nil` for what is still to come.
    var end: UInt64?
  }

  private static let pause = Duration.milliseconds(250)

  /// Reads until the state is closed.
  ///
  /// - Parameters:
  ///   - connected: called once, when the server is reached.
  ///   - opened: called once, when what comes is delivered from then on.
  /// - Throws: why it cannot begin, or cannot go on.
  func run(
    connected: @Sendable () -> Void, opened: @Sendable (Beginning) -> Void
  ) throws(JetStreamError) {
    let link = try NATSLink(
      to: address, as: login, named: "rtp-recv reading \(address.name)", retries: false,
      watcher: state)
    connected()
    let context = unsafe try JetStreamContext(link)
    let names = StreamNames(camera: address.name)
    var beginning: Beginning?
    var start = PushConsumer.Start.sequence(1)
    var consumer = 0
    var isOpen = false
    /// Since when the server has been there without the stream.
    var refusedSince: Instant? = .now
    // Ending one waits for the server, and happens on this thread.
    var subscription: StreamSubscription?
    var wantsAnother: Bool
    repeat {
      subscription = nil
      consumer += 1
      state.monitor.quietly { value in
        value.consumer = consumer
        value.needsConsumer = false
        if value.lastSequence > 0 { start = .sequence(value.lastSequence + 1) }
      }
      do throws(JetStreamError) {
        if isOpen {
          let newest = try context.newest(
            in: names, camera: address.name, server: address.endpoint)
          if state.isRenewed(newest: newest.sequence) {
            start = try atDescription(context, names)
            state.beginAnew()
          }
        } else if beginning == nil {
          let found = try self.beginning(context, names)
          (beginning, start) = (found, found.start)
        }
        subscription = try StreamSubscription(
          to: names, from: start, by: context, number: consumer, delivering: state)
        refusedSince = nil
        if !isOpen, let beginning { opened(beginning) }
        isOpen = true
      } catch {
        guard error.isPassing(onceOpen: isOpen) else { throw error }
        // It is being started, or never gets JetStream or the camera again.
        let since = refusedSince ?? .now
        refusedSince = since
        if let patience, since.advanced(by: patience) < .now.advanced(by: Self.pause) {
          throw error
        }
        state.monitor.quietly { $0.needsConsumer = true }
        guard rest() else { return }
      }
      wantsAnother = try wait()
      withExtendedLifetime(subscription) {}
    } while wantsAnother
  }

  private func beginning(
    _ context: JetStreamContext, _ names: StreamNames
  ) throws(JetStreamError) -> Beginning {
    let since = options.since
    if options.position == 0 {
      guard let since else { return Beginning(start: try atDescription(context, names)) }
      let start = WallClock.system.time(of: .now).nanoseconds - since.wholeNanoseconds
      let newest = try context.newest(in: names, camera: address.name, server: address.endpoint)
      guard newest.sequence > 0, newest.time >= start else {
        throw .nothingPublished(address.name, seconds: Int(since.components.seconds))
      }
      return Beginning(start: .time(nanoseconds: start), end: newest.sequence)
    }
    // What an earlier connection took may be gone with its stream.
    state.monitor.quietly { $0.lastSequence = options.position }
    let newest = try context.newest(in: names, camera: address.name, server: address.endpoint)
    guard !state.isRenewed(newest: newest.sequence) else {
      // So is the rest of what was to be received of a former time.
      if let since {
        throw .nothingPublished(address.name, seconds: Int(since.components.seconds))
      }
      let start = try atDescription(context, names)
      state.beginAnew()
      return Beginning(start: start)
    }
    let last = try context.last(
      of: .description, in: names, camera: address.name, server: address.endpoint)
    return Beginning(
      start: .sequence(options.position + 1), description: last?.payload,
      end: since == nil ? nil : options.end)
  }

  /// The last place at which a receiver can begin.
  private func atDescription(
    _ context: JetStreamContext, _ names: StreamNames
  ) throws(JetStreamError) -> PushConsumer.Start {
    let last = try context.last(
      of: .description, in: names, camera: address.name, server: address.endpoint)
    return .sequence(last?.sequence ?? 1)
  }

  /// Waits until another consumer is needed and can be made; `false` once closed.
  private func wait() throws(JetStreamError) -> Bool {
    while true {
      let until: Instant? = state.monitor.quietly { value in
        guard case .away(let since) = value.phase, let patience else { return nil }
        return since.advanced(by: patience)
      }
      let result = state.monitor.wait(until: until) { value -> Result<Bool, JetStreamError>? in
        if value.isClosed { return .success(false) }
        switch value.phase {
        case .closed(let error): return .failure(error)
        case .connected: return value.needsConsumer ? .success(true) : nil
        // The time until which it is waited for has to be known.
        case .away: return until == nil && patience != nil ? .success(true) : nil
        }
      }
      guard let result else {
        throw .connectionLost(
          server: address.endpoint, seconds: Int((patience ?? .zero).components.seconds))
      }
      let wantsAnother = try result.get()
      let isReady = state.monitor.quietly { $0.phase == .connected || $0.isClosed }
      if !wantsAnother || isReady { return wantsAnother }
    }
  }

  /// Waits a moment; `false` if it is closed meanwhile.
  private func rest() -> Bool {
    state.monitor.wait(until: .now.advanced(by: Self.pause)) { $0.isClosed ? true : nil }
      == nil
  }
}

extension JetStreamError {
  /// Whether a server that is being started says so.
  ///
  /// One that keeps nothing, and a camera that nobody has published, are mistakes of who opens it.
  /// Once that was possible, a server that keeps streams in memory has lost them, until the camera
  /// is published again.
  fileprivate func isPassing(onceOpen isOpen: Bool) -> Bool {
    switch self {
    case .notConnected, .unavailable: true
    case .noJetStream, .noCamera: isOpen
    default: false
    }
  }
}
