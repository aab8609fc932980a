import BlockingIO
import NIOCore
import RTPWire

/// The shell around ``RTSPServerSession``: a client's connection, a clock and a timer.
///
/// Nothing is read while the client does not read what is written, so that requests without end
/// leave no answers without end.
final class RTSPConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The longest that the last bytes may take to leave when the connection is to end.
  private static let farewell = TimeAmount.seconds(2)
  /// What is done for one client before others have their turn, so that a thousand requests at once
  /// delay nobody.
  private static let longestTurn = 32
  /// Media that a client takes are noted as a sign of life no more often.
  private static let lifeInterval: Int64 = 1_000_000_000

  let loop: NIOIsolatedEventLoop
  private(set) var remoteAddress: SocketAddress?
  let server: RTSPServing
  var session: RTSPServerSession?
  var part = Part.whole
  private var context: ChannelHandlerContext?
  private var ports: MediaPorts?
  private var players: [String: RTSPPlayer] = [:]
  private var timer: Scheduled<Void>?
  private var isReadWanted = false
  private var isActing = false
  /// Whether requests that were read wait for the next turn.
  private var hasMore = false
  private var isClosing = false
  private var needsFlush = false
  private var lastLife: Instant?

  init(_ server: RTSPServing, on loop: any EventLoop) {
    self.server = server
    self.loop = loop.assumeIsolated()
  }

  var isWritable: Bool { context?.channel.isWritable ?? false }

  // MARK: The channel

  func channelActive(context: ChannelHandlerContext) {
    self.context = context
    remoteAddress = context.remoteAddress
    guard server.admit(self) else {
      context.close(promise: nil)
      return
    }
    server.ports(for: context.localAddress) { ports in
      guard let context = self.context else { return }
      self.ports = ports
      self.session = RTSPServerSession(
        self.server.sessionConfiguration(at: context.localAddress, ports),
        entropy: SystemRandomNumberGenerator(), at: Instant.now)
      self.act()
    }
    context.fireChannelActive()
  }

  func read(context: ChannelHandlerContext) {
    if mayRead { context.read() } else { isReadWanted = true }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch part {
    case .whole: receive(unwrapInboundIn(data))
    // Nothing follows a GET.
    case .download: break
    case .upload: upload(unwrapInboundIn(data))
    }
  }

  /// Takes what the client said, here or by another connection.
  func receive(_ bytes: ByteBuffer) {
    session?.receive(bytes, at: Instant.now)
    act()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard context.channel.isWritable else { return }
    for player in players.values { player.drain() }
    flush()
    readOn()
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.context = nil
    isClosing = true
    timer?.cancel()
    for id in players.keys { leave(id) }
    session = nil
    leaveTunnel()
    server.disconnected(self)
    context.fireChannelInactive()
  }

  /// A reset, or TLS that failed.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func readOn() {
    if isReadWanted, mayRead {
      isReadWanted = false
      context?.read()
    }
    if case .download(_, let upload) = part { upload?.readOn() }
  }

  private var mayRead: Bool {
    switch part {
    case .whole: takesMore
    // Only its end is noticed.
    case .download: true
    case .upload(let download, _): download.takesMore
    }
  }

  /// What comes behind a request whose answer is awaited stays in the kernel.
  private var takesMore: Bool {
    guard let session, session.pending == nil else { return false }
    return isWritable && !hasMore
  }

  // MARK: Media

  /// Interleaved frames, which leave with the next flush.
  func write(_ frames: ByteBuffer, of id: String) {
    guard let context, !isClosing else { return }
    context.write(wrapOutboundOut(frames), promise: nil)
    needsFlush = true
    // What a socket takes is a sign of life, and many clients give no other.
    let now = Instant.now
    guard isWritable, lastLife.map({ $0.nanoseconds(to: now) >= Self.lifeInterval }) ?? true else {
      return
    }
    lastLife = now
    session?.noteLife(of: id, at: now)
  }

  func flush() {
    guard needsFlush else { return }
    needsFlush = false
    context?.flush()
  }

  /// The media of a session have ended; it is served when the client's socket has taken them.
  func noteEnd(of id: String) {
    session?.noteEnd(of: id)
    flush()
    guard server.servesOnce, let context, !isClosing else { return }
    let limit = loop.scheduleTask(in: Farewell.longest(after: .sourceEnded)) {
      self.server.servedOnce()
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { result in
      limit.cancel()
      // Where the connection ended instead, the client has left.
      if case .success = result { self.server.servedOnce() }
    }
  }

  /// A client reported on what came in datagrams.
  func noteReport(of id: String) { session?.noteLife(of: id, at: Instant.now) }

  func tellSlowness() {
    if let remoteAddress { server.tell(.clientTooSlow(remoteAddress)) }
  }

  /// Says goodbye to all sessions and closes.
  func stop() {
    guard !isClosing else { return }
    // A file has a run for each client, which says goodbye to that one alone.
    for player in players.values where player.programme.stream.survey != nil {
      player.programme.sayGoodbye()
    }
    close()
  }

  // MARK: The session

  /// Does what the session wants done.
  private func act() {
    guard !isActing else { return }
    isActing = true
    var count = 0
    while count < Self.longestTurn, let action = session?.next(at: Instant.now) {
      perform(action)
      count += 1
      // To open a file and to search it takes as long as many other requests.
      if case .play = action { count = Self.longestTurn }
    }
    isActing = false
    hasMore = count == Self.longestTurn && !isClosing
    flush()
    schedule()
    if hasMore { actAgain() } else if !isClosing { readOn() }
  }

  /// Goes on in a turn that leaves the sockets of others theirs.
  private func actAgain() {
    let now = NIODeadline.now()
    loop.scheduleTask(deadline: server.turns.deadline(for: now, at: now)) { self.act() }
  }

  private func schedule() {
    timer?.cancel()
    timer = nil
    guard let deadline = session?.deadline else { return }
    let due = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
    timer = loop.scheduleTask(deadline: due) {
      self.session?.expire(at: Instant.now)
      self.act()
    }
  }

  private func perform(_ action: RTSPServerSession.Action) {
    let now = Instant.now
    switch action {
    case .send(let bytes):
      context?.write(wrapOutboundOut(bytes), promise: nil)
      needsFlush = true
    case .describe(let stream): describe(stream)
    case .setUp(let id, let stream, let track, let carrier):
      session?.setUp(setUp(id, stream, track, carrier), at: now)
    case .play(let id, let passage):
      session?.played(begin(id, passage), at: now)
    case .start(let id):
      guard let player = players[id] else { return }
      if !player.hasPlayed {
        player.hasPlayed = true
        if let remoteAddress { server.tell(.clientArrived(remoteAddress)) }
      }
      player.programme.start(player)
    case .pause(let id):
      if let player = players[id] { player.programme.stop(player) }
    case .drop(let id, let track):
      guard let player = players[id] else { return }
      server.release(player)
      player.drop(track)
      server.claim(player)
    case .end(let id, _): leave(id)
    case .control(let id, _, let bytes):
      if let player = players[id] { player.programme.receive(bytes, from: player) }
    case .openTunnel(let cookie, let request): openTunnel(cookie, request)
    case .joinTunnel(let cookie): joinTunnel(cookie)
    case .close: close()
    }
  }

  /// Answers a DESCRIBE, unless the source has not begun.
  private func describe(_ stream: Int) {
    switch server.description(ofStream: stream) {
    case .text(let text): session?.described(text, at: Instant.now)
    case .missing: session?.described(nil, at: Instant.now)
    case .awaited: break
    }
  }

  /// The source of a stream has begun, or has failed.
  func noteContent(ofStream index: Int) {
    guard session?.isDescribing(index) == true else { return }
    describe(index)
    act()
  }

  /// Closes at once.
  func hangUp() { context?.close(promise: nil) }

  private func setUp(
    _ id: String, _ stream: Int, _ track: Int, _ carrier: Carrier
  ) -> RTSPServerSession.SetUpOutcome {
    if case .udp(let rtp, let rtcp) = carrier,
      server.isClaimed([rtp, rtcp], of: remoteAddress, by: players[id])
    {
      return .taken
    }
    guard let player = players[id] ?? server.makePlayer(id, ofStream: stream, on: self, ports)
    else {
      return .full
    }
    players[id] = player
    server.release(player)
    player.setUp(track, carrier)
    server.claim(player)
    return .ready(ssrc: player.programme.ssrc(ofTrack: track))
  }

  private func begin(_ id: String, _ passage: Passage) -> PassageBeginning? {
    guard let player = players[id] else { return nil }
    do {
      return try player.programme.begin(player, passage)
    } catch {
      server.failed(player.programme.stream.name, error)
      return nil
    }
  }

  private func leave(_ id: String) {
    guard let player = players.removeValue(forKey: id) else { return }
    player.programme.stop(player)
    server.release(player)
    server.left(player)
  }

  private func close() {
    guard !isClosing else { return }
    for id in players.keys { leave(id) }
    isClosing = true
    timer?.cancel()
    guard let context else { return }
    let end = loop.scheduleTask(in: Self.farewell) { self.context?.close(promise: nil) }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      end.cancel()
      self.context?.close(promise: nil)
    }
  }
}
