import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// The two directions of a proxy on a virtual clock.
@Suite struct ProxyPathTests {
  private static let millisecond: Int64 = 1_000_000

  private func path(_ plan: String, seed: UInt64 = 1) throws -> ProxyPath {
    ProxyPath(
      try PlanText.parse(plan), seed: seed, number: 0, client: "x", recordsVerdicts: true)
  }

  private func media(_ number: Int) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      UInt8(0x80), UInt8(96), UInt16(truncatingIfNeeded: number), UInt32(number * 3000), UInt32(77))
    bytes.writeBytes([0x65, 1, 2, 3])
    return bytes
  }

  private func departures(_ path: inout ProxyPath, until time: Int64) -> [ProxyPath.Departure] {
    var found: [ProxyPath.Departure] = []
    while let departure = path.departure(by: Instant(nanoseconds: time)) { found.append(departure) }
    return found
  }

  /// A hello and its heartbeats are no media.
  @Test func theClockStartsWithTheFirstRTPPacket() throws {
    var path = try path("1 silence")
    for second in 0..<5 {
      let now = Int64(second) * 1000 * Self.millisecond
      path.offer(
        ByteBuffer(string: "Hello"), .toServer, channel: 0, at: Instant(nanoseconds: now))
      #expect(departures(&path, until: now).count == 1)
    }
    var arrived = 0
    for number in 0..<20 {
      let now = (5000 + Int64(number) * 100) * Self.millisecond
      path.offer(media(number), .toClient, channel: 0, at: Instant(nanoseconds: now))
      arrived += departures(&path, until: now).count
    }
    #expect(arrived == 10)
  }

  /// What goes one way has no influence on what is lost the other way, nor has RTCP.
  @Test func directionsAndRTCPHaveTheirOwnNumbers() throws {
    func lost(withFeedback: Bool) throws -> [Int] {
      var path = try path("0 loss 20%, reorder 10% 3", seed: 3)
      var report = ByteBuffer()
      report.writeMultipleIntegers(UInt8(0x80), UInt8(201), UInt16(1), UInt32(5))
      for number in 0..<500 {
        let now = Instant(nanoseconds: Int64(number) * Self.millisecond)
        path.offer(media(number), .toClient, channel: 0, at: now)
        guard withFeedback, number % 3 == 0 else { continue }
        path.offer(report, .toServer, channel: 1, at: now)
        path.offer(report, .toClient, channel: 1, at: now)
        path.offer(media(number), .toServer, channel: 0, at: now)
      }
      return path.takeVerdicts().filter { $0.flow == "to x" && $0.reason.isLoss }
        .compactMap { $0.sequence.map(Int.init) }
    }
    let alone = try lost(withFeedback: false)
    #expect(alone.count > 50)
    #expect(try lost(withFeedback: true) == alone)
  }

  /// The receiver sees new numbers, and the sender gets its own back in reports and requests.
  @Test func aRestartIsUndoneInWhatComesBack() throws {
    var path = try path("10ms restart\n20ms jump sequence 100, jump clock 1h")
    let start = Instant(nanoseconds: 0)
    path.offer(media(0), .toClient, channel: 0, at: start)
    let later = Instant(nanoseconds: 30 * Self.millisecond)
    path.offer(media(9), .toClient, channel: 0, at: later)
    let packets = try departures(&path, until: later.nanoseconds).map {
      try RTPPacket(parsing: $0.bytes)
    }
    #expect(packets[0].ssrc == 77)
    let (ssrc, sequence) = (packets[1].ssrc, packets[1].sequenceNumber.rawValue)
    #expect(ssrc != 77 && sequence != 9)
    #expect(packets[1].timestamp != 27_000)

    // A receiver report with a block, a request for the packet, one for a key picture.
    var compound = ByteBuffer()
    compound.writeMultipleIntegers(UInt8(0x81), UInt8(201), UInt16(7), UInt32(5), ssrc)
    compound.writeMultipleIntegers(UInt32(0), UInt32(sequence), UInt32(0), UInt32(0), UInt32(0))
    compound.writeMultipleIntegers(UInt8(0x81), UInt8(205), UInt16(3), UInt32(5), ssrc)
    compound.writeMultipleIntegers(sequence, UInt16(0))
    compound.writeMultipleIntegers(UInt8(0x81), UInt8(206), UInt16(2), UInt32(5), ssrc)
    path.offer(compound, .toServer, channel: 1, at: later)
    let back = try #require(departures(&path, until: later.nanoseconds).first).bytes
    #expect(back.getInteger(at: 8, as: UInt32.self) == 77)
    #expect(back.getInteger(at: 18, as: UInt16.self) == 9)
    #expect(back.getInteger(at: 40, as: UInt32.self) == 77)
    #expect(back.getInteger(at: 44, as: UInt16.self) == 9)
    #expect(back.getInteger(at: 56, as: UInt32.self) == 77)

    // A sender report with a source description and a goodbye.
    var report = ByteBuffer()
    report.writeMultipleIntegers(UInt8(0x80), UInt8(200), UInt16(6), UInt32(77), UInt64(5 << 32))
    report.writeMultipleIntegers(UInt32(27_000), UInt32(1), UInt32(4))
    report.writeMultipleIntegers(UInt8(0x81), UInt8(203), UInt16(1), UInt32(77))
    path.offer(report, .toClient, channel: 1, at: later)
    let forth = try #require(departures(&path, until: later.nanoseconds).first).bytes
    #expect(forth.getInteger(at: 4, as: UInt32.self) == ssrc)
    #expect(forth.getInteger(at: 8, as: UInt32.self) == 3605)
    #expect(forth.getInteger(at: 16, as: UInt32.self) == packets[1].timestamp)
    #expect(forth.getInteger(at: 32, as: UInt32.self) == ssrc)
  }

  /// Of the sender's packets; what the receiver says goes back as it is.
  @Test(arguments: Quirk.allCases.filter { $0.place == .packets })
  func quirksOfPackets(quirk: Quirk) throws {
    var report = ByteBuffer()
    report.writeMultipleIntegers(UInt8(0x80), UInt8(200), UInt16(6), UInt32(77), UInt64(5 << 32))
    report.writeMultipleIntegers(UInt32(27_000), UInt32(1), UInt32(4))
    func run(_ text: String) throws -> [[UInt8]] {
      var path = try path(text)
      var found: [[UInt8]] = []
      for number in 0..<20 {
        let now = Int64(number) * Self.millisecond
        var marked = media(number)
        if number % 2 == 0 { marked.setInteger(UInt8(0xE0), at: 1) }
        path.offer(marked, .toServer, channel: 0, at: Instant(nanoseconds: now))
        path.offer(report, .toServer, channel: 1, at: Instant(nanoseconds: now))
        path.offer(report, .toClient, channel: 1, at: Instant(nanoseconds: now))
        for departure in departures(&path, until: now) {
          if departure.direction == .toClient {
            #expect(departure.bytes == report && departure.channel == 1)
          } else {
            found.append([UInt8(departure.channel)] + departure.bytes.readableBytesView)
          }
        }
      }
      return found
    }
    let plain = try run("")
    let odd = try run("10ms quirk \(quirk.rawValue)")
    #expect(odd.prefix(20).elementsEqual(plain.prefix(20)))
    #expect(odd != plain)
    #expect(try run("10ms quirk \(quirk.rawValue)") == odd)
  }

  @Test func shortAndForeignDatagramsPass() throws {
    var path = try path(
      "0 quirk padding, quirk extra-packets, quirk timestamps-in-milliseconds, quirk report-jitter")
    for length in 0..<40 {
      path.offer(media(length), .toClient, channel: 0, at: Instant(nanoseconds: 0))
      for type in [UInt8(96), 200, 202] {
        var bytes = ByteBuffer(repeating: 0x80, count: length)
        if length > 1 { bytes.setInteger(type, at: 1) }
        path.offer(bytes, .toClient, channel: 1, at: Instant(nanoseconds: 1))
      }
    }
    #expect(departures(&path, until: 1).count >= 160)
    path = try self.path("0 restart, jump sequence 5, jump timestamp 5, jump clock 5s")
    path.offer(media(1), .toClient, channel: 0, at: Instant(nanoseconds: 0))
    _ = departures(&path, until: 0)
    for type in UInt8(190)...210 {
      for length in 0..<40 {
        var bytes = ByteBuffer(repeating: 0xFF, count: length)
        if length > 1 {
          bytes.setInteger(UInt8(0x9F), at: 0)
          bytes.setInteger(type, at: 1)
        }
        for direction in ProxyPath.Direction.allCases {
          path.offer(bytes, direction, channel: 0, at: Instant(nanoseconds: 1))
        }
      }
    }
    #expect(departures(&path, until: 1).count == 21 * 40 * 2)
  }
}
