import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Transports

/// A transport that delivers what a test gives it.
private final class Carrier: RTPTransport {
  let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
  let sent = Record<ByteBuffer>()
  private let sink = Mutex<(any DatagramSink)?>(nil)

  var clock: ArrivalClock { .monotonic }
  var isPassive: Bool { false }
  var longestSilence: Duration? { nil }
  var takesReports: Bool { true }

  func open(delivering sink: any DatagramSink) async throws {
    self.sink.withLock { $0 = sink }
    try await eventLoop.submit { sink.describe([MediaDescription(kind: .video)]) }.get()
  }

  func deliver(
    _ packets: [ByteBuffer], on channel: Datagram.Channel = .media,
    from origin: SocketAddress? = nil
  ) async throws {
    try await eventLoop.submit { [self] in
      guard let sink = sink.withLock({ $0 }) else { return }
      let now = Instant(NIODeadline.now())
      for packet in packets {
        sink.receive(Datagram(bytes: packet, arrival: now, channel: channel, origin: origin))
      }
      sink.readCompleted(at: now)
    }.get()
  }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) { sent.append(bytes) }
  func holdReading(_ isHeld: Bool) {}
  func counters() async -> TransportCounters { TransportCounters() }

  func close() {
    eventLoop.execute { [self] in
      let sink = sink.withLock { sink in
        defer { sink = nil }
        return sink
      }
      sink?.transportEnded(.closed)
    }
  }
}

@Suite("A transport of protected packets")
struct SRTPTransportTests {
  private let carrier = Carrier()
  private let sink = RecordingSink()

  private func opened(_ keys: SRTPConfiguration.Keys) async throws -> SRTPTransport {
    var configuration = SRTPConfiguration(keys: keys)
    configuration.allowsWeak = true
    let transport = SRTPTransport(wrapping: carrier, configuration)
    try await transport.open(delivering: sink)
    return transport
  }

  private func counters(
    of transport: SRTPTransport, until isReached: (SRTPCounters) -> Bool
  ) async throws -> SRTPCounters {
    try await eventualValue(of: "other counters") {
      let counters = try #require(await transport.counters().srtp)
      return isReached(counters) ? counters : nil
    }
  }

  @Test("passes on what was protected, byte for byte", arguments: SRTPSuite.allCases)
  func bytes(_ suite: SRTPSuite) async throws {
    let sender = try ProtectingSender(srtpKey(suite, identifier: [1]))
    let transport = try await opened(.fixed([sender.key]))
    let sizes = [0, 1, 15, 16, 17, 1388, 9000, 65_000]
    let packets = sizes.enumerated().map { rtp(UInt16($0.offset), payload: $0.element) }
    try await carrier.deliver(packets.map { try sender.protect($0) })
    try await carrier.deliver([sender.protect(senderReport(), isControl: true)], on: .control)
    let delivered = try await sink.datagrams.first(packets.count + 1)
    #expect(delivered.map(\.bytes) == packets + [senderReport()])
    #expect(delivered.last?.channel == .control)
    let counters = await transport.counters()
    #expect(counters.delivered == UInt64(packets.count + 1))
    #expect(counters.srtp?.authenticated == UInt64(packets.count + 1))
    transport.close()
    _ = try await sink.ends.first(1)
  }

  /// The sink may hold the transport, as that of a receiver does.
  @Test("lets go of its sink where the carrier cannot be opened")
  func refused() async throws {
    let carrier = UDPTransport(
      role: .listener(.init(host: "127.0.0.1", port: 0)),
      on: MultiThreadedEventLoopGroup.singleton.next())
    carrier.close()
    let transport = SRTPTransport(
      wrapping: carrier, SRTPConfiguration(keys: .fixed([try srtpKey()])))
    let held = await WeakSink(refusedBy: transport)
    try await eventually("the sink is let go of") { held.sink == nil }
    #expect(await transport.counters().srtp != nil)
  }

  @Test(
    "protects what is sent back, once it is known under which key", arguments: SRTPSuite.allCases)
  func feedback(_ suite: SRTPSuite) async throws {
    let sender = try ProtectingSender(srtpKey(suite, identifier: [1, 2]))
    let transport = try await opened(.fixed([sender.key]))
    transport.sendFeedback(senderReport(ssrc: 99), track: 0)
    try await carrier.deliver([sender.protect(rtp(1))])
    transport.sendFeedback(senderReport(ssrc: 99), track: 0)
    transport.sendFeedback(senderReport(ssrc: 99), track: 0)
    let sent = try await carrier.sent.first(2)
    var farEnd = try SRTPSession(sender.key)
    #expect(sent[0] != sent[1])
    for packet in sent {
      #expect(farEnd.take(packet, isControl: true) == .passed(senderReport(ssrc: 99)))
    }
    transport.close()
  }

  @Test("shares the storage of a read with others without changing it for them")
  func sharedStorage() async throws {
    let sender = try ProtectingSender(srtpKey())
    _ = try await opened(.fixed([sender.key]))
    var slab = ByteBuffer()
    let protected = try (0..<4).map { try sender.protect(rtp($0, payload: 100)) }
    for packet in protected { slab.writeImmutableBuffer(packet) }
    let copy = ByteBuffer(bytes: slab.readableBytesView)
    var rest = slab
    try await carrier.deliver(
      protected.map { rest.readSlice(length: $0.readableBytes) ?? ByteBuffer() })
    let delivered = try await sink.datagrams.first(4)
    #expect(delivered.map(\.bytes) == (0..<4).map { rtp($0, payload: 100) })
    #expect(slab == copy)
  }

  // MARK: Keys that are asked for

  @Test("holds packets until their key comes, and asks once")
  func slowSupplier() async throws {
    let keys = try (1...2).map { try srtpKey(seed: UInt64($0)) }
    let asked = Record<SRTPKeyRequest>()
    let promise = carrier.eventLoop.makePromise(of: Void.self)
    let transport = try await opened(
      .asked(suite: .aesCM128SHA1Tag80) { request in
        asked.append(request)
        if request.ssrc == 1 { try await promise.futureResult.get() }
        return keys[Int(request.ssrc) - 1]
      })
    let senders = try keys.map { try ProtectingSender($0) }
    try await carrier.deliver((0..<20).map { try senders[0].protect(rtp($0, ssrc: 1)) })
    try await carrier.deliver((0..<20).map { try senders[1].protect(rtp($0, ssrc: 2)) })
    // The second key is there at once, and its packets pass those of the first.
    let second = try await sink.datagrams.first(20)
    #expect(second.map(\.bytes) == (0..<20).map { rtp($0, ssrc: 2) })
    #expect(try await counters(of: transport) { $0.held == 20 }.authenticated == 20)
    promise.succeed()
    let all = try await sink.datagrams.first(40)
    #expect(all.suffix(20).map(\.bytes) == (0..<20).map { rtp($0, ssrc: 1) })
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.arrival <= $1.arrival })
    try await carrier.deliver([senders[0].protect(rtp(20, ssrc: 1))])
    _ = try await sink.datagrams.first(41)
    #expect(Set(asked.elements).count == asked.elements.count)
    #expect(asked.elements.count == 2)
  }

  /// The same source sends both, so that one key would make one key stream (RFC 3711 §9.1).
  @Test("accepts a retransmission session only with its own keys", arguments: [true, false])
  func retransmissionSession(hasKeys: Bool) async throws {
    let (media, again) = (
      try ProtectingSender(srtpKey()), try ProtectingSender(srtpKey(.aesGCM256, seed: 2))
    )
    var configuration = SRTPConfiguration(keys: .fixed([media.key]))
    if hasKeys { configuration.retransmissionKeys = [again.key] }
    let transport = SRTPTransport(wrapping: carrier, configuration)
    try await transport.open(delivering: sink)
    try await carrier.deliver([media.protect(rtp(1))])
    try await carrier.deliver(
      [media.protect(rtp(2)), again.protect(rtp(3)), again.protect(rtp(4))], on: .retransmission)
    try await carrier.deliver([again.protect(rtp(5)), media.protect(rtp(6))])
    let counters = try await counters(of: transport) { $0.dropped >= (hasKeys ? 2 : 4) }
    let expected: [UInt16] = hasKeys ? [1, 3, 4, 6] : [1, 6]
    let datagrams = try await sink.datagrams.first(expected.count)
    #expect(datagrams.map(\.bytes) == expected.map { rtp($0) })
    #expect(
      datagrams.map(\.channel)
        == (hasKeys ? [.media, .retransmission, .retransmission, .media] : [.media, .media]))
    #expect(counters.authenticated == UInt64(expected.count))
    #expect(counters.noKey == (hasKeys ? 0 : 3))
  }

  @Test("asks for each identifier once, whatever source names it")
  func identifiers() async throws {
    let key = try srtpKey(identifier: [5])
    let asked = Record<SRTPKeyRequest>()
    _ = try await opened(
      .asked(suite: .aesCM128SHA1Tag80, identifierLength: 1) { request in
        asked.append(request)
        return key
      })
    let sender = try ProtectingSender(key)
    try await carrier.deliver([sender.protect(rtp(1, ssrc: 1))])
    _ = try await sink.datagrams.first(1)
    try await carrier.deliver([sender.protect(rtp(1, ssrc: 2))])
    _ = try await sink.datagrams.first(2)
    #expect(asked.elements == [SRTPKeyRequest(ssrc: 1, identifier: [5])])
  }

  enum Refusal: CaseIterable { case nothing, error, otherSuite, otherIdentifier }
  private struct Refused: Error {}

  @Test("lives with a supplier that has no key", arguments: Refusal.allCases)
  func noKey(_ refusal: Refusal) async throws {
    let asked = Record<SRTPKeyRequest>()
    let transport = try await opened(
      .asked(suite: .aesCM128SHA1Tag80) { request in
        asked.append(request)
        switch refusal {
        case .nothing: return nil
        case .error: throw Refused()
        case .otherSuite: return try srtpKey(.aesGCM128)
        case .otherIdentifier: return try srtpKey(identifier: [1])
        }
      })
    let sender = try ProtectingSender(srtpKey())
    try await carrier.deliver((0..<10).map { try sender.protect(rtp($0)) })
    _ = try await counters(of: transport) { $0.noKey == 10 }
    try await carrier.deliver((10..<20).map { try sender.protect(rtp($0)) })
    let counters = try await counters(of: transport) { $0.noKey == 20 }
    #expect(counters.keyFailures == 1)
    #expect(counters.held == 0)
    #expect(asked.elements.count == 1)
    #expect(sink.datagrams.elements.isEmpty)
  }

  @Test("bounds what waits for a supplier that never answers, and releases it at the end")
  func silentSupplier() async throws {
    let cancelled = Record<Bool>()
    let transport = try await opened(
      .asked(suite: .aesCM128SHA1Tag80) { _ in
        do { try await Task.sleep(for: .seconds(3600)) } catch { cancelled.append(true) }
        return nil
      })
    var random = SeededGenerator(seed: 9)
    // Each source is new, and each packet is held or dropped.
    for _ in 0..<100 {
      try await carrier.deliver(
        (0..<100).map { rtp($0, ssrc: UInt32(truncatingIfNeeded: random.next()), payload: 1000) })
    }
    for _ in 0..<20 { try await carrier.deliver((0..<100).map { rtp($0, payload: 1000) }) }
    let counters = try await counters(of: transport) { $0.keyRequests > 0 }
    #expect(counters.keyRequests == UInt64(SRTPReception.maximumInquiries))
    #expect(counters.held <= UInt64(HeldDatagrams.maximumCount))
    #expect(counters.held + counters.heldTooLong + counters.noKey == 12_000)
    transport.close()
    _ = try await sink.ends.first(1)
    _ = try await cancelled.first(SRTPReception.maximumInquiries)
    #expect(sink.datagrams.elements.isEmpty)
  }

  @Test("asks about the sender whose media is authentic before anybody else")
  func knownSenderFirst() async throws {
    let key = try srtpKey()
    let transport = try await opened(
      .asked(suite: .aesCM128SHA1Tag80) { request in
        if request.ssrc < 10 { return key }
        try await Task.sleep(for: .seconds(3600))
        return nil
      })
    let sender = try ProtectingSender(key)
    let home = endpoint("192.0.2.1", 5000)
    try await carrier.deliver([sender.protect(rtp(1, ssrc: 1))], from: home)
    _ = try await sink.datagrams.first(1)
    for host in 10..<30 {
      try await carrier.deliver(
        [rtp(1, ssrc: UInt32(host), payload: 100)], from: endpoint("198.51.100.\(host)", 5000))
    }
    let flooded = try await counters(of: transport) { $0.keyRequests > 1 }
    #expect(flooded.keyRequests == 1 + UInt64(SRTPReception.maximumInquiries))
    try await carrier.deliver([sender.protect(rtp(2, ssrc: 2))], from: home)
    #expect(try await sink.datagrams.first(2).last?.bytes == rtp(2, ssrc: 2))
    transport.close()
  }

  @Test("asks seldom about what one address sends")
  func allowance() {
    var allowance = SRTPInquiryAllowance()
    let flood = endpoint("198.51.100.1", 5000)
    let home = endpoint("192.0.2.1", 5000)
    var made = 0
    for millisecond in 0..<10_000 as Range<Int64> {
      let now = Instant(nanoseconds: millisecond * 1_000_000)
      if allowance.take(for: flood, isKnown: false, at: now) { made += 1 }
    }
    #expect(made == 13)
    let end = Instant(nanoseconds: 10_000_000_000)
    let isHeard = allowance.take(for: home, isKnown: false, at: end)
    #expect(isHeard)
    for host in 2..<250 {
      _ = allowance.take(for: endpoint("198.51.100.\(host)", 5000), isKnown: false, at: end)
    }
    let isStranger = allowance.take(for: home, isKnown: false, at: end)
    #expect(!isStranger)
    let isKnown = allowance.take(for: home, isKnown: true, at: end)
    #expect(isKnown)
  }

  // MARK: Over UDP

  /// Packets that are not authentic do not decide the source, before the sender or after it.
  @Test("accepts the stream from the sender with the key, whoever sent first")
  func sourceIsProven() async throws {
    let key = try srtpKey()
    let sender = try ProtectingSender(key)
    let udp = UDPTransport(
      role: .listener(.init(host: "127.0.0.1", port: 0)), on: carrier.eventLoop)
    let transport = SRTPTransport(wrapping: udp, SRTPConfiguration(keys: .fixed([key])))
    try await transport.open(delivering: sink)
    let address = try #require(await udp.localAddress())
    let attacker = try await FarEnd()
    let genuine = try await FarEnd()
    for number in UInt16(0)..<50 {
      try await attacker.send(rtp(number, payload: 100), to: address)
    }
    _ = try await counters(of: transport) { $0.authenticationFailed == 50 }
    try await genuine.send(sender.protect(rtp(1)), sender.protect(rtp(2)), to: address)
    #expect(try await sink.datagrams.first(2).map(\.bytes) == [rtp(1), rtp(2)])
    // Now even what is authentic is taken from nowhere else.
    try await attacker.send(sender.protect(rtp(3)), to: address)
    try await udp.counters { $0.foreignOrigin == 1 }
    try await genuine.send(sender.protect(rtp(4)), to: address)
    #expect(try await sink.datagrams.first(3).last?.bytes == rtp(4))
    transport.close()
    _ = try await sink.ends.first(1)
  }
}
