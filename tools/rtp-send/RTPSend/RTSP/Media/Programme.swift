import NIOCore
import RTPWire

/// A stream at work: the run that makes its packets, and the clients that take them.
///
/// What is live has one run for all clients, which rests while there are none. A file has a run for
/// each client.
final class Programme {
  /// Key pictures are asked for no more often, however many clients come.
  private static let requestInterval: Int64 = 1_000_000_000
  /// How long after the last packet goodbye is said where media go in datagrams.
  ///
  /// FFmpeg reads reports first, and leaves with what its socket still holds.
  private static let farewell: Int64 = 1_000_000_000
  /// Packets that are handed on at once.
  private static let longestBatch = 512

  let stream: ServedStream
  private let sending: SenderConfiguration
  private unowned let server: RTSPServing
  private let loop: NIOIsolatedEventLoop
  private var run: StreamRun?
  private var players: [RTSPPlayer] = []
  private var group = PictureGroup()
  /// Whether the run waits for a client's socket.
  private var isStalled = false
  private var timer: Scheduled<Void>?
  /// When goodbye is said, once all has been sent.
  private var end: Instant?
  private var lastRequest: Instant?
  /// What earlier runs sent.
  private(set) var report = SendReport()

  init(
    _ stream: ServedStream, _ sending: SenderConfiguration, server: RTSPServing,
    on loop: NIOIsolatedEventLoop
  ) {
    self.stream = stream
    self.sending = sending
    self.server = server
    self.loop = loop
  }

  private var isLive: Bool { stream.survey == nil }

  /// The SSRC that the packets of a track have at first.
  func ssrc(ofTrack index: Int) -> UInt32 {
    sending.tracks.indices.contains(index) ? sending.tracks[index].media.stream.ssrc : 0
  }

  // MARK: What clients ask for

  /// Prepares what a client asked for; nothing is sent before ``start(_:)``.
  ///
  /// - Throws: ``SendError`` when the source cannot be opened or read there.
  func begin(_ player: RTSPPlayer, _ passage: Passage) throws -> PassageBeginning {
    let now = server.now
    end = nil
    let isFresh = run == nil
    if isFresh {
      run = try StreamRun(sending, unixNanoseconds: WallClock.unixNanoseconds) { self.server.now }
      listen()
      if players.isEmpty { run?.hold(at: now) }
    }
    if let survey = stream.survey {
      return try run?.play(passage, in: survey, at: now) ?? PassageBeginning()
    }
    var beginning = PassageBeginning()
    if !player.isStarted, isFresh || player.isMulticast || !group.packets.isEmpty {
      beginning = run?.beginning(behind: player.isMulticast ? [] : group.packets) ?? beginning
    }
    beginning.start = nil
    return beginning
  }

  /// Sends to a client what it asked for.
  func start(_ player: RTSPPlayer) {
    // What is live goes on for a client that asks for it again.
    guard !isLive || !player.isStarted else { return }
    let now = server.now
    // A run that has sent nothing begins with a picture that can be decoded.
    let isFresh = run.map { $0.report(at: now).datagrams == 0 } ?? true
    if !players.contains(where: { $0 === player }) { players.append(player) }
    run?.resume(at: now)
    if isLive, !isFresh {
      let reports = run?.reports(at: now) ?? []
      if player.isMulticast {
        requestKeyPicture(at: now)
        player.start(with: [], waits: true)
        for report in reports { player.writeToGroup(report) }
      } else {
        if group.packets.isEmpty { requestKeyPicture(at: now) }
        player.start(with: reports + group.packets, waits: true)
      }
      player.flush()
    } else {
      player.start(with: [], waits: false)
    }
    tick()
  }

  /// Stops sending to a client, for a while or for good.
  func stop(_ player: RTSPPlayer) {
    player.stop()
    players.removeAll { $0 === player }
    guard players.isEmpty else { return }
    run?.hold(at: server.now)
    timer?.cancel()
    // What goes on meanwhile has other pictures when somebody comes again.
    if run?.isLive == true { group.forget() }
  }

  /// RTCP of a client.
  func receive(_ bytes: ByteBuffer, from player: RTSPPlayer) {
    let now = server.now
    guard let packets = run?.answers(to: bytes, at: now), !packets.isEmpty else { return }
    player.answer(packets, at: now)
  }

  /// The last reports, to everybody.
  func sayGoodbye() {
    guard let packets = run?.goodbye(at: server.now), !packets.isEmpty else { return }
    deliver(packets)
  }

  /// What has been sent so far, by this run and those before it.
  func finalReport() -> SendReport {
    var report = report
    if let run { report.add(run.report(at: server.now)) }
    return report
  }

  // MARK: The run

  /// Hears of it when the source has something again.
  private func listen() {
    let loop = loop.nonisolated()
    let present = NIOLoopBound(Present(programme: self), eventLoop: loop)
    run?.notify { loop.execute { present.value.programme?.goOn() } }
  }

  /// What a source holds of the programme that it wakes.
  private struct Present {
    weak var programme: Programme?
  }

  /// Takes what the source has again, and sends it.
  private func goOn() {
    guard run != nil, !players.isEmpty else { return }
    do {
      try run?.prepare()
    } catch {
      server.failed(stream.name, error)
      return finish()
    }
    tick()
  }

  /// Sends what is due, prepares what is next, and schedules the next call.
  func tick() {
    timer?.cancel()
    timer = nil
    guard run != nil, !players.isEmpty else { return }
    isStalled = !isLive && !players.allSatisfy(\.canTakeMore)
    guard !isStalled else { return }
    let now = server.now
    var packets: [PacketFeed.Packet] = []
    while let packet = run?.next(at: now) {
      packets.append(packet)
      if packets.count == Self.longestBatch {
        deliver(packets)
        packets.removeAll(keepingCapacity: true)
      }
    }
    deliver(packets)
    sending.tellVerdicts(of: &run)
    do {
      try run?.prepare()
    } catch {
      server.failed(stream.name, error)
      return finish()
    }
    if run?.isFinished == true, end == nil {
      end = now.advanced(byNanoseconds: players.contains(where: \.hasDatagrams) ? Self.farewell : 0)
    }
    if let end, end <= now { return finish() }
    guard let next = end ?? run?.deadline else { return }
    let due = NIODeadline.uptimeNanoseconds(UInt64(clamping: next.nanoseconds))
    timer = loop.scheduleTask(deadline: server.turns.deadline(for: due, at: .now())) { self.tick() }
  }

  /// A client's socket takes more again.
  func wake() { if isStalled { tick() } }

  private func deliver(_ packets: [PacketFeed.Packet]) {
    guard !packets.isEmpty else { return }
    if isLive { for packet in packets { group.add(packet) } }
    let batch = PacketBatch(packets)
    for player in players { player.take(batch) }
    multicast(packets)
    for player in players { player.flush() }
  }

  /// Sends to the groups, once for all clients that have joined them.
  private func multicast(_ packets: [PacketFeed.Packet]) {
    guard let member = players.first(where: \.isMulticast) else { return }
    for packet in packets { member.writeToGroup(packet) }
    member.flushGroup()
  }

  private func requestKeyPicture(at now: Instant) {
    if let lastRequest, lastRequest.nanoseconds(to: now) < Self.requestInterval { return }
    lastRequest = now
    run?.requestKeyPicture()
  }

  /// The source has ended: its clients hear so, and can still ask for another part.
  private func finish() {
    end = nil
    sayGoodbye()
    let ended = players
    players.removeAll()
    timer?.cancel()
    run?.hold(at: server.now)
    if isLive {
      if let run { report.add(run.report(at: server.now)) }
      run = nil
      group.forget()
    }
    for player in ended { player.finish() }
  }
}
