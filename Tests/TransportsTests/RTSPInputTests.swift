import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Takes apart what comes through an RTSP connection.
@Suite struct RTSPInputTests {
  // MARK: What is there whole

  @Test("messages and frames come out in order, whatever is between them")
  func recordedSession() throws {
    #expect(try elements(of: [Self.session]) == Self.sessionElements)
  }

  @Test("a session cut in two at any byte is the same session")
  func everyCut() throws {
    for cut in 1..<Self.session.count {
      let parts = [Array(Self.session[..<cut]), Array(Self.session[cut...])]
      #expect(try elements(of: parts) == Self.sessionElements, "cut at \(cut)")
    }
  }

  @Test("a session that comes byte by byte is the same session")
  func byteByByte() throws {
    #expect(try elements(of: Self.session.map { [$0] }) == Self.sessionElements)
  }

  @Test("a session cut at random places is the same session, ten thousand times")
  func randomCuts() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<10_000 {
      var parts: [[UInt8]] = []
      var rest = Self.session[...]
      while !rest.isEmpty {
        let length = min(rest.count, 1 + Int(random.next() % 200))
        parts.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
      }
      #expect(try elements(of: parts) == Self.sessionElements)
    }
  }

  @Test("what this side does not read is not overdue")
  func heldReading() throws {
    let frame = Self.frame(0, sequence: 1)
    var input = RTSPInput()
    input.assignedChannels = [0, 1]
    input.append(ByteBuffer(bytes: frame.prefix(20)))
    #expect(try input.next(at: Instant(nanoseconds: 0)) == nil)
    let later = Instant(nanoseconds: 60_000_000_000)
    input.excuseSilence(until: later)
    #expect(try input.next(at: later) == nil)
    input.append(ByteBuffer(bytes: frame.dropFirst(20)))
    #expect(try input.next(at: later) != nil)
  }

  @Test("a whole frame is a slice of the read that brought it")
  func slices() throws {
    let frame = Self.frame(0, sequence: 1)
    var input = RTSPInput()
    input.assignedChannels = [0, 1]
    let read = ByteBuffer(bytes: frame + frame + frame.dropLast())
    input.append(read)
    for _ in 0..<2 {
      guard case .frame(_, let bytes) = try input.next(at: Self.start) else {
        Issue.record("no frame")
        return
      }
      let same = bytes.withUnsafeReadableBytes { slice in
        read.withUnsafeReadableBytes { all in
          unsafe slice.baseAddress.map { unsafe all.contains(address: $0) } ?? false
        }
      }
      #expect(same)
    }
    #expect(try input.next(at: Self.start) == nil)
  }

  @Test(
    "what a device deviates in is understood all the same",
    arguments: [
      ("LF for CRLF", "RTSP/1.0 200 OK\nCSeq: 1\n\n"),
      ("CR for CRLF", "RTSP/1.0 200 OK\rCSeq: 1\r\r"),
      ("no reason", "RTSP/1.0 200\r\nCSeq: 1\r\n\r\n"),
      ("two spaces", "RTSP/1.0  200 OK\r\nCSeq: 1\r\n\r\n"),
      ("line ends before the message", "\r\n\n\r\nRTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"),
      ("a space before the message", " RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"),
      ("names in odd case", "RTSP/1.0 200 OK\r\ncSEQ: 1\r\n\r\n"),
      ("spaces around the colon", "RTSP/1.0 200 OK\r\nCSeq : 1  \t\r\n\r\n"),
      ("a line without a colon", "RTSP/1.0 200 OK\r\nnonsense\r\nCSeq: 1\r\n\r\n"),
      ("version 2.0", "RTSP/2.0 200 OK\r\nCSeq: 1\r\n\r\n"),
      ("NUL in a field", "RTSP/1.0 200 OK\r\nCSeq: 1\0\r\n\r\n"),
      ("an empty length", "RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length:\r\n\r\n"),
    ])
  func deviations(_ name: String, _ text: String) throws {
    let found = try elements(of: [Array(text.utf8)])
    guard case .response(let response)? = found.first, found.count == 1 else {
      Issue.record("\(found)")
      return
    }
    #expect(response.status == 200)
    #expect(response.headers["CSeq"] == "1")
  }

  @Test("a field continues in a line that begins with white space")
  func foldedField() throws {
    let text = "RTSP/1.0 200 OK\r\nPublic: OPTIONS,\r\n  PLAY\r\n\r\n"
    guard case .response(let response)? = try elements(of: [Array(text.utf8)]).first else {
      Issue.record("no response")
      return
    }
    #expect(response.headers["Public"] == "OPTIONS, PLAY")
  }

  // MARK: Garbage

  @Test(
    "garbage between frames costs no frame that is whole",
    arguments: [
      [0x00], [0xFF, 0x24], [0x24, 0x00], [0x24, 0x07, 0x00, 0x20, 0x20, 0x60],
      Array("RTS".utf8), Array("nonsense $$$$ RTSP".utf8), Array(repeating: 0x24, count: 4000),
      (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 167) },
    ])
  func garbage(_ garbage: [UInt8]) throws {
    var stream: [UInt8] = []
    for number in 0..<20 { stream += Self.frame(0, sequence: UInt16(number)) }
    stream += garbage
    for number in 20..<40 { stream += Self.frame(0, sequence: UInt16(number)) }
    for size in [1, 7, 1000, 1 << 20] {
      let (found, skipped) = try take(stream.chunked(by: size))
      let numbers = found.compactMap(\.sequenceNumber)
      #expect(numbers == Array(0..<40), "in parts of \(size)")
      #expect(skipped == garbage.count)
    }
  }

  @Test(
    "garbage behind each frame costs none that is whole, with and without losses",
    arguments: [[0x00], [0xFF, 0x24], Array("nonsense $$$$ RTSP".utf8)], [1, 3] as [UInt16])
  func garbageEverywhere(_ garbage: [UInt8], _ step: UInt16) throws {
    let numbers = (0..<40 as Range<UInt16>).map { 65_500 &+ $0 &* step }
    let report = [0x24, 1, 0, 28, 0x80, 200, 0, 6, 1, 2, 3, 4] + [UInt8](repeating: 7, count: 20)
    var stream: [UInt8] = []
    for number in numbers { stream += Self.frame(0, sequence: number) + garbage + report + garbage }
    for size in [1, 7, 1000, 1 << 20] {
      let (found, _) = try take(stream.chunked(by: size))
      let media = found.filter { if case .frame(channel: 0, _) = $0 { true } else { false } }
      #expect(media.compactMap(\.sequenceNumber) == numbers.map { Int($0) }, "in parts of \(size)")
      #expect(found.count == 80)
    }
  }

  @Test("behind garbage, a frame of another source needs an element behind it")
  func strangersInGarbage() throws {
    var stranger = Self.frame(0, sequence: 2)
    stranger[12] = 9
    for behind in [[0x00] + Self.frame(0, sequence: 3), Self.frame(0, sequence: 3)] {
      let (found, _) = try take([Self.frame(0, sequence: 1) + [0x00] + stranger + behind])
      #expect(found.compactMap(\.sequenceNumber) == (behind[0] == 0 ? [1, 3] : [1, 2, 3]))
    }
  }

  @Test(
    "a frame that is cut short costs itself alone",
    arguments: [1, 60, 100, 121], [1 << 20, 700, 131])
  func shortFrame(_ missing: Int, _ size: Int) throws {
    var stream: [UInt8] = []
    for number in 0..<10 { stream += Self.frame(0, sequence: UInt16(number)) }
    stream += Self.frame(0, sequence: 10).dropLast(missing)
    for number in 11..<30 { stream += Self.frame(0, sequence: UInt16(number)) }
    let (found, skipped) = try take(stream.chunked(by: size))
    #expect(found.compactMap(\.sequenceNumber) == Array(0..<10) + Array(11..<30))
    #expect(skipped == Self.frame(0, sequence: 10).count - missing)
  }

  @Test("a frame that is cut short before a response costs no response")
  func shortFrameBeforeResponse() throws {
    let response = Array("RTSP/1.0 200 OK\r\nCSeq: 4\r\n\r\n".utf8)
    let cut = Array(Self.frame(0, sequence: 1).dropLast(60))
    let found = try elements(of: [cut + response + Self.frame(0, sequence: 2)])
    #expect(found.count == 2)
    #expect(found.last?.sequenceNumber == 2)
  }

  @Test(
    "a length that lies costs no frame that is whole",
    arguments: [[0x24, 0, 0xFF, 0xFF, 0x80, 0x60], [0x24, 9, 0x40, 0x00, 0x80, 0x60]])
  func lyingLength(_ lie: [UInt8]) throws {
    var stream = Self.frame(0, sequence: 0) + lie
    for number in 1..<1000 { stream += Self.frame(0, sequence: UInt16(number)) }
    // In reads as large as the shell's, and in reads that end within the false frame.
    for size in [1 << 20, 64 << 10, 1400] {
      let (found, skipped) = try take(stream.chunked(by: size))
      #expect(found.compactMap(\.sequenceNumber) == Array(0..<1000), "in parts of \(size)")
      #expect(skipped == lie.count)
    }
  }

  @Test("an endless frame on an unassigned channel is skipped in time")
  func endlessForeignFrame() throws {
    var input = RTSPInput()
    input.assignedChannels = [0, 1]
    let lie: [UInt8] = [0x24, 9, 0xFF, 0xFF, 0x80, 0x60]
    input.append(ByteBuffer(bytes: lie + Self.frame(0, sequence: 1)))
    #expect(try input.next(at: Self.start) == nil)
    let deadline = try #require(input.deadline)
    #expect(deadline == Self.start.advanced(by: .seconds(5)))
    #expect(try input.next(at: deadline)?.sequenceNumber == 1)
    #expect(input.skipped == 6)
  }

  @Test("garbage before the first frame of all is skipped", arguments: [1, 1 << 20])
  func garbageBeforeFirstFrame(_ size: Int) throws {
    let garbage = (0..<500).map { UInt8(truncatingIfNeeded: $0 &* 167) }
    var stream = garbage
    for number in 0..<10 { stream += Self.frame(0, sequence: UInt16(number)) }
    let (found, skipped) = try take(stream.chunked(by: size))
    #expect(found.compactMap(\.sequenceNumber) == Array(0..<10))
    #expect(skipped == garbage.count)
  }

  @Test("a stray byte before a silence does not end the session")
  func strayByte() throws {
    var input = RTSPInput()
    input.assignedChannels = [0, 1]
    input.append(ByteBuffer(bytes: Self.frame(0, sequence: 1) + [0]))
    #expect(try input.next(at: Self.start)?.sequenceNumber == 1)
    #expect(try input.next(at: Self.start) == nil)
    #expect(input.deadline == nil)
    let later = Self.start.advanced(by: .seconds(30))
    input.append(ByteBuffer(bytes: Self.frame(0, sequence: 2)))
    #expect(try input.next(at: later)?.sequenceNumber == 2)
    #expect(input.skipped == 1)
  }

  @Test("garbage alone is given up after two seconds")
  func lastingGarbage() throws {
    var input = RTSPInput()
    input.append(ByteBuffer(bytes: Self.frame(0, sequence: 1) + [1]))
    input.assignedChannels = [0, 1]
    #expect(try input.next(at: Self.start)?.sequenceNumber == 1)
    for tenth in 0..<20 {
      input.append(ByteBuffer(bytes: [1]))
      #expect(try input.next(at: Self.start.advanced(by: .milliseconds(100 * tenth))) == nil)
    }
    input.append(ByteBuffer(bytes: [1]))
    #expect(throws: RTSPError.framingLost(skipped: 22)) {
      _ = try input.next(at: Self.start.advanced(by: .seconds(2)))
    }
  }

  @Test("garbage before a response is skipped")
  func garbageBeforeResponse() throws {
    let stream = Array("\u{1}\u{2}garbage RTSP/1.0 200 OK\r\nCSeq: 4\r\n\r\n".utf8)
    let (found, skipped) = try take([stream])
    #expect(found.count == 1)
    #expect(skipped == 10)
  }

  @Test("endless garbage is given up after 64 KiB")
  func endlessGarbage() {
    #expect(throws: RTSPError.self) {
      _ = try take(
        [Self.frame(0, sequence: 1)]
          + Array(repeating: [UInt8](repeating: 1, count: 1024), count: 80))
    }
  }

  @Test("a web server is recognized at once")
  func webServer() {
    #expect(throws: RTSPError.framingLost(skipped: 0)) {
      _ = try take([Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)])
    }
  }

  @Test("frames on channels that were not set up are frames, if they can be")
  func foreignChannels() throws {
    let (found, skipped) = try take([Self.frame(6, sequence: 9), Self.frame(0, sequence: 10)])
    #expect(found.compactMap(\.sequenceNumber) == [9, 10])
    #expect(skipped == 0)
  }

  @Test("frames of any length are recognized", arguments: [0, 1, 7, 8, 65_535], [UInt8(0), 9])
  func lengths(_ length: Int, _ channel: UInt8) throws {
    let content = [UInt8](repeating: 0x80, count: length)
    let header = [0x24, channel, UInt8(length >> 8), UInt8(length & 0xFF)]
    let (found, _) = try take([header + content, Self.frame(0, sequence: 10)])
    #expect(found.last?.sequenceNumber == 10)
    if channel == 0 { #expect(found.count == 2) }
  }

  @Test(
    "one wrong, missing or additional byte costs one frame, and none that is whole",
    arguments: [1 << 20, 64 << 10, 1400])
  func oneByte(_ size: Int) throws {
    // Long enough for a frame that claims to be as long as can be.
    let frames = (0..<600).map { Self.frame(UInt8($0 % 7 / 6), sequence: UInt16($0)) }
    let packets = frames.map { ByteBuffer(bytes: $0.dropFirst(4)) }
    var random = SeededGenerator(seed: UInt64(size))
    for _ in 0..<100 {
      let victim = Int(random.next() % 20)
      var broken = frames[victim]
      // Headers are hit as often as payloads.
      let index = Int(random.next() % (random.next() % 2 == 0 ? 16 : UInt64(broken.count)))
      switch random.next() % 3 {
      case 0: broken[index] ^= UInt8(truncatingIfNeeded: 1 + random.next() % 255)
      case 1: broken.remove(at: index)
      default: broken.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
      }
      let stream = frames[..<victim].joined() + broken + frames[(victim + 1)...].joined()
      let found = try take(Array(stream).chunked(by: size)).elements
      var whole: [Int] = []
      for case .frame(_, let bytes) in found {
        let number = Int(bytes.getInteger(at: bytes.readerIndex + 2, as: UInt16.self) ?? .max)
        guard number < packets.count, packets[number] == bytes else { continue }
        whole.append(number)
      }
      let lost = Set(0..<600).subtracting(whole + [victim])
      // A frame that nothing follows yet is accepted, so a read that ends there can cost the next
      // one.
      let isLost = lost.isEmpty || (size < 1 << 20 && lost == [victim + 1])
      #expect(isLost, "\(victim) broken at \(index): \(broken.prefix(20)); lost \(lost)")
      #expect(whole == whole.sorted())
    }
  }

  // MARK: Limits and time

  @Test(
    "what exceeds a limit is an error at once",
    arguments: [
      "RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n",
      "RTSP/1.0 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n",
      "RTSP/1.0 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n",
      "RTSP/1.0 200 OK\r\nContent-Length: 131073\r\n\r\n",
      "RTSP/1.0 200 OK\r\nContent-Length: twelve\r\n\r\n",
      "RTSP/1.0 200 OK\r\nA: " + String(repeating: "a", count: 1 << 20),
      "RTSP/1.0 200 OK\r\n" + String(repeating: "a: b\r\n", count: 100_000),
      "RTSP/1.0 200 OK\r\n"
        + String(repeating: String(repeating: "x", count: 1000) + "\r\n", count: 66),
    ])
  func limits(_ text: String) {
    #expect(throws: RTSPError.self) { _ = try take(Array(text.utf8).chunked(by: 4096)) }
  }

  @Test(
    "a length that is none is told apart from one that is too large",
    arguments: [
      ("-1", RTSPError.invalidLength("-1")), ("twelve", .invalidLength("twelve")),
      ("9223372036854775808", .messageTooLarge(what: "body", limit: 131_072)),
      ("131073", .messageTooLarge(what: "body", limit: 131_072)),
    ])
  func lengths(_ length: String, _ error: RTSPError) {
    let text = "RTSP/1.0 200 OK\r\nContent-Length: \(length)\r\n\r\n"
    #expect(throws: error) { _ = try take([Array(text.utf8)]) }
  }

  @Test(
    "what begins and does not end is given up in its time",
    arguments: [
      (Array("RTSP/1.0 200 OK\r\nCSeq".utf8), 10), (Array("RTS".utf8), 10),
      (Array("RTSP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nabc".utf8), 10),
      ([0x24, 0, 5, 0, 0x80, 0x60, 1, 2], 5), ([0x24, 0], 5), ([1, 2, 3], 2),
    ])
  func slowness(_ bytes: [UInt8], _ seconds: Int) throws {
    var input = RTSPInput()
    input.assignedChannels = [0, 1]
    input.append(ByteBuffer(bytes: bytes))
    #expect(try input.next(at: Self.start) == nil)
    let deadline = Self.start.advanced(by: .seconds(seconds))
    #expect(input.deadline == deadline)
    #expect(try input.next(at: deadline.advanced(by: .nanoseconds(-1))) == nil)
    #expect(throws: RTSPError.self) { _ = try input.next(at: deadline) }
  }

  @Test(
    "whatever comes, frames are pieces of it in their order, and nothing is waited for for ever")
  func anything() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<20_000 {
      var bytes = Self.session
      for _ in 0..<1 + random.next() % 8 {
        let index = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: index)
        default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        }
      }
      let parts = bytes.chunked(by: 1 + Int(random.next() % 600))
      // At an offset in the buffer, because slices of reads do not begin at 0.
      let offset = Int(random.next() % 8)
      var (input, found, failure) = parse(parts, offset: offset)
      expectPieces(found, of: bytes, skipped: input.skipped)
      // What has begun ends at its deadline: it is skipped, or the connection is given up.
      var steps = 0
      while failure == nil, let deadline = input.deadline {
        #expect(deadline > Self.start)
        steps += 1
        try #require(steps <= bytes.count, "it waits again and again: \(bytes)")
        failure = drain(&input, at: deadline, to: &found)
      }
      expectPieces(found, of: bytes, skipped: input.skipped)
    }
  }

  @Test("whatever came, what is right afterwards comes out, unless the connection is given up")
  func recovery() throws {
    var random = SeededGenerator(seed: 4)
    // More than a broken length can swallow: a body of 131,072 bytes, or a frame of 65,535.
    let frames = (0..<1200).map { Self.frame(0, sequence: UInt16($0)) }
    for _ in 0..<40 {
      var bytes = Self.session
      for _ in 0..<1 + random.next() % 8 {
        bytes[random.integer(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      }
      let parts = (bytes + frames.joined()).chunked(by: 1400)
      let (_, found, failure) = parse(parts)
      if failure == nil {
        #expect(found.last?.sequenceNumber == 1199, "\(bytes)")
        #expect(found.suffix(100).compactMap(\.sequenceNumber) == Array(1100..<1200), "\(bytes)")
      }
    }
  }

  /// Expects that the frames lie in `bytes` one behind the other, and that nothing counts twice.
  private func expectPieces(_ found: [RTSPElement], of bytes: [UInt8], skipped: UInt64) {
    let all = Data(bytes)
    var place = all.startIndex
    var length = 0
    for case .frame(let channel, let packet) in found {
      let count = packet.readableBytes
      let frame =
        [UInt8(ascii: "$"), channel, UInt8(count >> 8), UInt8(count & 0xFF)]
        + packet.readableBytesView
      length += frame.count
      guard let range = all.range(of: Data(frame), in: place..<all.endIndex) else {
        Issue.record("a frame that nobody sent, of \(frame.count) bytes in \(bytes)")
        return
      }
      place = range.upperBound
    }
    #expect(length + Int(skipped) <= bytes.count)
  }

  // MARK: Material

  private static let start = Instant(nanoseconds: 1_000_000_000)

  private static func frame(_ channel: UInt8, sequence: UInt16) -> [UInt8] {
    let count = 100 + Int(sequence % 50)
    let packet: [UInt8] =
      [0x80, 0x60, UInt8(sequence >> 8), UInt8(sequence & 0xFF), 0, 0, 0, 9, 1, 2, 3, 4]
      + (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + Int(sequence)) }
    return [0x24, channel, UInt8(packet.count >> 8), UInt8(packet.count & 0xFF)] + packet
  }

  private static let report: [UInt8] =
    [0x24, 1, 0, 28, 0x80, 200, 0, 6] + [UInt8](repeating: 7, count: 24)

  private static let sessionParts: [([UInt8], RTSPElement)] = {
    func response(_ fields: [(String, String)], _ body: String = "") -> ([UInt8], RTSPElement) {
      var headers = RTSPHeaders()
      var text = "RTSP/1.0 200 OK\r\n"
      for (name, value) in fields {
        headers.add(name, value)
        text += "\(name): \(value)\r\n"
      }
      text += "\r\n" + body
      return (
        Array(text.utf8),
        .response(
          RTSPResponse(status: 200, reason: "OK", headers: headers, body: Array(body.utf8)))
      )
    }
    func frame(_ bytes: [UInt8]) -> ([UInt8], RTSPElement) {
      (bytes, .frame(channel: bytes[1], ByteBuffer(bytes: bytes[4...])))
    }
    var headers = RTSPHeaders()
    headers.add("CSeq", "1")
    let body = "v=0\r\n$\u{0}m=video 0 RTP/AVP 96\r\nRTSP/1.0 200 OK\r\n\r\n"
    return [
      response([("CSeq", "1"), ("Public", "OPTIONS, DESCRIBE")]),
      response([("CSeq", "2"), ("Content-Length", "\(body.utf8.count)")], body),
      frame(Self.frame(0, sequence: 1)), frame(Self.frame(0, sequence: 2)),
      response([("CSeq", "3"), ("Session", "1;timeout=60")]),
      frame(Self.report),
      (
        Array("OPTIONS rtsp://a/ RTSP/1.0\r\nCSeq: 1\r\n\r\n".utf8),
        .request(RTSPRequest(method: "OPTIONS", uri: "rtsp://a/", headers: headers))
      ),
      (Array("\r\n".utf8) + Self.frame(0, sequence: 3), frame(Self.frame(0, sequence: 3)).1),
      frame(Self.frame(2, sequence: 4)),
      frame(Self.frame(0, sequence: 5)),
    ]
  }()
  private static let session = sessionParts.flatMap(\.0)
  private static let sessionElements = sessionParts.map(\.1)

  /// Takes apart what comes, until it is given up.
  private func parse(
    _ parts: [[UInt8]], offset: Int = 0
  ) -> (input: RTSPInput, found: [RTSPElement], failure: RTSPError?) {
    var input = RTSPInput()
    input.assignedChannels = [0, 1]
    var found: [RTSPElement] = []
    for part in parts {
      var bytes = ByteBuffer(bytes: [UInt8](repeating: 0x24, count: offset) + part)
      bytes.moveReaderIndex(forwardBy: offset)
      input.append(bytes)
      if let failure = drain(&input, at: Self.start, to: &found) { return (input, found, failure) }
    }
    return (input, found, nil)
  }

  private func drain(
    _ input: inout RTSPInput, at now: Instant, to found: inout [RTSPElement]
  ) -> RTSPError? {
    do throws(RTSPError) {
      while let element = try input.next(at: now) { found.append(element) }
      return nil
    } catch {
      return error
    }
  }

  private func elements(of parts: [[UInt8]]) throws -> [RTSPElement] { try take(parts).elements }

  private func take(
    _ parts: [[UInt8]], offset: Int = 0
  ) throws -> (elements: [RTSPElement], skipped: Int) {
    let (input, found, failure) = parse(parts, offset: offset)
    if let failure { throw failure }
    return (found, Int(input.skipped))
  }
}

extension RTSPElement {
  /// The sequence number of an RTP packet in a frame.
  fileprivate var sequenceNumber: Int? {
    guard case .frame(_, let bytes) = self else { return nil }
    return (try? RTPPacket(parsing: bytes)).map { Int($0.sequenceNumber.rawValue) }
  }
}

extension Array where Element == UInt8 {
  fileprivate func chunked(by size: Int) -> [[UInt8]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min(count, $0 + size)]) }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func contains(address: UnsafeRawPointer) -> Bool {
    guard let baseAddress else { return false }
    return unsafe address >= baseAddress && address < baseAddress + count
  }
}
