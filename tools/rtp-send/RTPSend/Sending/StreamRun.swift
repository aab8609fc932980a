public import Impairment
public import NIOCore
public import RTPWire

/// A session on its way to one receiver, with its RTCP: which datagram leaves when, on a virtual
/// clock.
public struct StreamRun {
  private var delivery: Delivery
  private let reports = SenderReports()
  private let sendsRTCP: Bool
  /// How far above a track's port its RTCP goes.
  private let controlOffset: Int
  private let begin: Instant
  /// The time of day at `begin`, in nanoseconds since 1970.
  private let wallClock: UInt64
  /// Which leaps the wall clock makes.
  private let clockPlan: Plan
  private var nextReport: Instant
  /// The report behind the last packet has been sent, or is not needed.
  private var hasReportedEnd: Bool
  private var lastStep = Instant(nanoseconds: .min)
  private var isPrepared = true
  /// How long requests are awaited after the last packet or answer, in nanoseconds: as long as
  /// receivers wait.
  private let patience: Int64
  private var lastDeparture = Instant(nanoseconds: .min)
  /// When the last packet left that answers no request.
  private var lastUnasked = Instant(nanoseconds: .min)
  /// How long requests keep a run that has ended, however many come, in nanoseconds.
  private static let longestPatience: Int64 = 5_000_000_000
  private var report = SendReport()
  /// The track of pictures, if there is one.
  private let videoTrack: Int?
  private let names: [String]
  /// As configured, before a client asks for another.
  private let speed: Double
  /// The last passage, and whether it is the whole source at its own pace.
  private var passage = Passage()

  /// Opens the sources and prepares their first units; then the clock starts.
  ///
  /// - Parameters:
  ///   - configuration: what is sent; its destination is the caller's business.
  ///   - unixNanoseconds: the time of day when the clock starts, since 1970.
  ///   - clock: gives the present time.
  /// - Throws: ``SendError`` when a source cannot be read.
  public init(
    _ configuration: SenderConfiguration, unixNanoseconds: () -> UInt64, clock: () -> Instant
  ) throws {
    var tracks: [Delivery.Track] = []
    for (number, track) in configuration.tracks.enumerated() {
      var network = NetworkSimulator(
        track.plan, seed: configuration.seed, flow: number, name: track.media.name)
      network.recordsVerdicts = configuration.onVerdicts != nil
      tracks.append(
        Delivery.Track(
          try track.media.makeFeed(track.plan.stretched(by: configuration.pacing.speed)),
          through: network, above: track.portOffset))
    }
    delivery = try Delivery(tracks, pacing: configuration.pacing)
    sendsRTCP = configuration.sendsRTCP
    clockPlan = configuration.tracks.first?.plan ?? Plan()
    controlOffset = configuration.controlOffset
    speed = configuration.pacing.speed
    videoTrack = configuration.tracks.firstIndex { $0.media.isVideo }
    names = configuration.tracks.map(\.media.name)
    patience =
      configuration.tracks.contains { $0.media.feedback.requests.contains(.nack) }
      ? 1_000_000_000 : 0
    // By its count a receiver knows what it has to ask for.
    hasReportedEnd = patience == 0
    report.clients = 1
    // The time for opening and encoding is not part of the stream.
    begin = clock()
    wallClock = unixNanoseconds()
    nextReport = begin
    delivery.begin(at: begin)
  }

  /// Whether everything but the goodbye is sent, and the time for requests is over.
  public var isFinished: Bool {
    delivery.isFinished && requestsEnd <= lastStep
  }

  /// Whether everything but the goodbye is sent.
  var hasSentAll: Bool { delivery.isFinished }

  /// Until when requests are awaited.
  private var requestsEnd: Instant {
    min(
      lastDeparture.advanced(byNanoseconds: patience),
      lastUnasked.advanced(byNanoseconds: Self.longestPatience))
  }

  /// Has `wake` called, on any thread, each time there is something to ``prepare()`` again after a
  /// source had nothing yet.
  public func notify(_ wake: @escaping @Sendable () -> Void) { delivery.notify(wake) }

  /// Processes RTCP from the receiver.
  public mutating func answer(_ datagram: ByteBuffer, at now: Instant) {
    delivery.answer(datagram, at: now)
  }

  /// When there is next something to send; `nil` when only a source that has nothing yet can tell.
  public var deadline: Instant? {
    guard !delivery.isHeld else { return nil }
    let end = patience > 0 ? requestsEnd : nil
    let next = delivery.deadline ?? (delivery.isFinished ? end : nil)
    guard sendsRTCP, hasPackets else { return next }
    return min(next ?? nextReport, nextReport)
  }

  /// Takes out the next datagram that leaves by `now`; pull until `nil`, then ``prepare()``.
  public mutating func next(at now: Instant) -> PacketFeed.Packet? {
    if lastStep < now || isPrepared {
      lastStep = now
      isPrepared = false
      // Receivers keep tracks together by reports, so these are in front of what is late.
      if delivery.forgiveDebt(at: now) { offerReports(at: now) }
      delivery.step(to: now)
    }
    if let packet = release(by: now) { return packet }
    if !hasReportedEnd, delivery.isFinished {
      hasReportedEnd = true
      nextReport = now
    }
    if nextReport <= now { offerReports(at: now) }
    return release(by: now)
  }

  private mutating func offerReports(at now: Instant) {
    guard sendsRTCP, hasPackets else { return }
    nextReport = now.advanced(byNanoseconds: SenderReports.intervalNanoseconds)
    offerCompounds(at: now, isLast: false)
  }

  private mutating func offerCompounds(at now: Instant, isLast: Bool) {
    for compound in compounds(at: now, isLast: isLast) {
      delivery.offer(
        control: compound.bytes, ofTrack: compound.track,
        above: compound.isAmongMedia ? nil : controlOffset, at: now)
    }
  }

  private mutating func release(by now: Instant) -> PacketFeed.Packet? {
    guard let packet = delivery.release(by: now) else { return nil }
    if !packet.isControl {
      lastDeparture = now
      if !packet.isAnswer { lastUnasked = now }
    }
    count(packet.bytes)
    return packet
  }

  /// Prepares what is sent next.
  ///
  /// This reads or encodes, so it is best done after sending.
  ///
  /// - Throws: ``SendError`` when a source cannot be read on.
  public mutating func prepare() throws {
    try delivery.prepare()
    isPrepared = true
  }

  /// The packets that answer RTCP of one receiver among several.
  mutating func answers(to datagram: ByteBuffer, at now: Instant) -> [PacketFeed.Packet] {
    delivery.answers(to: datagram, at: now)
  }

  /// How the tracks came through to the receiver whose RTCP was taken last, if that said so.
  mutating func takeReceptions(at now: Instant) -> [Int: ReportedReception] {
    let time = SenderReports.ntpTime(unixNanoseconds(at: now))
    return Dictionary(
      uniqueKeysWithValues: delivery.takeReceptions().map { track, own in
        let jitter = Int64(own.report.jitter) * 1_000_000_000 / Int64(own.rate)
        let reception = ReportedReception(
          track: names[track], lost: Int(own.report.lost), jitter: .nanoseconds(jitter),
          roundTrip: own.report.roundTrip(at: time))
        return (track, reception)
      })
  }

  mutating func requestKeyPicture(at now: Instant) { delivery.requestKeyPicture(at: now) }

  /// The parameter sets of the pictures that are sent now, once they are known.
  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? { delivery.parameterSets }

  /// Whether there is anything that goes on while nothing is due.
  var isLive: Bool { delivery.isLive }

  /// From now on nothing is due.
  mutating func hold(at now: Instant) { delivery.hold(at: now) }

  /// Goes on as if no time had passed, with a report to say so.
  mutating func resume(at now: Instant) {
    delivery.resume(at: now)
    nextReport = now
    isPrepared = true
  }

  /// Plays a part of a file: another one, or goes on with the present one, of which `waiting` is
  /// still with its client.
  ///
  /// - Throws: ``SendError`` when it cannot be read there.
  mutating func play(
    _ wanted: Passage, in survey: FileSurvey, behind waiting: [PacketFeed.Packet] = [],
    at now: Instant
  ) throws -> PassageBeginning {
    var wanted = wanted
    // Sound alone has one pace.
    if videoTrack == nil { wanted.scale = 1 }
    if wanted.start == nil, isFinished, !waiting.contains(where: { !$0.isControl }) {
      wanted.start = 0
    }
    let isAtBeginning = report.datagrams == 0 && wanted.start ?? 0 <= 0
    let isSame = wanted.scale == passage.scale && wanted.speed == passage.speed
    let goesOn = isSame && wanted.end == nil && (wanted.start == nil || isAtBeginning)
    if goesOn {
      wanted.end = isAtBeginning ? nil : passage.end
      resume(at: now)
    } else {
      if wanted.start == nil, wanted.end == nil { wanted.end = passage.end }
      try delivery.play(wanted, speed * wanted.speed, in: survey, at: now)
      (lastDeparture, lastUnasked) = (Instant(nanoseconds: .min), Instant(nanoseconds: .min))
      hasReportedEnd = patience == 0
      nextReport = now
      isPrepared = true
    }
    passage = wanted
    var beginning = beginning(behind: goesOn ? waiting : [])
    beginning.isElsewhere = !goesOn
    let begin = beginning.start.map { delivery.sourceTime(of: $0) } ?? delivery.position
    beginning.start = max(0, begin.subtractingSaturating(survey.start))
    beginning.end = wanted.end ?? survey.duration
    (beginning.scale, beginning.speed) = (wanted.scale, wanted.speed)
    return beginning
  }

  /// The first packets of the tracks where `packets` come before what is next, and the media time
  /// at which the first of them begins.
  func beginning(behind packets: [PacketFeed.Packet]) -> PassageBeginning {
    var firsts: [Int: (sequence: UInt16, time: Int64)] = [:]
    for track in delivery.streams.indices {
      let bytes =
        packets.first { $0.track == track && !$0.isControl }?.bytes
        ?? delivery.nextPacket(ofTrack: track)
      guard let bytes, let sequence = bytes.rtpSequence, let timestamp = bytes.rtpTimestamp else {
        continue
      }
      firsts[track] = (sequence, delivery.time(ofTimestamp: timestamp, ofTrack: track))
    }
    var beginning = PassageBeginning()
    beginning.start = firsts.values.map(\.time).min()
    guard let start = beginning.start else { return beginning }
    for (track, first) in firsts {
      beginning.packets[track] = PassageBeginning.FirstPacket(
        sequence: first.sequence, timestamp: delivery.timestamp(of: start, ofTrack: track))
    }
    return beginning
  }

  /// Sender reports of the tracks for a receiver that joins a running stream.
  ///
  /// They go to that receiver alone, but through the simulated network that all share.
  mutating func reports(at now: Instant) -> [PacketFeed.Packet] {
    guard sendsRTCP else { return [] }
    let packets = compounds(at: now, isLast: false)
    for packet in packets { count(packet.bytes) }
    return packets
  }

  /// The last datagrams, if any are due to the receiver: one for each track, which the network may
  /// lose like others, but does not delay.
  public mutating func goodbye(at now: Instant) -> [PacketFeed.Packet] {
    guard sendsRTCP else { return [] }
    offerCompounds(at: now, isLast: true)
    let packets = delivery.releaseControl()
    for packet in packets { count(packet.bytes) }
    return packets
  }

  /// What the networks decided since the last call, if somebody wants to know.
  public mutating func takeVerdicts() -> [Verdict] { delivery.takeVerdicts() }

  /// What has been sent by `now`.
  public func report(at now: Instant) -> SendReport {
    var report = report
    report.frames = videoTrack == nil ? 0 : delivery.frameCount
    report.network = delivery.counters
    for track in delivery.streams.indices where track != videoTrack {
      report.soundPackets += delivery.counters(ofTrack: track).offered
    }
    report.refusedUnits = delivery.refusedUnits
    report.feedback = delivery.feedback
    report.duration = .nanoseconds(begin.nanoseconds(to: now))
    return report
  }

  /// A report on each track that has sent anything; all of them name the same time.
  private mutating func compounds(at now: Instant, isLast: Bool) -> [PacketFeed.Packet] {
    var packets: [PacketFeed.Packet] = []
    for case (let track, let account?) in delivery.accounts.enumerated() {
      let quirks = clockPlan.quirks(at: begin.nanoseconds(to: now))
      let time = unixNanoseconds(at: now)
      let timestamp = delivery.timestamp(at: now, ofTrack: track)
      let compound =
        isLast
        ? reports.goodbye(
          of: account, timestamp: timestamp, unixNanoseconds: time, quirks: quirks)
        : reports.report(
          on: account, timestamp: timestamp, unixNanoseconds: time, quirks: quirks)
      guard let datagram = delivery.protected(compound, ofTrack: track) else { continue }
      report.reports += 1
      let isAmongMedia = quirks.contains(.rtcpAmongMedia)
      let offset = isAmongMedia ? 0 : controlOffset
      packets.append(
        PacketFeed.Packet(
          bytes: datagram, portOffset: delivery.portOffset(ofTrack: track) + offset,
          track: track, isControl: true, isAmongMedia: isAmongMedia))
    }
    return packets
  }

  /// The time of day, with the leaps of the plan.
  private func unixNanoseconds(at now: Instant) -> UInt64 {
    let elapsed = begin.nanoseconds(to: now)
    let leaps = clockPlan.clockJumps(until: elapsed)
    return wallClock &+ UInt64(bitPattern: elapsed.addingSaturating(leaps))
  }

  /// Without any there is nothing to report on.
  private var hasPackets: Bool { delivery.accounts.contains { $0 != nil } }

  private mutating func count(_ datagram: ByteBuffer) {
    report.datagrams += 1
    report.bytes += datagram.readableBytes
  }
}

extension SendReport {
  /// Adds what was sent to another client.
  mutating func add(_ other: SendReport) {
    frames += other.frames
    soundPackets += other.soundPackets
    network.add(other.network)
    feedback.add(other.feedback)
    datagrams += other.datagrams
    bytes += other.bytes
    reports += other.reports
    refusedUnits += other.refusedUnits
    skippedUnits += other.skippedUnits
    clients += other.clients
    duration += other.duration
  }
}
