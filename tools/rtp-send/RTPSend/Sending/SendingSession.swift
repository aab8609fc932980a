import BlockingIO
import NIOCore
import RTPWire

/// The shell around ``StreamRun`` and ``ClientPresence``: a socket, a clock and a timer.
final class SendingSession: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>
  typealias OutboundOut = AddressedEnvelope<ByteBuffer>

  private let configuration: SenderConfiguration
  private var runs: ConfiguredRuns
  private let onEvent: @Sendable (SenderEvent) -> Void
  private let promise: EventLoopPromise<SendReport>
  private let loop: NIOIsolatedEventLoop

  private var presence: ClientPresence?
  private var remote: SocketAddress?
  private var run: StreamRun?
  /// What the client reported last, by tracks.
  private var receptions: [Int: ReportedReception] = [:]
  private var report = SendReport()
  /// Who was told of last as one that is ignored, and when: at most one each second.
  private var lastIgnored: (client: SocketAddress, time: Instant)?
  private var timer: Scheduled<Void>?
  private var turns = LoopTurns()
  private var lastError: (any Error)?
  private var failure: (any Error)?
  private var hasEnded = false
  /// When the last datagram that was written has left, all have.
  private var lastWrite: EventLoopFuture<Void>.Isolated?
  /// What is said of the run when the socket is closed.
  private var outcome: Result<SendReport, any Error>?

  /// Sends to `remote` as soon as the channel is active, or waits for a hello when that is `nil`.
  init(
    _ configuration: SenderConfiguration, to remote: SocketAddress?, on loop: any EventLoop,
    report promise: EventLoopPromise<SendReport>,
    onEvent: @escaping @Sendable (SenderEvent) -> Void
  ) {
    self.configuration = configuration
    runs = ConfiguredRuns(configuration)
    self.remote = remote
    self.promise = promise
    self.onEvent = onEvent
    self.loop = loop.assumeIsolated()
    if remote == nil {
      presence = ClientPresence(
        hello: configuration.hello, heartbeatInterval: configuration.heartbeatInterval)
    }
  }

  func channelActive(context: ChannelHandlerContext) {
    if remote != nil { begin(context) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasEnded else { return }
    let envelope = unwrapInboundIn(data)
    switch presence?.receive(envelope.data, from: envelope.remoteAddress, at: Instant.now) {
    case .arrived:
      remote = envelope.remoteAddress
      onEvent(.clientArrived(envelope.remoteAddress))
      begin(context)
    case .busy where mayTell(of: envelope.remoteAddress):
      lastIgnored = (envelope.remoteAddress, Instant.now)
      onEvent(.clientIgnored(envelope.remoteAddress))
    case .busy, .heartbeat, .notHello, nil:
      answer(envelope, context)
    }
  }

  private func mayTell(of ignored: SocketAddress) -> Bool {
    guard let lastIgnored else { return true }
    return lastIgnored.client != ignored && lastIgnored.time.duration(to: .now) >= .seconds(1)
  }

  /// Answers the receiver's RTCP, which comes from its host: from the port of its media, or from
  /// another.
  private func answer(_ envelope: AddressedEnvelope<ByteBuffer>, _ context: ChannelHandlerContext) {
    guard run != nil, envelope.remoteAddress.ipAddress == remote?.ipAddress else { return }
    run?.answer(envelope.data, at: Instant.now)
    receptions.merge(run?.takeReceptions(at: Instant.now) ?? [:]) { $1 }
    // More may be waiting to be read, and one look answers all of them.
    timer?.cancel()
    timer = loop.scheduleTask(deadline: .now()) { self.tick(context) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { tick(context) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is StopSending:
      end(.stopped, context)
      // Perhaps it had ended, and had more time.
      limitFarewell(to: Farewell.longest(after: .stopped), context)
    case is SourceReady: goOn(context)
    default: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // NIO closes the channel after errors that last, and channelInactive comes then; others pass.
    lastError = error
  }

  func channelInactive(context: ChannelHandlerContext) {
    let reason = (lastError as? IOError).map { Libav.reason(-$0.errnoCode) }
    failure = SendError.network(
      address: remote?.hostAndPort ?? "the socket",
      reason: reason ?? "the system refuses to send there; is there a route to it?")
    end(.stopped, context)
  }

  private func begin(_ context: ChannelHandlerContext) {
    do {
      run = try StreamRun(runs.next(), unixNanoseconds: { UTC.now }) { .now }
      run?.notify(SourceReady.event(for: context.channel))
      // Whatever came before there was anybody to notify.
      goOn(context)
    } catch {
      failure = error
      end(.stopped, context)
    }
  }

  /// Takes what the source has again, and sends it.
  private func goOn(_ context: ChannelHandlerContext) {
    guard !hasEnded, run != nil else { return }
    do {
      try run?.prepare()
      tick(context)
    } catch {
      failure = error
      end(.stopped, context)
    }
  }

  /// Sends what is due, prepares what is next, and schedules the next call.
  private func tick(_ context: ChannelHandlerContext) {
    // A call that comes though it was cancelled must not cancel the limit of the farewell.
    guard !hasEnded else { return }
    timer?.cancel()
    timer = nil
    guard let remote, run != nil else { return }
    let now = Instant.now
    if let gone = presence?.expire(at: now) {
      leave(gone, context)
      return
    }
    // When the socket takes no more, channelWritabilityChanged calls again.
    if context.channel.isWritable {
      write(to: remote, context) { run?.next(at: now) }
      configuration.tellVerdicts(of: &run)
      do {
        try run?.prepare()
      } catch {
        failure = error
        end(.stopped, context)
        return
      }
      if run?.isFinished == true {
        end(.sourceEnded, context)
        return
      }
    }
    schedule(context)
  }

  private func schedule(_ context: ChannelHandlerContext) {
    let own = context.channel.isWritable ? run?.deadline : nil
    guard let next = [own, presence?.deadline].compactMap({ $0 }).min() else { return }
    let due = NIODeadline.uptimeNanoseconds(UInt64(clamping: next.nanoseconds))
    let deadline = turns.deadline(for: due, at: .now())
    timer = loop.scheduleTask(deadline: deadline) { self.tick(context) }
  }

  /// Writes what `next` gives; the last of it tells when all has left.
  private func write(
    to remote: SocketAddress, _ context: ChannelHandlerContext,
    _ next: () -> PacketFeed.Packet?
  ) {
    func data(_ packet: PacketFeed.Packet) -> NIOAny {
      wrapOutboundOut(
        AddressedEnvelope(remoteAddress: remote.above(packet.portOffset), data: packet.bytes))
    }
    guard var packet = next() else { return }
    while let following = next() {
      context.write(data(packet), promise: nil)
      packet = following
    }
    lastWrite = context.writeAndFlush(data(packet)).assumeIsolated()
  }

  private func leave(_ client: SocketAddress, _ context: ChannelHandlerContext) {
    tellReceptions(of: client)
    onEvent(.clientLeft(client))
    if configuration.servesOnce {
      end(.clientLeft, context)
    } else {
      count()
      remote = nil
      lastIgnored = nil
    }
  }

  private func tellReceptions(of client: SocketAddress) {
    if let event = SenderEvent.reported(receptions, by: client) { onEvent(event) }
    receptions = [:]
  }

  /// Adds what the run did to the report, and forgets it.
  private func count() {
    configuration.tellVerdicts(of: &run)
    if let run { report.add(run.report(at: Instant.now)) }
    run = nil
  }

  private func end(_ ending: SendReport.Ending, _ context: ChannelHandlerContext) {
    guard !hasEnded else { return }
    hasEnded = true
    timer?.cancel()
    if let remote { tellReceptions(of: remote) }
    if let remote, ending != .clientLeft {
      var packets = (run?.goodbye(at: Instant.now) ?? [])[...]
      write(to: remote, context) { packets.popFirst() }
    }
    count()
    report.ending = ending
    outcome = failure.map { .failure($0) } ?? .success(report)
    guard let lastWrite, ending != .clientLeft, context.channel.isActive else {
      return close(context)
    }
    limitFarewell(to: Farewell.longest(after: ending), context)
    // A network that takes less than the source gives takes longer.
    lastWrite.whenComplete { _ in self.close(context) }
  }

  private func limitFarewell(to time: TimeAmount, _ context: ChannelHandlerContext) {
    guard outcome != nil else { return }
    timer?.cancel()
    timer = loop.scheduleTask(in: time) { self.close(context) }
  }

  /// Closes the socket, and says how it was.
  private func close(_ context: ChannelHandlerContext) {
    timer?.cancel()
    guard let outcome = outcome.take() else { return }
    let promise = promise
    context.close().assumeIsolated().whenComplete { _ in promise.completeWith(outcome) }
  }
}

extension SocketAddress {
  /// The same host, `offset` ports above; the last port stands for those above it, the first one
  /// for those below.
  func above(_ offset: Int) -> SocketAddress {
    guard offset != 0, let port else { return self }
    var address = self
    address.port = min(max(port + offset, 1), 65_535)
    return address
  }
}
