import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

@Suite("Hostile protected packets")
struct SRTPHostileTests {
  /// Nothing of this reaches libsrtp, where it has been out of bounds before.
  @Test("of every length, CC and X are refused", arguments: SRTPSuite.allCases)
  func lengths(_ suite: SRTPSuite) throws {
    var session = try SRTPSession(srtpKey(suite))
    var random = SeededGenerator(seed: 66)
    var passed = 0
    for length in 0...100 {
      for sources in UInt8(0)..<16 {
        for hasExtension in [false, true] {
          var bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
          if length > 0 { bytes[0] = 0x80 | sources | (hasExtension ? 0x10 : 0) }
          if length > 1 { bytes[1] = 96 }
          let fate = session.take(ByteBuffer(bytes: bytes))
          let header = 12 + 4 * Int(sources)
          if length < header + (hasExtension ? 4 : 0) + suite.tagLength {
            guard case .malformed = fate else {
              Issue.record("length \(length), CC \(sources), X \(hasExtension): \(fate)")
              continue
            }
          }
          passed += fate.isPassed ? 1 : 0
        }
      }
    }
    #expect(passed == 0)
    #expect(session.counters.authenticated == 0)
    #expect(session.counters.malformed > 0)
  }

  /// Before authenticating such packets, cisco/libsrtp#817 wrote past their end.
  @Test("of SRTCP with and without E, of every length", arguments: SRTPSuite.allCases)
  func control(_ suite: SRTPSuite) throws {
    var session = try SRTPSession(srtpKey(suite, identifier: [7, 8]))
    var random = SeededGenerator(seed: 65)
    for length in 0...200 {
      for isEncrypted in [false, true] {
        var bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        if length > 0 { bytes[0] = 0x81 }
        if length > 1 { bytes[1] = 200 }
        let tag = suite.isAEAD ? 0 : 10
        let index = length - tag - 2 - 4
        if index >= 8 { bytes[index] = bytes[index] & 0x7F | (isEncrypted ? 0x80 : 0) }
        let identifier = length - tag - 2
        if identifier >= 8 { bytes.replaceSubrange(identifier..<identifier + 2, with: [7, 8]) }
        let fate = session.take(ByteBuffer(bytes: bytes), isControl: true)
        let shortest = 8 + 4 + 2 + suite.controlTagLength
        if length < shortest {
          #expect(fate == .malformed(length < 8 ? .header : .trailer))
        } else if isEncrypted == suite.isReadable {
          #expect(fate == .malformed(.readableControl))
        } else {
          #expect(fate == .authenticationFailed)
        }
      }
    }
  }

  /// In sipsorcery#1663 and before pion b26587a one such packet ended the stream.
  @Test(
    "with forged numbers change nothing",
    arguments: [SRTPSuite.aesCM128SHA1Tag80, .aesGCM128], [1, 100, 100_000])
  func forged(_ suite: SRTPSuite, _ count: Int) throws {
    let sender = try ProtectingSender(srtpKey(suite))
    var session = try SRTPSession(sender.key)
    #expect(session.take(try sender.protect(rtp(0x4000, payload: 100))).isPassed)
    var random = SeededGenerator(seed: 67)
    for index in 0..<count {
      var forged = rtp(
        UInt16(truncatingIfNeeded: 0x4000 + 0x7000 + index % 0x1002), payload: 100)
      forged.writeInteger(random.next())
      forged.writeInteger(random.next())
      #expect(!session.take(forged).isPassed)
    }
    #expect(session.take(try sender.protect(rtp(0x4001, payload: 100))).isPassed)
    #expect(session.counters.authenticationFailed == UInt64(count))
    #expect(session.counters.rolloverTrials == 0)
  }

  /// No table grows, and genuine packets still pass.
  @Test("of 100,000 sources leave nothing behind")
  func sources() throws {
    let sender = try ProtectingSender(srtpKey())
    var session = try SRTPSession(sender.key)
    #expect(session.take(try sender.protect(rtp(1, ssrc: 7))).isPassed)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<100_000 {
      var forged = rtp(UInt16(truncatingIfNeeded: random.next()))
      forged.setInteger(UInt32(truncatingIfNeeded: random.next()), at: 8)
      forged.writeInteger(random.next())
      forged.writeInteger(random.next())
      #expect(!session.take(forged).isPassed)
    }
    // All at one instant, so only the first allowance is available.
    #expect(session.counters.rolloverTrials <= UInt64(TrialAllowance.burst))
    #expect(session.take(try sender.protect(rtp(2, ssrc: 7))).isPassed)
  }

  /// Authentic sources are bounded too.
  @Test("of many authentic sources: the one not heard for longest is forgotten")
  func authenticSources() throws {
    let sender = try ProtectingSender(srtpKey())
    var session = try SRTPSession(sender.key)
    for ssrc in UInt32(1)...20 {
      #expect(session.take(try sender.protect(rtp(1, ssrc: ssrc))).isPassed)
    }
    #expect(session.counters.sourcesForgotten == 12)
  }

  /// A sender of plain RTP is not accepted.
  @Test("in clear are never passed", arguments: SRTPSuite.allCases)
  func downgrade(_ suite: SRTPSuite) throws {
    var session = try SRTPSession(srtpKey(suite))
    for number in UInt16(0)..<200 {
      #expect(!session.take(rtp(number, payload: Int(number))).isPassed)
      #expect(!session.take(senderReport(), isControl: true).isPassed)
    }
    #expect(session.counters.authenticated == 0)
  }

  /// Ingate took an index far ahead for one it could not hold.
  @Test("of SRTCP with the highest index are refused without harm")
  func highestIndex() throws {
    let sender = try ProtectingSender(srtpKey())
    var session = try SRTPSession(sender.key)
    var forged = try sender.protect(senderReport(), isControl: true)
    forged.setInteger(UInt32.max, at: forged.writerIndex - 14)
    #expect(session.take(forged, isControl: true) == .authenticationFailed)
    #expect(
      session.take(try sender.protect(senderReport(), isControl: true), isControl: true).isPassed)
  }

  @Test("of SRTCP in clear pass only where that was agreed upon")
  func readableControl() throws {
    let sender = try ProtectingSender(srtpKey(), readableControl: true)
    let packet = try sender.protect(senderReport(), isControl: true)
    var strict = try SRTPSession(sender.key)
    #expect(strict.take(packet, isControl: true) == .malformed(.readableControl))
    #expect(strict.counters.readableControl == 1)
    var agreed = try SRTPSession(sender.key, readableControl: true)
    #expect(agreed.take(packet, isControl: true) == .passed(senderReport()))
  }
}
