import BlockingIO
import NIOCore
import RTPWire
import Transports

/// Receives a camera from JetStream, on its event loop.
///
/// Messages hold RTP packets, each after its length (RFC 4571), so there is nothing to put together
/// here: what is missing of a picture is missing in the numbers of its packets.
final class JetStreamReceiver: PacketReceiver {
  private enum Phase {
    case opening(any DatagramSink)
    case open(any DatagramSink)
    case ended
  }

  /// Messages of one turn of the event loop.
  private static let turn = 16
  /// How long connecting may take.
  ///
  /// libnats bounds all of it but the handshake of TLS, and the reader what follows.
  static let openingTime = NATSLink.patience * 5

  private(set) var counters = TransportCounters()
  private let eventLoop: any EventLoop
  private var phase: Phase
  private var opening: EventLoopPromise<Void>?
  private var openingLimit: Scheduled<Void>?
  private let reading: ReadingState
  /// This, as long as it has not ended: other threads reach it on the event loop only.
  private let reached: NIOLoopBoundBox<JetStreamReceiver?>
  /// What describes the media, unless a description comes first.
  private var presumed: ByteBuffer?
  /// What is received, once that is described.
  private var media: [MediaDescription]?
  /// Who sends each track.
  private var sources: [Int: UInt32] = [:]
  /// The tracks of which nothing has come since the last description.
  private var newlyDescribed: Set<Int> = []
  private var isHeld = false
  /// The last message of a recording; `nil` for what is still to come.
  private var last: UInt64?
  private var arrivals = MonotonicArrivals()
  /// Why the reader has ended; what waits is delivered before.
  private var failure: JetStreamError?

  init(on eventLoop: any EventLoop, delivering sink: any DatagramSink) {
    self.eventLoop = eventLoop
    phase = .opening(sink)
    let reached = NIOLoopBoundBox<JetStreamReceiver?>.makeBoxSendingValue(
      nil, eventLoop: eventLoop)
    self.reached = reached
    reading = ReadingState { eventLoop.execute { reached.value?.deliver() } }
  }

  /// Starts the reader that `make` makes; the future succeeds once it reads, and fails where
  /// connecting takes longer than `limit`.
  ///
  /// Its thread may wait on then, and finds this closed afterwards.
  func begin(
    within limit: Duration = openingTime, _ make: (ReadingState) -> StreamReader
  ) -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    opening = promise
    reached.value = self
    let reader = make(reading)
    let server = reader.address.endpoint
    openingLimit = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
      [weak self] in
      self?.end(
        .failed(
          JetStreamError.notConnected(
            server: server, reason: "no answer within \(limit.components.seconds) s")))
    }
    do throws(ThreadError) {
      _ = try WorkerThread { [eventLoop, reached] in
        do throws(JetStreamError) {
          try reader.run {
            eventLoop.execute { reached.value?.openingLimit?.cancel() }
          } opened: { beginning in
            eventLoop.execute { reached.value?.opened(beginning) }
          }
        } catch {
          eventLoop.execute { reached.value?.failed(error) }
        }
      }
    } catch {
      end(.failed(error))
    }
    return promise.futureResult
  }

  private func opened(_ beginning: StreamReader.Beginning) {
    guard case .opening(let sink) = phase else { return }
    phase = .open(sink)
    last = beginning.end
    if let last { counters[.end] = last }
    presumed = beginning.description
    opening?.succeed()
    opening = nil
    deliver()
  }

  private func failed(_ error: JetStreamError) {
    failure = error
    guard case .open = phase else { return end(.failed(error)) }
    deliver()
  }

  // MARK: - Messages

  private func deliver() {
    guard case .open(let sink) = phase, !isHeld else { return }
    let now = Instant.now
    (counters[.expired], counters[.renewals]) = reading.monitor.quietly {
      ($0.expired, $0.renewals)
    }
    var taken = 0
    var isAll = false
    var isOver = false
    // The sink may hold this in the middle.
    while taken < Self.turn, !isHeld {
      guard let message = reading.takeNext() else {
        isAll = true
        break
      }
      isOver = last.map { message.sequence > $0 } ?? false
      guard !isOver else { break }
      taken += 1
      let time = last == nil ? now : Instant(nanoseconds: message.time)
      guard take(message, at: arrivals.order(time), for: sink) else { return }
      counters[.position] = message.sequence
    }
    if taken > 0 { sink.readCompleted(at: arrivals.latest) }
    guard case .open = phase else { return }
    if isOver || last.map({ counters[.position] >= $0 }) == true { return end(.ended) }
    if !isAll {
      deliverLater()
    } else if let failure {
      end(.failed(failure))
    }
  }

  private func deliverLater() {
    eventLoop.execute { [reached] in reached.value?.deliver() }
  }

  /// Takes a message; `false` if this has ended.
  private func take(
    _ message: StreamSubscription.Message, at now: Instant, for sink: any DatagramSink
  ) -> Bool {
    counters[.messages] += 1
    if let presumed, message.subject != nil {
      self.presumed = nil
      if message.subject != .description { describe(presumed) }
    }
    switch message.subject {
    case .description: describe(message.payload)
    case .video: deliver(message.payload, of: .video, at: now, to: sink)
    case .sound: deliver(message.payload, of: .audio, at: now, to: sink)
    case nil: break
    }
    guard case .open = phase else { return false }
    return true
  }

  private func deliver(
    _ payload: ByteBuffer, of kind: MediaKind, at now: Instant, to sink: any DatagramSink
  ) {
    // What is not described belongs to a description that is gone.
    guard let track = media?.firstIndex(where: { $0.kind == kind }) else { return }
    var rest = payload
    while rest.readableBytes > 0 {
      guard let packet = rest.readLengthPrefixedSlice(as: UInt16.self) else {
        counters[.malformed] += 1
        return
      }
      guard packet.readableBytes > 0 else {
        counters.empty += 1
        continue
      }
      if let former = succeeded(by: packet, on: track) {
        hand(Self.goodbye(of: former), of: track, at: now, to: sink)
        guard case .open = phase else { return }
      }
      hand(packet, of: track, at: now, to: sink)
      guard case .open = phase else { return }
    }
  }

  private func hand(
    _ packet: ByteBuffer, of track: Int, at now: Instant, to sink: any DatagramSink
  ) {
    counters.delivered += 1
    counters.deliveredBytes += UInt64(packet.readableBytes)
    sink.receive(Datagram(bytes: packet, arrival: now, track: track))
  }

  /// The source whose place `packet` takes on `track`, as the first packet behind a description.
  ///
  /// Publishers follow one another without having said goodbye, because they died or lost their
  /// lease; only one at a time has a camera. Otherwise the next one would not be believed for as
  /// long as the former one may just be silent.
  private func succeeded(by packet: ByteBuffer, on track: Int) -> UInt32? {
    guard !RTCPPacket.recognizes(packet), let packet = try? RTPPacket(parsing: packet),
      newlyDescribed.remove(track) != nil
    else { return nil }
    defer { sources[track] = packet.ssrc }
    return sources[track].flatMap { $0 == packet.ssrc ? nil : $0 }
  }

  /// An empty receiver report and BYE (RFC 3550 §6.4.2, §6.6).
  private static func goodbye(of source: UInt32) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeRTCPPacket(type: .receiverReport, count: 0) { $0.writeInteger(source) }
    bytes.writeRTCPPacket(type: .goodbye, count: 1) { $0.writeInteger(source) }
    return bytes
  }

  /// Takes a description; another one than before ends this, since what follows is something else.
  private func describe(_ text: ByteBuffer) {
    guard case .open(let sink) = phase else { return }
    do throws(SessionDescriptionError) {
      let session = try SessionDescription(parsing: Array(text.readableBytesView))
      let described = session.media.map(\.description).filter {
        [.video, .audio].contains($0.kind)
      }
      guard !described.isEmpty else {
        counters[.malformed] += 1
        return
      }
      newlyDescribed = Set(described.indices)
      guard let media else {
        self.media = described
        return sink.describe(described)
      }
      guard media.map(\.withoutSets) != described.map(\.withoutSets) else { return }
      end(.failed(JetStreamError.descriptionChanged))
    } catch {
      counters[.malformed] += 1
    }
  }

  // MARK: - Ending

  func holdReading(_ isHeld: Bool) {
    self.isHeld = isHeld
    // This may be called from within a message, whose rest comes first.
    if !isHeld { deliverLater() }
  }

  func close() { end(.closed) }

  private func end(_ end: TransportEnd) {
    let former = phase
    phase = .ended
    reading.close()
    reached.value = nil
    openingLimit?.cancel()
    switch former {
    case .opening:
      switch end {
      case .failed(let error): opening?.fail(error)
      case .closed, .ended: opening?.fail(TransportError.closed)
      }
      opening = nil
    case .open(let sink): sink.transportEnded(end)
    case .ended: break
    }
  }
}

extension MediaDescription {
  /// This without the parameter sets of pictures, which change while the stream goes on.
  fileprivate var withoutSets: MediaDescription {
    guard kind == .video else { return self }
    var media = self
    media.formatParameters = formatParameters.filter { !$0.key.hasPrefix("sprop-") }
    return media
  }
}
