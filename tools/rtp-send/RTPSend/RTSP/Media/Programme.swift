import BlockingIO
import NIOCore
import RTPWire

/// A stream at work: the run that makes its packets, and the clients that take them.
///
/// What is live has one run for all clients, which rests while there are none. A file has a run for
/// each client.
final class Programme {
  /// How long after the last packet goodbye is said where media go in datagrams.
  ///
  /// FFmpeg reads reports first, and leaves with what its socket still holds.
  private static let farewell: Int64 = 1_000_000_000
  /// Packets that are handed on at once.
  private static let longestBatch = 512

  let stream: ServedStream
  private var sending: SenderConfiguration
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

  var isLive: Bool { stream.survey == nil }

  /// The parameter sets in force, where they may have changed since the stream began.
  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? {
    for track in sending.tracks {
      guard case .video(let video) = track.media, case .live(let source) = video.recipe else {
        continue
      }
      // It goes on while nobody watches.
      return source.knownContents?.video?.parameterSets
    }
    return run?.parameterSets
  }

  func hasPictures(track index: Int) -> Bool {
    guard sending.tracks.indices.contains(index), case .video = sending.tracks[index].media else {
      return false
    }
    return true
  }

  /// What a client begins with: without pictures, whatever comes next.
  private func group(for player: RTSPPlayer) -> [PacketFeed.Packet] {
    player.hasPictures && !player.isMulticast ? group.packets : []
  }

  /// The SSRC that the packets of a track have at first.
  func ssrc(ofTrack index: Int) -> UInt32 {
    sending.tracks.indices.contains(index) ? sending.tracks[index].media.stream.ssrc : 0
  }

  // MARK: What clients ask for

  /// Prepares what a client asked for; nothing is sent before ``start(_:)``.
  ///
  /// - Throws: ``SendError`` when the source cannot be opened or read there.
  func begin(_ player: RTSPPlayer, _ passage: Passage) throws -> PassageBeginning {
    let now = Instant.now
    end = nil
    let isFresh = run == nil
    if isFresh {
      run = try StreamRun(sending, unixNanoseconds: { UTC.now }) { .now }
      listen()
      if players.isEmpty { run?.hold(at: now) }
    }
    if let survey = stream.survey {
      let beginning =
        try run?.play(passage, in: survey, behind: player.waiting, at: now) ?? PassageBeginning()
      // What follows is named in the answer, behind which it leaves.
      run?.hold(at: now)
      if beginning.isElsewhere { player.dropWaiting(waits: false) }
      return beginning
    }
    var beginning = PassageBeginning()
    if !player.isStarted,
      isFresh || player.isMulticast || !player.hasPictures || !group.packets.isEmpty
    {
      beginning = run?.beginning(behind: group(for: player)) ?? beginning
    }
    beginning.start = nil
    return beginning
  }

  /// Sends to a client what it asked for.
  func start(_ player: RTSPPlayer) {
    // What is live goes on for a client that asks for it again.
    guard !isLive || !player.isStarted else { return }
    let now = Instant.now
    // A run that has sent nothing begins with a picture that can be decoded.
    let isFresh = run.map { $0.report(at: now).datagrams == 0 } ?? true
    if !players.contains(where: { $0 === player }) { players.append(player) }
    run?.resume(at: now)
    if !isLive {
      player.goOn()
    } else if isFresh {
      player.start(with: [], waits: false)
    } else {
      let reports = run?.reports(at: now) ?? []
      if player.hasPictures, group(for: player).isEmpty { run?.requestKeyPicture(at: now) }
      if player.isMulticast {
        player.start(with: [], waits: true)
        var sent: Set<GroupPath> = []
        player.writeToGroups(reports, but: &sent)
      } else {
        player.start(with: reports + group(for: player), waits: player.hasPictures)
      }
    }
    player.flush()
    tick()
  }

  /// Stops sending to a client, for a while or for good.
  func stop(_ player: RTSPPlayer) {
    player.stop()
    // A file goes on where it stopped.
    if isLive { player.dropWaiting(waits: true) }
    players.removeAll { $0 === player }
    guard players.isEmpty else { return }
    // Who comes next begins anew.
    if isLive, run?.hasSentAll == true { return finish() }
    run?.hold(at: Instant.now)
    timer?.cancel()
    // What goes on meanwhile has other pictures when somebody comes again.
    if run?.isLive == true { group.forget() }
  }

  /// RTCP of a client.
  func receive(_ bytes: ByteBuffer, from player: RTSPPlayer) {
    let now = Instant.now
    guard let packets = run?.answers(to: bytes, at: now) else { return }
    player.note(run?.takeReceptions(at: now) ?? [:])
    if !packets.isEmpty { player.answer(packets, at: now) }
  }

  /// The last reports, to everybody.
  func sayGoodbye() {
    guard let packets = run?.goodbye(at: Instant.now), !packets.isEmpty else { return }
    deliver(packets)
  }

  /// What has been sent so far, by this run and those before it.
  func finalReport() -> SendReport {
    var report = report
    if let run { report.add(run.report(at: Instant.now)) }
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
    let now = Instant.now
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

  /// Sends to the groups, once for all clients that have joined them by the same interface.
  private func multicast(_ packets: [PacketFeed.Packet]) {
    var sent: Set<GroupPath> = []
    for player in players where player.isMulticast {
      player.writeToGroups(packets, but: &sent)
    }
  }

  /// The source has ended: its clients hear so, and can still ask for another part.
  private func finish() {
    end = nil
    sayGoodbye()
    let ended = players
    players.removeAll()
    timer?.cancel()
    run?.hold(at: Instant.now)
    if isLive {
      if let run { report.add(run.report(at: Instant.now)) }
      run = nil
      sending = server.renumbered(sending, keepsNumbers: stream.keepsNumbers)
      group.forget()
    }
    for player in ended { player.finish() }
  }
}
