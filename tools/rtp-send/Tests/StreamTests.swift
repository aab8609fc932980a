import NIOCore
import RTPWire
import Testing

@testable import RTPSend

@Suite struct StreamTests {
  func stream(_ change: (inout RTPStream.Configuration) -> Void = { _ in }) -> RTPStream {
    var configuration = RTPStream.Configuration(
      ssrc: 0xCAFE, initialSequence: 65_534, initialTimestamp: 0xFFFF_FF00)
    change(&configuration)
    return RTPStream(configuration)
  }

  func payloads(_ count: Int) -> [RTPPayload] {
    (0..<count).map {
      RTPPayload(
        bytes: ByteBuffer(bytes: [1, 2, UInt8($0)]), ticks: 3000 * Int64($0), marker: $0 == 3)
    }
  }

  @Test func headersAreReadBackAsWritten() throws {
    var stream = stream { $0.payloadType = 35 }
    let bytes = stream.packets(with: payloads(5))
    #expect(bytes.map(stream.octets) == [3, 3, 3, 3, 3])
    let packets = try bytes.map { try RTPPacket(parsing: $0) }
    #expect(packets.map(\.sequenceNumber.rawValue) == [65_534, 65_535, 0, 1, 2])
    let timestamps: [UInt32] = (0..<5).map { (index: UInt32) in 0xFFFF_FF00 &+ 3000 * index }
    #expect(packets.map(\.timestamp) == timestamps)
    #expect(packets.map(\.marker) == [false, false, false, true, false])
    #expect(packets.allSatisfy { $0.payloadType == 35 && $0.ssrc == 0xCAFE })
    let contents: [[UInt8]] = (0..<5).map { (index: UInt8) in [1, 2, index] }
    #expect(packets.map { Array($0.payload.readableBytesView) } == contents)
  }

  @Test(arguments: [(0, 100), (2, -5), (3, 40_000)])
  func sequenceNumbersJumpOnce(after: Int, by: Int) throws {
    var stream = stream {
      $0.sequenceJump = RTPStream.SequenceJump(after: after, by: by)
      $0.initialSequence = 10
    }
    let numbers = try stream.packets(with: payloads(6)).map {
      try RTPPacket(parsing: $0).sequenceNumber.rawValue
    }
    #expect(numbers == (0..<6).map { UInt16(truncatingIfNeeded: 10 + $0 + ($0 >= after ? by : 0)) })
  }

  /// Inside of RED, everything is as it is without.
  @Test func redundancyEnclosesMediaAndCorrection() throws {
    func packets(_ type: UInt8?) throws -> (packets: [RTPPacket], octets: UInt32) {
      var stream = stream {
        $0.correction = RTPStream.Correction(payloadType: 97, interval: 3)
        $0.correction?.redundancyPayloadType = type
      }
      let packets = stream.packets(with: payloads(5)) + stream.finish()
      let octets = packets.compactMap(stream.octets).reduce(0, +)
      return (try packets.map { try RTPPacket(parsing: $0) }, octets)
    }
    let (plain, octets) = try packets(nil)
    let (enclosed, more) = try packets(98)
    #expect(enclosed.allSatisfy { $0.payloadType == 98 && $0.payloadLength > 1 })
    #expect(enclosed.map(\.marker) == plain.map(\.marker))
    let inside = enclosed.compactMap(\.primaryEncoding)
    #expect(inside.map(\.payloadType) == [96, 96, 96, 97, 96, 96, 97])
    #expect(inside.map(\.sequenceNumber) == plain.map(\.sequenceNumber))
    #expect(inside.map(\.timestamp) == plain.map(\.timestamp))
    #expect(inside.map(\.payload) == plain.map(\.payload))
    #expect(more == octets + 7)
  }

  /// Each correction packet takes a number of its own; the last one protects what is left.
  @Test func correctionPacketsFollowTheirPackets() throws {
    var stream = stream { $0.correction = RTPStream.Correction(payloadType: 97, interval: 3) }
    let bytes = stream.packets(with: payloads(8)) + stream.finish()
    #expect(bytes.compactMap(stream.octets).count == 11)
    let packets = try bytes.map { try RTPPacket(parsing: $0) }
    #expect(packets.map(\.payloadType) == [96, 96, 96, 97, 96, 96, 96, 97, 96, 96, 97])
    let numbers: [UInt16] = [65_534, 65_535, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    #expect(packets.map(\.sequenceNumber.rawValue) == numbers)
    #expect(packets.allSatisfy { $0.ssrc == 0xCAFE })
    // By hand: three packets of type 96 without marker, 65534, 65535 and 0, three bytes each.
    let times: [UInt32] = packets[..<3].map(\.timestamp)
    var expected = ByteBuffer()
    let time = times.reduce(0, ^)
    expected.writeMultipleIntegers(UInt16(96), UInt16(65_534), time)
    expected.writeMultipleIntegers(UInt16(3), UInt16(3), UInt16(0xE000))
    expected.writeBytes([1, 2, 3])
    #expect(packets[3].payload == expected)
    #expect(packets[3].timestamp == times[2])
    #expect(!packets[3].marker)
  }

  @Test func correctionDoesNotReachAcrossAChangeOfTheSource() throws {
    var stream = stream {
      $0.correction = RTPStream.Correction(payloadType: 97, interval: 3)
      $0.sourceChange = .afterPackets(2)
    }
    let packets = try stream.packets(with: payloads(5)).map { try RTPPacket(parsing: $0) }
    #expect(packets.map(\.payloadType) == [96, 96, 96, 96, 96, 97])
    #expect(packets[5].payload.getInteger(at: packets[5].payload.readerIndex + 2) == UInt16(0))
  }

  @Test func theSourceChangesAfterItsPackets() throws {
    var stream = stream { $0.sourceChange = .afterPackets(2) }
    let sources = try stream.packets(with: payloads(4)).map { try RTPPacket(parsing: $0).ssrc }
    #expect(sources[0] == 0xCAFE && sources[1] == 0xCAFE)
    #expect(sources[2] != 0xCAFE && sources[3] == sources[2])
  }

  @Test func theSourceChangesWithEachGroupOfPicturesButTheFirst() throws {
    var stream = stream { $0.sourceChange = .everyGroupOfPictures }
    var sources: [UInt32] = []
    for _ in 0..<3 {
      stream.beginGroupOfPictures()
      sources += try stream.packets(with: payloads(2)).map { try RTPPacket(parsing: $0).ssrc }
    }
    #expect(sources[0] == 0xCAFE)
    #expect(Set(sources).count == 3)
  }

  @Test(arguments: ["", "a", "ab", "abc", "rtp-send@localhost", String(repeating: "x", count: 300)])
  func reportsAreReadBackAsWritten(name: String) throws {
    let account = SenderAccount(ssrc: 0xCAFE, packetCount: 4, octetCount: 12)
    let reports = SenderReports(canonicalName: name)
    let bytes = reports.goodbye(
      of: account, timestamp: 99, unixNanoseconds: 1_500_000_000_500_000_000)
    #expect(RTCPPacket.recognizes(bytes))
    // At least one zero byte ends the name, and zero bytes fill its chunk (RFC 3550 §6.5).
    let chunk = stride(from: 4, to: 400, by: 4).first { $0 > 6 + min(name.count, 255) } ?? 0
    #expect(bytes.readableBytes == 28 + 4 + chunk + 8)
    let packets = try RTCPPacket.parse(compound: bytes)
    guard case .senderReport(let report) = packets.first else {
      Issue.record("no sender report first")
      return
    }
    #expect(report.ssrc == 0xCAFE)
    #expect(report.ntpTime == UInt64(1_500_000_000 + 2_208_988_800) << 32 | 1 << 31)
    #expect(report.timestamp == 99)
    #expect(report.packetCount == 4)
    #expect(report.octetCount == 12)
    #expect(packets[1] == .sourceDescription([0xCAFE: String(name.prefix(255))]))
    #expect(packets[2...] == [.goodbye([0xCAFE])])
  }
}
