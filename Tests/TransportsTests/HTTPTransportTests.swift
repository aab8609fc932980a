import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Transports

/// Streams from servers on this machine.
struct HTTPTransportTests {
  private static let packets = (0..<40).map { rtp($0, payload: 100 + 37 * Int($0)) }

  /// The packets of a stream that ends, and how it ends.
  private func receive(
    _ transport: HTTPTransport
  ) async throws -> (packets: [ByteBuffer], end: TransportEnd) {
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    let end = try await sink.ends.first(1)[0]
    let datagrams = sink.datagrams.elements
    #expect(zip(datagrams, datagrams.dropFirst()).allSatisfy { $0.arrival <= $1.arrival })
    #expect(datagrams.allSatisfy { $0.channel == .media })
    let counters = await transport.counters()
    #expect(counters.delivered == UInt64(datagrams.count))
    return (datagrams.map(\.bytes), end)
  }

  /// Why a stream could not be opened, or failed when it was.
  private func failure(_ transport: HTTPTransport) async throws -> any Error {
    do {
      let (_, end) = try await receive(transport)
      guard case .failed(let error) = end else {
        Issue.record("ended as \(end)")
        throw TransportError.closed
      }
      return error
    } catch { return error }
  }

  private static let chunkings: [(name: String, sizes: [Int])] = [
    ("one byte each", [1]), ("two bytes each", [2]), ("within the first length", [3, 1, 5000]),
    ("a packet each, with its length", packets.map { $0.readableBytes + 4 }),
    ("length and packet apart", packets.flatMap { [4, $0.readableBytes] }),
    ("all in one", [1 << 20]),
  ]

  @Test(arguments: chunkings)
  func chunksMayEndAnywhere(chunking: (name: String, sizes: [Int])) async throws {
    let body = chunked(framed(Self.packets), chunking.sizes)
    let server = try await HTTPFarEnd(streamHead, body: body)
    let transport = try HTTPTransport(server.url)
    let (packets, end) = try await receive(transport)
    #expect(packets == Self.packets)
    #expect(end.isOrderly, "\(end)")
    #expect(server.requests.elements.map(\.path) == ["/stream"])
    try await server.close()
  }

  @Test func aServerThatWantsToBeToldWhatAndHowGetsIt() async throws {
    let server = try await HTTPFarEnd { request in
      let accept = request.headers["accept"] ?? ""
      guard accept.hasPrefix("video/rtp"), request.headers["connection"] == "close" else {
        return _ = request.peer.writeAndFlush(
          ByteBuffer(string: "HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n"))
      }
      var answer = ByteBuffer(string: streamHead)
      answer.writeImmutableBuffer(chunked(framed(Self.packets), [1 << 20]))
      request.peer.writeAndFlush(answer).whenComplete { _ in request.peer.close(promise: nil) }
    }
    let (packets, end) = try await receive(try HTTPTransport(server.url))
    #expect(packets == Self.packets)
    #expect(end.isOrderly, "\(end)")
    try await server.close()
  }

  @Test func theConnectionComesFromTheAddressAndInterfaceAskedFor() async throws {
    let peers = Record<String?>()
    let server = try await HTTPFarEnd { request in
      peers.append(request.peer.remoteAddress?.ipAddress)
      var answer = ByteBuffer(string: streamHead)
      answer.writeImmutableBuffer(chunked(framed(Self.packets), [1 << 20]))
      request.peer.writeAndFlush(answer).whenComplete { _ in request.peer.close(promise: nil) }
    }
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = UDPTransport.LocalAddress(host: "127.0.0.3", port: 0)
    sockets.interface = "lo"
    let (packets, _) = try await receive(
      HTTPTransport(
        source: server.url, sockets: sockets,
        on: MultiThreadedEventLoopGroup.singleton.next()))
    #expect(packets == Self.packets)
    #expect(peers.elements == ["127.0.0.3"])
    sockets.interface = "nowhere0"
    let lost = try HTTPTransport(
      source: server.url, sockets: sockets, on: MultiThreadedEventLoopGroup.singleton.next())
    #expect(try await failure(lost) as? TransportError == .noSuchInterface(name: "nowhere0"))
    try await server.close()
  }

  @Test func aSettingThatLibcurlDoesNotTakeIsAnError() async throws {
    let transport = try HTTPTransport("http://127.0.0.1:9/") {
      // More than libcurl takes of any text.
      $0.proxy = String(repeating: "x", count: 8_000_001)
    }
    guard case .failed = try await failure(transport) as? HTTPError else {
      Issue.record("it was taken")
      return
    }
  }

  @Test func randomChunksInRandomSegmentsGiveTheSame() async throws {
    let server = try await HTTPFarEnd { request in
      var random = SeededGenerator(seed: UInt64(request.path.dropFirst()) ?? 0)
      let sizes = (0..<4000).map { _ in Int.random(in: 1...60, using: &random) }
      var bytes = ByteBuffer(string: streamHead)
      bytes.writeImmutableBuffer(chunked(framed(Self.packets), sizes))
      while bytes.readableBytes > 0 {
        let size = min(Int.random(in: 1...3000, using: &random), bytes.readableBytes)
        guard let part = bytes.readSlice(length: size) else { break }
        request.peer.writeAndFlush(part, promise: nil)
      }
      request.peer.close(promise: nil)
    }
    for seed in 0..<50 {
      let transport = try HTTPTransport("http://127.0.0.1:\(server.port)/\(seed)")
      let (packets, _) = try await receive(transport)
      #expect(packets == Self.packets, "seed \(seed)")
    }
    try await server.close()
  }

  @Test(arguments: [
    "Content-Type: video/rtp\r\nContent-Length: COUNT", "Connection: close",
    "Content-Type: application/octet-stream",
  ])
  func aBodyNeedNotBeInChunks(headers: String) async throws {
    let body = framed(Self.packets)
    let headers = headers.replacing("COUNT", with: "\(body.readableBytes)")
    let server = try await HTTPFarEnd("HTTP/1.1 200 OK\r\n\(headers)\r\n\r\n", body: body)
    let (packets, end) = try await receive(HTTPTransport(server.url))
    #expect(packets == Self.packets)
    #expect(end.isOrderly, "\(end)")
    try await server.close()
  }

  // MARK: - What is no stream

  private static let answers: [(name: String, answer: String, error: HTTPError)] = [
    ("a web page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<!DOCTYPE html>", .webPage),
    (
      "a web page that says to be a stream", "\(head("video/rtp"))<html><head></head></html>",
      .webPage
    ),
    ("a web page that says nothing", "HTTP/1.1 200 OK\r\n\r\n<!doctype html>\n", .webPage),
    ("a film", "\(head("video/mp4"))\0\0\0\u{18}ftypmp42", .otherContent(type: "video/mp4")),
    (
      "a file of something else", head("application/octet-stream") + "\0\0\0\u{18}" + text(24),
      .notPackets
    ),
    ("nothing", "HTTP/1.1 204 No Content\r\n\r\n", .noContent),
    ("an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .empty),
    (
      "an early end", head("video/rtp") + "\0\0\0\u{18}" + String(repeating: "\u{0}", count: 3),
      .endedInPacket
    ),
    (
      "not found", "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!",
      .refused(status: 404, retryAfter: nil)
    ),
    (
      "a full server", "HTTP/1.1 503 Full\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n",
      .refused(status: 503, retryAfter: 30)
    ),
    ("a closed connection", "", .closedBeforeAnswer),
    ("no HTTP", "RTSP/1.0 200 OK\r\n\r\n", .notHTTP),
    ("a login page", "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", .credentialsMissing),
    (
      "a compressed stream",
      "HTTP/1.1 200 OK\r\nContent-Type: video/rtp\r\nContent-Encoding: gzip\r\n\r\nxxxx",
      .encoded("gzip")
    ),
    (
      "headers without end",
      "HTTP/1.1 200 OK\r\n" + String(repeating: "X-A: 0123456789\r\n", count: 10_000),
      .headersTooLarge(limit: 65_536)
    ),
  ]

  private static func head(_ type: String) -> String {
    "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\r\n"
  }

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  @Test(arguments: answers)
  func whatIsNoStreamIsSaid(row: (name: String, answer: String, error: HTTPError)) async throws {
    let server = try await HTTPFarEnd(row.answer)
    let error = try await failure(HTTPTransport(server.url)) as? HTTPError
    #expect(error == row.error)
    #expect(row.error.description.count > 20)
    try await server.close()
  }

  @Test func aConnectionThatBreaksInTheBodyIsNoEnd() async throws {
    let body = chunked(framed(Self.packets), [500], ends: false)
    let server = try await HTTPFarEnd(streamHead, body: body)
    let transport = try HTTPTransport(server.url)
    let (packets, end) = try await receive(transport)
    #expect(packets == Self.packets)
    guard case .failed(HTTPError.connectionClosed) = end else {
      Issue.record("\(end)")
      return
    }
    try await server.close()
  }

  @Test(arguments: [65_536, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] as [UInt32])
  func aLengthThatNoPacketHasEndsTheStream(length: UInt32) async throws {
    var body = framed(Array(Self.packets.prefix(3)))
    body.writeInteger(length)
    body.writeRepeatingByte(7, count: 100)
    let server = try await HTTPFarEnd(streamHead, body: chunked(body, [1000]))
    let (packets, end) = try await receive(HTTPTransport(server.url))
    #expect(packets == Array(Self.packets.prefix(3)))
    guard case .failed(HTTPError.framingLost(Int(length), 65_535)) = end else {
      Issue.record("\(end)")
      return
    }
    try await server.close()
  }

  @Test func emptyAndShortPacketsAreCountedAndPassedOn() async throws {
    let short = [ByteBuffer(bytes: [0x80]), ByteBuffer(repeating: 0x80, count: 11)]
    let all = [Self.packets[0], ByteBuffer(), short[0], ByteBuffer(), short[1], Self.packets[1]]
    let server = try await HTTPFarEnd(streamHead, body: chunked(framed(all), [7]))
    let transport = try HTTPTransport(server.url)
    let (packets, _) = try await receive(transport)
    #expect(packets == [Self.packets[0], short[0], short[1], Self.packets[1]])
    #expect(await transport.counters().empty == 2)
    try await server.close()
  }

  @Test func aPacketMayHaveAnySize() async throws {
    let sizes = [12, 13, 1400, 9000, 65_534, 65_535]
    let sent = sizes.map { rtp(1, payload: $0 - 12) }
    let server = try await HTTPFarEnd(streamHead, body: chunked(framed(sent), [4096]))
    let (packets, _) = try await receive(HTTPTransport(server.url))
    #expect(packets == sent)
    try await server.close()
  }

  // MARK: - Time

  @Test func aServerThatSendsNothingIsGivenUp() async throws {
    let server = try await HTTPFarEnd(streamHead, closes: false)
    let transport = try HTTPTransport(server.url) { $0.silence = .milliseconds(1200) }
    #expect(try await failure(transport) as? HTTPError == .noMedia(seconds: 1))
    try await server.close()
  }

  @Test func bytesOfAPacketThatNeverEndsAreNoLife() async throws {
    let server = try await HTTPFarEnd { request in
      var start = ByteBuffer(string: streamHead)
      start.writeImmutableBuffer(chunked(framed(Self.packets), [1000], ends: false))
      start.writeString("4\r\n\0\0\u{40}\0\r\n")
      request.peer.writeAndFlush(start, promise: nil)
      request.peer.eventLoop.scheduleRepeatedTask(
        initialDelay: .zero, delay: .milliseconds(100)
      ) { task in
        request.peer.writeAndFlush(ByteBuffer(string: "1\r\nx\r\n")).whenFailure { _ in
          task.cancel()
        }
      }
    }
    let transport = try HTTPTransport(server.url) { $0.silence = .milliseconds(1200) }
    #expect(try await failure(transport) as? HTTPError == .mediaStopped(seconds: 1))
    try await server.close()
  }

  @Test func headersThatComeByTheByteAreGivenUp() async throws {
    let server = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nX: "), promise: nil)
      request.peer.eventLoop.scheduleRepeatedTask(
        initialDelay: .zero, delay: .milliseconds(50)
      ) { task in
        request.peer.writeAndFlush(ByteBuffer(string: "x")).whenFailure { _ in task.cancel() }
      }
    }
    let transport = try HTTPTransport(server.url) { $0.answerTime = .milliseconds(1200) }
    #expect(try await failure(transport) as? HTTPError == .noResponse(seconds: 1))
    try await server.close()
  }

  // MARK: - Many, and through others

  @Test func manyStreamsShareOneThread() async throws {
    let body = chunked(framed(Self.packets), [700], ends: false)
    let server = try await HTTPFarEnd(streamHead, body: body, closes: false)
    let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    let streams = try (0..<40).map { _ in (try HTTPTransport(server.url), RecordingSink()) }
    for (transport, sink) in streams { try await transport.open(delivering: sink) }
    for (_, sink) in streams {
      #expect(try await sink.datagrams.first(Self.packets.count).map(\.bytes) == Self.packets)
    }
    let meanwhile = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    // Those of Swift's own pools come and go beside it.
    #expect(meanwhile <= before + 10)
    for (transport, _) in streams { transport.close() }
    _ = try await server.closed.first(40)
    try await server.close()
  }

  @Test func aProxyIsUsedWhereOneIsNamed() async throws {
    let body = chunked(framed(Self.packets), [700])
    let proxy = try await HTTPFarEnd(streamHead, body: body)
    let transport = try HTTPTransport("http://camera.invalid/live") {
      $0.proxy = "http://127.0.0.1:\(proxy.port)"
    }
    #expect(try await receive(transport).packets == Self.packets)
    #expect(proxy.requests.elements.map(\.path) == ["http://camera.invalid/live"])
    try await proxy.close()
  }

  @Test func trailersBehindTheBodyConcernNobody() async throws {
    var body = chunked(framed(Self.packets), [700], ends: false)
    body.writeString("0\r\nContent-Type: text/html\r\nX-Sum: 1\r\n\r\n")
    let server = try await HTTPFarEnd(streamHead, body: body)
    let (packets, end) = try await receive(HTTPTransport(server.url))
    #expect(packets == Self.packets)
    #expect(end.isOrderly, "\(end)")
    try await server.close()
  }

  @Test func trailersWithoutEndAreGivenUp() async throws {
    let server = try await HTTPFarEnd { request in
      var start = ByteBuffer(string: streamHead)
      start.writeImmutableBuffer(chunked(framed(Self.packets), [700], ends: false))
      start.writeString("0\r\n")
      request.peer.writeAndFlush(start, promise: nil)
      let block = ByteBuffer(string: String(repeating: "X-T: 0123456789\r\n", count: 500))
      @Sendable func go() {
        request.peer.writeAndFlush(block).whenSuccess { request.peer.eventLoop.execute { go() } }
      }
      go()
    }
    let (_, end) = try await receive(HTTPTransport(server.url))
    guard case .failed(HTTPError.headersTooLarge) = end else {
      Issue.record("\(end)")
      return
    }
    try await server.close()
  }

  // MARK: - Waiting and ending

  @Test func aServerWaitsWhileTheReaderDoes() async throws {
    let total = 40_000
    let sent = Record<Int>()
    let server = try await HTTPFarEnd { request in
      request.peer.writeAndFlush(ByteBuffer(string: streamHead), promise: nil)
      @Sendable func send(_ number: Int) {
        guard number < total else {
          request.peer.writeAndFlush(ByteBuffer(string: "0\r\n\r\n"), promise: nil)
          return
        }
        let packets = (number..<number + 100).map {
          rtp(UInt16(truncatingIfNeeded: $0), payload: 1388)
        }
        request.peer.writeAndFlush(chunked(framed(packets), [8192], ends: false)).whenSuccess {
          sent.append(number)
          request.peer.eventLoop.execute { send(number + 100) }
        }
      }
      send(0)
    }
    let transport = try HTTPTransport(server.url)
    let held = Record<Void>()
    let isInOrder = Mutex(true)
    let sink = RecordingSink(keepsDatagrams: false) { datagram, count in
      let number = datagram.bytes.getInteger(at: datagram.bytes.readerIndex + 2, as: UInt16.self)
      if number != UInt16(truncatingIfNeeded: count - 1) { isInOrder.withLock { $0 = false } }
      guard count == 1 else { return }
      transport.holdReading(true)
      held.append(())
    }
    try await transport.open(delivering: sink)
    _ = try await held.first(1)
    // 56 MB are to come; what is on its way are the kernel's buffers and libcurl's.
    var before = -1
    try await eventually("the server comes to a halt") {
      defer { before = sent.elements.count }
      if sent.elements.count == before { return true }
      // That nothing more is sent shows in time alone.
      try await Task.sleep(for: .milliseconds(300))
      return false
    }
    #expect(before < total / 100, "the server did not wait")
    let whileHeld = sink.count
    #expect(whileHeld == 1)
    try await transport.eventLoop.submit { transport.holdReading(false) }.get()
    #expect(try await sink.ends.first(1)[0].isOrderly)
    #expect(sink.count == total)
    #expect(isInOrder.withLock { $0 })
    try await server.close()
  }

  @Test func closingEndsTheConnection() async throws {
    let body = chunked(framed(Self.packets), [1000], ends: false)
    let server = try await HTTPFarEnd(streamHead, body: body, closes: false)
    let transport = try HTTPTransport(server.url)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.datagrams.first(Self.packets.count)
    transport.close()
    transport.close()
    guard case .closed = try await sink.ends.first(1)[0] else {
      Issue.record("ended otherwise")
      return
    }
    _ = try await server.closed.first(1)
    await #expect(throws: TransportError.alreadyOpened) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    try await server.close()
  }

  @Test func aTransportThatIsClosedWhileItOpensSaysSo() async throws {
    let server = try await HTTPFarEnd { _ in }
    let transport = try HTTPTransport(server.url)
    let opening = Task { try await transport.open(delivering: RecordingSink()) }
    _ = try await server.requests.first(1)
    transport.close()
    await #expect(throws: TransportError.closed) { try await opening.value }
    _ = try await server.closed.first(1)
    try await server.close()
  }

  @Test func aPortWithoutServerIsSaid() async throws {
    let server = try await HTTPFarEnd("")
    try await server.close()
    let error = try await failure(HTTPTransport(server.url)) as? TransportError
    #expect(error == .connectionRefused(address: "127.0.0.1:\(server.port)"))
  }

  @Test func anAddressOfALinkNeedsTheNameOfItsInterface() async throws {
    let error = try await failure(HTTPTransport("http://[fe80::1]:9/")) as? TransportError
    #expect(error == .linkNotNamed(address: "[fe80::1]:9"))
  }

  @Test func aNameWithoutAddressIsSaid() async throws {
    let error = try await failure(HTTPTransport("http://no-such-host.invalid/")) as? TransportError
    guard case .nameNotResolved(host: "no-such-host.invalid", _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}

extension TransportEnd {
  fileprivate var isOrderly: Bool { if case .ended = self { true } else { false } }
}
