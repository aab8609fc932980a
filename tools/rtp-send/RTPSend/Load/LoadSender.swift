import BlockingIO
import Glibc
import Impairment
import NIOCore
import NIOPosix
import RTPWire
import Synchronization

/// What many streams at once send.
public struct LoadConfiguration: Sendable {
  /// The pictures, which have an end and are sent again and again, and the numbers of the first
  /// stream.
  public var feed: PacketFeed.Configuration
  /// How many streams there are.
  public var count: Int
  /// How often each stream sends the pictures; `nil` means no end.
  public var repetitions: Int?
  /// Pictures that each stream sends at most.
  public var frameLimit: Int?
  /// From which the numbers of the other streams are drawn.
  public var seed: UInt64 = 0
  /// Whether sender reports and goodbyes are sent.
  public var sendsRTCP = true

  public init(feed: PacketFeed.Configuration, count: Int) {
    self.feed = feed
    self.count = count
  }

  fileprivate func limit(of loop: PacketLoop) -> Int? {
    let all = repetitions.map { loop.pictures.count.multipliedReportingOverflow(by: $0) }
      .map { $0.overflow ? .max : $0.partialValue }
    return [all, frameLimit].compactMap { $0 }.min()
  }
}

/// Sends many streams of the same pictures to neighbouring ports, from a thread of its own.
///
/// The pictures are packetized once and kept in memory.
public final class LoadSender: Sendable {
  private let isStopped = Atomic(false)
  private let report: EventLoopFuture<SendReport>

  /// Reads the source, opens the socket, and begins to send to every second port from that of
  /// `destination` on.
  ///
  /// - Throws: ``SendError`` when the source or the socket cannot be opened.
  public static func start(
    _ configuration: LoadConfiguration, to destination: Destination
  ) throws -> LoadSender {
    let address = try destination.resolved()
    let loop = try PacketLoop(configuration.feed)
    let socket = try LoadSocket(
      loop, to: address, count: configuration.count,
      payloadType: configuration.feed.stream.payloadType)
    return LoadSender(configuration, loop, socket)
  }

  private init(
    _ configuration: LoadConfiguration, _ loop: PacketLoop, _ socket: sending LoadSocket
  ) {
    let promise = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: SendReport.self)
    report = promise.futureResult
    let pool = NIOThreadPool(numberOfThreads: 1)
    pool.start()
    let box = Mutex(Optional(socket))
    pool.submit { [self] _ in
      guard let socket = box.withLock({ $0.take() }) else { return }
      let result = Result { try run(configuration, loop, socket) }
      promise.completeWith(result)
      pool.shutdownGracefully { _ in }
    }
  }

  /// Says goodbye and ends; can be called at any time, from any thread, any number of times.
  public func stop() { isStopped.store(true, ordering: .relaxed) }

  /// The totals, once everything has been sent.
  ///
  /// - Throws: ``SendError`` when the network failed.
  public func finished() async throws -> SendReport { try await report.get() }

  private func run(
    _ configuration: LoadConfiguration, _ loop: PacketLoop, _ socket: LoadSocket
  ) throws -> SendReport {
    let begin = Instant.now
    let wallClock = UTC.now
    let reports = SenderReports()
    var schedule = LoadSchedule(
      loop, count: configuration.count, limit: configuration.limit(of: loop),
      first: configuration.feed.stream, seed: configuration.seed,
      sendsReports: configuration.sendsRTCP, at: begin)
    var report = SendReport()
    var items: [(stream: Int, item: LoadSchedule.Item)] = []

    func send(at time: Instant) throws(SendError) {
      for (index, item) in items {
        let stream = schedule.streams[index]
        switch item {
        case .picture(let place, let sequence, let timestamp):
          try socket.send(
            loop.pictures[place], of: index, ssrc: stream.ssrc, sequence: sequence,
            timestamp: timestamp)
        case .report(let timestamp):
          let time = wallClock &+ UInt64(clamping: begin.nanoseconds(to: time))
          try socket.send(
            reports.report(on: stream.account, timestamp: timestamp, unixNanoseconds: time),
            of: index)
          report.reports += 1
        case .goodbye(let timestamp):
          let time = wallClock &+ UInt64(clamping: begin.nanoseconds(to: time))
          try socket.send(
            reports.goodbye(of: stream.account, timestamp: timestamp, unixNanoseconds: time),
            of: index)
          report.reports += 1
        }
      }
      items.removeAll(keepingCapacity: true)
      try socket.flush()
    }

    while !isStopped.load(ordering: .relaxed) {
      let time = Instant.now
      let next = schedule.take(by: time) { items.append(($0, $1)) }
      try send(at: time)
      guard let next else {
        report.ending = .sourceEnded
        break
      }
      wait(until: next)
    }
    schedule.end(at: .now) { items.append(($0, $1)) }
    try send(at: .now)
    report.frames = schedule.pictureCount
    report.network.offered = schedule.packetCount
    report.network.delivered = schedule.packetCount
    report.datagrams = socket.datagrams
    report.bytes = socket.bytes
    report.clients = configuration.count
    report.lateness = .nanoseconds(schedule.lateness)
    report.duration = .nanoseconds(begin.nanoseconds(to: .now))
    return report
  }

  /// Sleeps until `time`, but at least for half a millisecond, so that packets gather, and at most
  /// for a twentieth of a second, so that ``stop()`` is heeded.
  private func wait(until time: Instant) {
    let rest = min(max(Instant.now.nanoseconds(to: time), 500_000), 50_000_000)
    var duration = timespec(tv_sec: 0, tv_nsec: Int(rest))
    _ = unsafe nanosleep(&duration, nil)
  }
}
