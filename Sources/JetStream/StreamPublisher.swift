import BlockingIO
import CNATS
import NIOCore
public import Outputs
import RTPWire

/// `nats://HOST/CAMERA`: access units and sound, in a stream of JetStream.
///
/// It waits on its own thread while the server is away or slow; what comes meanwhile waits in the
/// queue of the output, which drops whole groups of pictures. What was handed over and is not
/// acknowledged is sent again; the server recognizes repetitions.
final class StreamPublisher: OutputDestination {
  /// How long the server may take to acknowledge a message.
  private static let acknowledgementTime = Duration.seconds(5)
  /// How long after a failure it is tried again.
  private static let pause = Duration.seconds(1)
  /// Bytes of a message besides its payload: subject, headers, what the protocol adds.
  private static let messageOverhead = 1 << 10

  private let text: String
  private let deadline: WriteDeadline
  private let wallClock: WallClock
  private let state = PublishingState()
  private lazy var handle = CallbackHandle(state)
  private var publication: Publication?
  private var names = StreamNames(camera: "")
  private var limits: StreamLimits?
  private var link: NATSLink?
  private var context: JetStreamContext?
  private var resent: UInt64 = 0
  private var events = OutputEvents()
  private var isAway = false
  /// How much was acknowledged when it was last tried to send again what is not.
  private var acknowledgedBefore: UInt64?
  /// What was said of the server's refusals, so that it is said once.
  private var saidRefusal: PublishingState.Refusal?
  private var report: ((OutputProgress) -> Void)?

  init(_ configuration: OutputLane.Configuration, scheme: String, deadline: WriteDeadline) {
    let path = if case .path(let path) = configuration.target { path } else { "" }
    text = "\(scheme):\(path)"
    self.deadline = deadline
    wallClock = configuration.wallClock
  }

  var progress: OutputProgress {
    var progress = OutputProgress()
    progress.events = events
    state.monitor.quietly { value in
      progress.skipped = (publication?.skipped ?? 0) + value.leftOutItems
      progress.written = value.acknowledgedItems
      progress.bytes = value.acknowledgedBytes
      progress.figures = [
        OutputFigure("connected", value.phase == .connected ? 1 : 0, metric: Self.connected),
        OutputFigure("acknowledged", value.acknowledged, metric: Self.acknowledged, isTotal: true),
        OutputFigure("resent", resent, metric: Self.resent, isTotal: true),
        OutputFigure("refused", value.leftOut, metric: Self.refused, isTotal: true),
        OutputFigure("in_flight_bytes", UInt64(clamping: value.outstandingBytes)),
      ]
    }
    return progress
  }

  private static let connected = Metric(
    "output_nats_connected", "Whether the server of NATS is connected.")
  private static let acknowledged = Metric(
    "output_nats_acknowledged_messages", "Messages that JetStream has acknowledged.")
  private static let resent = Metric(
    "output_nats_resent_messages", "Messages that were sent again.")
  private static let refused = Metric(
    "output_nats_refused_messages", "Messages that the server did not want, and that are left out.")

  func begin(reporting report: @escaping (OutputProgress) -> Void) { self.report = report }

  func open(whenReaderIsLate noteDelay: () -> Void) throws {
    let address = try StreamAddress(parsing: text, known: StreamLimits.keys)
    limits = try StreamLimits(address)
    names = StreamNames(camera: address.name)
    var numbers = SystemRandomNumberGenerator()
    publication = Publication(
      camera: address.name, session: .random(in: 1...UInt32.max), wallClock: wallClock,
      using: &numbers)
    deadline.whenSet { [state] in state.set(deadline: $0) }
    link = try NATSLink(
      to: address, as: NATSLogin(), named: "rtp-recv \(address.name)", retries: true,
      watcher: state)
  }

  func write(_ items: [OutputItem]) throws {
    for item in items {
      try prepare()
      for message in try publication?.messages(for: item, limit: messageLimit) ?? [] {
        try publish(message)
      }
    }
  }

  func finish() throws {
    try prepare()
    for message in try publication?.finish(limit: messageLimit) ?? [] { try publish(message) }
    while true {
      switch try wait(.acknowledgements) {
      case .done: return noteRefusal()
      case .prepare: try resume()
      case .late: throw late
      }
    }
  }

  func close() {
    context = nil
    link = nil
  }

  private var messageLimit: Int { (link?.largestMessage ?? 0) - Self.messageOverhead }

  // MARK: - Waiting

  private enum Goal {
    case connection
    case room(bytes: Int)
    case acknowledgements
  }

  private enum Step { case done, prepare, late }

  /// Waits for `goal`; the server may have to be prepared first.
  private func wait(_ goal: Goal) throws -> Step {
    while true {
      let until = state.monitor.quietly { value in
        value.isInterrupted = false
        return value.deadline
      }
      let step = state.monitor.wait(until: until) { value -> Result<Step?, JetStreamError>? in
        if case .closed(let error) = value.phase { return .failure(error) }
        // There is another time until which to wait.
        if value.isInterrupted { return .success(nil) }
        if value.phase == .connected, value.needsPreparation { return .success(.prepare) }
        switch goal {
        case .connection: return value.phase == .connected ? .success(.done) : nil
        case .acknowledgements: return value.outstanding.isEmpty ? .success(.done) : nil
        case .room(let bytes):
          let isFull =
            value.outstandingBytes + bytes > PublishingState.mostBytes
            || value.outstanding.count >= PublishingState.mostMessages
          return value.phase == .connected && (!isFull || value.outstanding.isEmpty)
            ? .success(.done) : nil
        }
      }
      guard let step else { return .late }
      if let step = try step.get() { return step }
    }
  }

  /// Waits until the server is there and has the stream.
  private func prepare() throws {
    if !isAway, case .away = state.monitor.quietly(\.phase) { note(isReached: false) }
    noteRefusal()
    while true {
      switch try wait(.connection) {
      case .done: return
      case .prepare: try resume()
      case .late: throw late
      }
    }
  }

  private func note(isReached: Bool) {
    isAway = !isReached
    events.append(.reached("NATS at \(link?.server ?? text)", isReached))
    report?(progress)
  }

  /// Says that the server keeps nothing now.
  private func refuse(because reason: String) {
    state.monitor.quietly { $0.refusal = PublishingState.Refusal(reason: reason, isLeftOut: false) }
    noteRefusal()
  }

  /// Says why the server does not keep something, if that is new.
  private func noteRefusal() {
    let refusal = state.monitor.quietly { value in
      defer { value.refusal = nil }
      return value.refusal
    }
    guard let refusal, refusal != saidRefusal else { return }
    saidRefusal = refusal
    events.append(
      .refused(
        "NATS at \(link?.server ?? text)", reason: refusal.reason, isLeftOut: refusal.isLeftOut))
    report?(progress)
  }

  /// There is no more time.
  private var late: JetStreamError {
    .notAcknowledged(
      server: link?.server ?? text, messages: state.monitor.quietly(\.outstanding.count))
  }

  /// Makes the stream, and sends again what is not acknowledged.
  private func resume() throws {
    report?(progress)
    noteRefusal()
    if state.monitor.quietly(\.needsRest) { try rest() }
    let acknowledged = state.monitor.quietly(\.acknowledged)
    if !isAway, saidRefusal == nil, acknowledgedBefore == acknowledged {
      refuse(because: "it has not acknowledged anything since it was tried last")
    }
    acknowledgedBefore = acknowledged
    // What is sent again is acknowledged again.
    context?.forgetPublished()
    // What was answered meanwhile belongs to the same attempt.
    state.monitor.quietly { value in
      value.needsPreparation = false
      value.needsRest = false
    }
    guard let link else { return }
    do throws(JetStreamError) {
      let context = try context(of: link)
      try limits?.apply(to: names.stream, subjects: names.all, of: context)
      if isAway { note(isReached: true) }
      let again = state.monitor.quietly(\.outstanding)
      for message in again {
        send(message.message)
        resent += 1
      }
    } catch {
      if case .refused = error { throw error }
      if case .unavailable(_, let reason) = error {
        refuse(because: reason)
      } else if !isAway {
        // It begins, or is being restarted.
        note(isReached: false)
      }
      state.monitor.quietly { $0.needsPreparation = true }
      try rest()
    }
    report?(progress)
  }

  /// What JetStream is asked with: the same from the first time on.
  private func context(of link: NATSLink) throws(JetStreamError) -> JetStreamContext {
    if let context { return context }
    let made = unsafe try JetStreamContext(
      link,
      onAcknowledgement: { _, message, acknowledgement, refusal, context in
        defer { unsafe natsMsg_Destroy(message) }
        var text: UnsafePointer<CChar>?
        guard let state = unsafe CallbackHandle<PublishingState>.target(context),
          unsafe natsMsgHeader_Get(message, "Nats-Msg-Id", &text) == NATS_OK,
          let id = unsafe text.map({ unsafe String(cString: $0) })
        else { return }
        unsafe state.answered(id, PublishingState.Answer(acknowledgement, refusal))
      }, context: unsafe handle.context)
    context = made
    return made
  }

  /// Waits a moment, or until there is no more time.
  private func rest() throws {
    let end = Instant.now.advanced(by: Self.pause)
    while !deadline.isPast {
      let until = state.monitor.quietly { value in
        value.isInterrupted = false
        return value.deadline.map { min($0, end) } ?? end
      }
      let isOver = state.monitor.wait(until: until) { value -> Bool? in
        if case .closed = value.phase { return true }
        return value.isInterrupted ? false : nil
      }
      if isOver != false { break }
    }
    if deadline.isPast { throw late }
  }

  // MARK: - Publishing

  /// Sends `message` once there is room.
  private func publish(_ message: Publication.Message) throws {
    while true {
      switch try wait(.room(bytes: message.payload.readableBytes)) {
      case .prepare: try resume()
      case .late: throw late
      case .done:
        state.monitor.quietly { value in
          value.outstanding.append(PublishingState.Outstanding(message: message))
          value.outstandingBytes += message.payload.readableBytes
        }
        return send(message)
      }
    }
  }

  private func send(_ message: Publication.Message) {
    guard let context else { return }
    var made: OpaquePointer?
    let subject = names.subject(message.subject)
    var status = unsafe message.payload.withUnsafeReadableBytes { bytes in
      unsafe natsMsg_Create(
        &made, subject, nil, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count))
    }
    for (name, value) in message.headers where status == NATS_OK {
      status = unsafe natsMsgHeader_Set(made, name, value)
    }
    if status == NATS_OK {
      var options = unsafe jsPubOptions()
      unsafe jsPubOptions_Init(&options)
      status = unsafe message.id.withCString { id in
        unsafe options.MsgId = unsafe id
        unsafe options.MaxWait = Self.acknowledgementTime.milliseconds
        return unsafe context.publish(&made, &options)
      }
    }
    guard status != NATS_OK else { return }
    unsafe natsMsg_Destroy(made)
    guard status == NATS_MAX_PAYLOAD else { return state.stumbled() }
    // The server takes less than it did when the message was made.
    let reason = unsafe String(cString: natsStatus_GetText(status))
    state.answered(message.id, .refused(reason: reason, isForGood: true))
  }
}

extension OutputFormat {
  /// `nats://HOST/CAMERA`, and the same with TLS.
  public static let jetStream: [OutputFormat] = StreamAddress.schemes.map { scheme in
    var format = OutputFormat(
      scheme: scheme,
      summary: scheme == StreamAddress.schemes[0]
        ? "a stream of NATS, where PATH is //HOST/CAMERA" : "the same with TLS",
      inputs: [.units, .sound]
    ) { StreamPublisher($0, scheme: scheme, deadline: $1) }
    format.check = {
      _ = try StreamLimits(StreamAddress(parsing: $0, known: StreamLimits.keys))
    }
    return format
  }
}
