import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

@Suite("Roll-over counters and replays")
struct SRTPRolloverTests {
  /// Packets of a stream from its first one on, over as many wraps as it takes.
  private struct Stream {
    let sender: ProtectingSender
    private var number: Int

    init(_ suite: SRTPSuite = .aesCM128SHA1Tag80, from first: Int = 0) throws {
      sender = try ProtectingSender(srtpKey(suite))
      number = first
    }

    mutating func next() throws -> ByteBuffer {
      defer { number += 1 }
      return try sender.protect(rtp(UInt16(truncatingIfNeeded: number), payload: 20))
    }

    /// Continues as if `count` packets had been sent; too large a jump loses the count of wraps.
    mutating func skip(_ count: Int) throws {
      var left = count
      while left > 0 {
        number += min(left, 30_000)
        left -= min(left, 30_000)
        _ = try sender.protect(rtp(UInt16(truncatingIfNeeded: number), payload: 0))
        number += 1
      }
    }
  }

  /// cisco/libsrtp#567.
  @Test("A stream that begins near 65,535 in any order", arguments: [1, 2, 3, 4] as [UInt64])
  func wrapAtStart(_ seed: UInt64) throws {
    var stream = try Stream(from: 65_500)
    var packets: [ByteBuffer] = []
    for _ in 0..<300 { packets.append(try stream.next()) }
    var random = SeededGenerator(seed: seed)
    packets.removeAll { _ in random.next() % 10 == 0 }
    // Each packet up to 40 places from where it belongs.
    let order = packets.indices.map { ($0, Int(random.next() % 40) + $0) }.sorted {
      ($0.1, $0.0) < ($1.1, $1.0)
    }
    var session = try SRTPSession(stream.sender.key)
    for (index, _) in order { #expect(session.take(packets[index]).isPassed) }
    #expect(session.counters.authenticated == UInt64(packets.count))
  }

  /// The first packet to arrive follows the wrap: its counter is already 1.
  @Test("The first packet to come follows the wrap")
  func overtaken() throws {
    var stream = try Stream(from: 65_534)
    let packets = try (0..<5).map { _ in try stream.next() }
    var session = try SRTPSession(stream.sender.key)
    for index in [3, 0, 2, 1, 4] { #expect(session.take(packets[index]).isPassed) }
  }

  /// FFmpeg has no replay list at all.
  @Test("A packet that is sent again", arguments: [SRTPSuite.aesCM128SHA1Tag80, .aesGCM256])
  func replays(_ suite: SRTPSuite) throws {
    var stream = try Stream(suite)
    var session = try SRTPSession(stream.sender.key)
    let recorded = try stream.next()
    #expect(session.take(recorded).isPassed)
    #expect(session.take(recorded) == .replayed, "at once")
    for _ in 0..<SRTPSession.smallestReplayWindow - 1 {
      #expect(session.take(try stream.next()).isPassed)
    }
    #expect(session.take(recorded) == .replayed, "at the edge of the window")
    for _ in 0..<3000 { #expect(session.take(try stream.next()).isPassed) }
    #expect(session.take(recorded) == .replayed, "behind the window")
    for _ in 0..<65_536 - 4023 { #expect(session.take(try stream.next()).isPassed) }
    #expect(!session.take(recorded).isPassed, "behind the wrap")
    for _ in 0..<2000 { #expect(session.take(try stream.next()).isPassed) }
    #expect(!session.take(recorded).isPassed, "where its number has been again")
    // And long after anything came.
    #expect(!session.take(recorded, at: 60).isPassed)
    #expect(session.take(try stream.next(), at: 60).isPassed)
  }

  /// Its counter was one of those to be tried, before the source went on.
  @Test("A packet of a former cycle that is sent again, where a counter was searched for before")
  func replayBehindASearch() throws {
    var stream = try Stream()
    var session = try SRTPSession(stream.sender.key)
    #expect(session.take(try stream.next()).isPassed)
    let forged = try ProtectingSender(srtpKey(seed: 2)).protect(rtp(1, payload: 20))
    #expect(session.take(forged, at: 2) == .authenticationFailed)
    var recorded: [ByteBuffer] = []
    for _ in 0..<160 {
      try stream.skip(30_000)
      let packet = try stream.next()
      #expect(session.take(packet, at: 2).isPassed)
      recorded.append(packet)
    }
    // The search had come to the 65th counter, and these have the next ones.
    for (place, packet) in recorded.suffix(16).enumerated() {
      #expect(!session.take(packet, at: Double(10 + 2 * place)).isPassed)
    }
    #expect(session.take(try stream.next(), at: 60).isPassed)
  }

  @Test("A report that is sent again", arguments: [SRTPSuite.aesCM128SHA1Tag80, .aesGCM128])
  func replayedReport(_ suite: SRTPSuite) throws {
    let sender = try ProtectingSender(srtpKey(suite))
    var session = try SRTPSession(sender.key)
    let recorded = try sender.protect(senderReport(), isControl: true)
    #expect(session.take(recorded, isControl: true).isPassed)
    #expect(session.take(recorded, isControl: true) == .replayed)
    for _ in 0..<300 {
      let report = try sender.protect(senderReport(), isControl: true)
      #expect(session.take(report, isControl: true).isPassed)
    }
    #expect(session.take(recorded, isControl: true) == .replayed)
  }

  @Test("A packet that is late by less than the window", arguments: [1, 500, 1023, 2048])
  func late(_ places: Int) throws {
    var stream = try Stream()
    var session = try SRTPSession(stream.sender.key)
    _ = session.take(try stream.next())
    let late = try stream.next()
    for _ in 0..<places { #expect(session.take(try stream.next()).isPassed) }
    #expect(session.take(late).isPassed)
  }

  @Test(
    "A stream joined after three wraps",
    arguments: [nil, 3, 2, 4, 900] as [UInt32?], [SRTPSuite.aesCM128SHA1Tag80, .aesGCM128])
  func lateJoin(_ given: UInt32?, _ suite: SRTPSuite) throws {
    var stream = try Stream(suite)
    try stream.skip(3 * 65_536)
    var session = try SRTPSession(stream.sender.key, rollover: given)
    for _ in 0..<500 { #expect(session.take(try stream.next()).isPassed) }
    #expect(session.counters.rolloversFound == 1)
    #expect(session.counters.authenticationFailed == 0)
    #expect(session.counters.rolloverTrials <= 6)
    if given == 3 { #expect(session.counters.rolloverTrials == 1) }
  }

  @Test("A report that comes before the media does not keep the counter from being found")
  func reportFirst() throws {
    var stream = try Stream()
    try stream.skip(2 * 65_536)
    var session = try SRTPSession(stream.sender.key)
    let report = try stream.sender.protect(senderReport(), isControl: true)
    #expect(session.take(report, isControl: true).isPassed)
    #expect(session.take(try stream.next()).isPassed)
  }

  @Test("Packets of a wrong key are tried at a bounded rate, and no genuine one waits for them")
  func wrongKey() throws {
    let wrong = try ProtectingSender(srtpKey(seed: 2))
    var session = try SRTPSession(srtpKey(seed: 1))
    for number in 0..<10_000 {
      let packet = try wrong.protect(rtp(UInt16(truncatingIfNeeded: number), payload: 20))
      #expect(session.take(packet, at: Double(number) / 1000) == .authenticationFailed)
    }
    // Ten seconds.
    #expect(session.counters.rolloverTrials <= 10_000 + 256)
    #expect(session.counters.rolloverTrials > 5000)
    let genuine = try ProtectingSender(srtpKey(seed: 1))
    #expect(session.take(try genuine.protect(rtp(1, ssrc: 9)), at: 10).isPassed)
  }

  @Test(
    "A flood of sources from one address does not keep a late joiner elsewhere from being found")
  func floodOfSources() throws {
    var stream = try Stream()
    try stream.skip(60 * 65_536)
    var session = try SRTPSession(stream.sender.key)
    let wrong = try ProtectingSender(srtpKey(seed: 2))
    var found: Int?
    for number in 0..<4000 {
      let now = Instant(nanoseconds: Int64(number) * 1_000_000)
      for copy in 0..<4 {
        let packet = try wrong.protect(
          rtp(UInt16(copy), ssrc: UInt32(1000 + number), payload: 20))
        _ = session.unprotect(
          packet, isControl: false, from: endpoint("198.51.100.7", 5000), at: now)
      }
      guard number.isMultiple(of: 10), found == nil else { continue }
      if case .passed = session.unprotect(
        try stream.next(), isControl: false, from: endpoint("192.0.2.1", 5000), at: now)
      {
        found = number
      }
    }
    // 60 trials, of 1,000 a second that are shared with the flood.
    #expect(try #require(found) < 1500)
  }

  /// An outage of more than half a cycle, or of several whole ones.
  @Test("An outage of many packets", arguments: [40_000, 70_000, 500_000])
  func outage(_ packets: Int) throws {
    var stream = try Stream()
    var session = try SRTPSession(stream.sender.key)
    for _ in 0..<100 { #expect(session.take(try stream.next(), at: 1).isPassed) }
    let recorded = try stream.next()
    #expect(session.take(recorded, at: 1).isPassed)
    try stream.skip(packets)
    for _ in 0..<100 { #expect(session.take(try stream.next(), at: 31).isPassed) }
    #expect(!session.take(recorded, at: 62).isPassed)
  }

  @Test("A source that changes its SSRC begins with a new counter")
  func sourceChange() throws {
    let sender = try ProtectingSender(srtpKey())
    var session = try SRTPSession(sender.key)
    for number in 65_000..<66_000 {
      let packet = rtp(UInt16(truncatingIfNeeded: number), ssrc: 1)
      #expect(session.take(try sender.protect(packet)).isPassed)
    }
    for number in 300..<400 {
      #expect(session.take(try sender.protect(rtp(UInt16(number), ssrc: 2))).isPassed)
    }
    #expect(session.counters.rolloverTrials == 0)
  }

  /// RFC 3711 §3.3.1: the counter continues with the new key.
  @Test("A key that changes in mid-stream continues the counter")
  func keyChange() throws {
    let first = try srtpKey(seed: 1, identifier: [0, 1])
    let second = try srtpKey(seed: 2, identifier: [0, 2])
    var session = try SRTPSession(first, second)
    let before = try ProtectingSender(first)
    for number in stride(from: 0, to: 5 * 65_536, by: 900) {
      let packet = rtp(UInt16(truncatingIfNeeded: number))
      #expect(session.take(try before.protect(packet)).isPassed)
    }
    // A separate context that has counted the same wraps.
    let after = try ProtectingSender(second)
    for number in stride(from: 0, to: 5 * 65_536, by: 900) {
      _ = try after.protect(rtp(UInt16(truncatingIfNeeded: number)))
    }
    for number in 5 * 65_536..<5 * 65_536 + 50 {
      let packet = rtp(UInt16(truncatingIfNeeded: number))
      #expect(session.take(try after.protect(packet)).isPassed)
    }
    let unknown = try ProtectingSender(srtpKey(seed: 3, identifier: [9, 9]))
    #expect(
      session.take(try unknown.protect(rtp(9)))
        == .keyUnknown(SRTPKeyRequest(ssrc: 1, identifier: [9, 9])))
  }
}
