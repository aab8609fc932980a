import NIOCore
import RTPWire

/// A stream on its way to one receiver, with its RTCP: which datagram leaves when, on a virtual
/// clock.
struct StreamRun {
  private var delivery: Delivery
  private let reports = SenderReports()
  private let sendsRTCP: Bool
  private let begin: Instant
  private var nextReport: Instant
  /// The report behind the last packet has been sent, or is not needed.
  private var hasReportedEnd: Bool
  private var lastStep = Instant(nanoseconds: .min)
  /// How long requests are awaited after the last packet, in nanoseconds: as long as receivers
  /// wait.
  private let patience: Int64
  private var lastDeparture = Instant(nanoseconds: .min)
  private var report = SendReport()

  /// Opens the source and prepares its first picture; then the clock starts.
  ///
  /// - Throws: ``SendError`` when the source cannot be read.
  init(_ configuration: SenderConfiguration, clock: () -> Instant) throws {
    let network = NetworkSimulator(configuration.impairments, seed: configuration.seed)
    delivery = try Delivery(
      try PacketFeed(configuration.feed), through: network, pacing: configuration.pacing)
    sendsRTCP = configuration.sendsRTCP
    patience = configuration.feed.feedback.requests.contains(.nack) ? 1_000_000_000 : 0
    // By its count a receiver knows what it has to ask for.
    hasReportedEnd = patience == 0
    report.clients = 1
    // The time for opening and encoding is not part of the stream.
    begin = clock()
    nextReport = begin
    delivery.begin(at: begin)
  }

  /// Whether everything but the goodbye is sent, and the time for requests is over.
  var isFinished: Bool {
    delivery.isFinished && lastDeparture.advanced(byNanoseconds: patience) <= lastStep
  }

  /// Processes RTCP from the receiver.
  mutating func answer(_ datagram: ByteBuffer, at now: Instant) {
    delivery.answer(datagram, at: now)
  }

  /// When there is next something to send.
  var deadline: Instant? {
    let end = patience > 0 ? lastDeparture.advanced(byNanoseconds: patience) : nil
    guard let next = delivery.deadline ?? end else { return nil }
    return sendsRTCP ? min(next, nextReport) : next
  }

  /// Takes out the next datagram that leaves by `now`; pull until `nil`, then ``prepare()``.
  mutating func next(at now: Instant) -> PacketFeed.Packet? {
    if lastStep < now {
      lastStep = now
      delivery.step(to: now)
    }
    if let packet = delivery.release(by: now) {
      lastDeparture = now
      count(packet.bytes)
      return packet
    }
    if !hasReportedEnd, delivery.isFinished {
      hasReportedEnd = true
      nextReport = now
    }
    guard sendsRTCP, nextReport <= now else { return nil }
    nextReport = now.advanced(byNanoseconds: SenderReports.intervalNanoseconds)
    guard delivery.stream.packetCount > 0 else { return nil }
    return control(
      reports.report(
        on: delivery.stream, timestamp: delivery.timestamp(at: now),
        unixNanoseconds: WallClock.unixNanoseconds())
    ).map { PacketFeed.Packet(bytes: $0) }
  }

  /// Prepares what is sent next.
  ///
  /// This reads or encodes, so it is best done after sending.
  ///
  /// - Throws: ``SendError`` when the source cannot be read on.
  mutating func prepare() throws { try delivery.prepare() }

  /// The last datagram, if any is due to the receiver.
  mutating func goodbye(at now: Instant) -> ByteBuffer? {
    guard sendsRTCP, delivery.stream.packetCount > 0 else { return nil }
    return control(
      reports.goodbye(
        of: delivery.stream, timestamp: delivery.timestamp(at: now),
        unixNanoseconds: WallClock.unixNanoseconds()))
  }

  /// What has been sent by `now`.
  func report(at now: Instant) -> SendReport {
    var report = report
    report.frames = delivery.frameCount
    report.network = delivery.counters
    report.feedback = delivery.feedback
    report.duration = .nanoseconds(begin.nanoseconds(to: now))
    return report
  }

  private mutating func control(_ compound: ByteBuffer) -> ByteBuffer? {
    guard let datagram = delivery.protected(compound) else { return nil }
    report.reports += 1
    count(datagram)
    return datagram
  }

  private mutating func count(_ datagram: ByteBuffer) {
    report.datagrams += 1
    report.bytes += datagram.readableBytes
  }
}

extension SendReport {
  /// Adds what was sent to another client.
  mutating func add(_ other: SendReport) {
    frames += other.frames
    network.add(other.network)
    feedback.add(other.feedback)
    datagrams += other.datagrams
    bytes += other.bytes
    reports += other.reports
    clients += other.clients
    duration += other.duration
  }
}
