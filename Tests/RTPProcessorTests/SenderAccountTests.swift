import NIOCore
import RTPWire
import Testing

@testable import RTPProcessor

/// Packets missing because they were never sent, by the sender's reports, beside those lost on the
/// way.
struct SenderAccountTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Numbers that the sender passes over, and packets that the network loses, of 4000.
    var leftOut = 0
    var lost = 0
    /// The packet count of the first report, and by how much it grows with each packet.
    var count: UInt32 = 1000
    var step: UInt32 = 1
    let expected: UInt64
  }

  static let cases = [
    Case(testDescription: "nothing is missing", expected: 0),
    Case(testDescription: "the sender leaves packets out", leftOut: 200, expected: 200),
    Case(testDescription: "the network loses packets", lost: 200, expected: 0),
    Case(testDescription: "both", leftOut: 150, lost: 200, expected: 150),
    Case(testDescription: "no more than may be on its way", leftOut: 10, expected: 0),
    Case(
      testDescription: "the count wraps around", leftOut: 200, count: .max - 500, expected: 200),
    Case(testDescription: "the count stands still", lost: 200, step: 0, expected: 0),
    Case(testDescription: "the count is one of bytes", lost: 200, step: 1000, expected: 0),
  ]

  @Test("a stream goes on beyond the 2^32 packets of a sender's count")
  func countsOfWeeks() {
    var account = SenderAccount()
    account.note(sent: 0, highest: 0, received: 0, at: Instant(nanoseconds: 0))
    // 500 numbers are passed over at first, and a billion packets come between any two reports.
    for billions in 1...9 as ClosedRange<Int64> {
      let sent = billions * 1_000_000_000
      account.note(
        sent: UInt32(truncatingIfNeeded: sent), highest: sent + 500, received: sent,
        at: Instant(nanoseconds: billions * 1_000_000_000_000_000))
      #expect(account.leftOut == 500)
    }
  }

  @Test("what the sender's reports tell of what is missing", arguments: cases)
  func leftOut(_ test: Case) {
    var session = VirtualSession(window: .milliseconds(100))
    var sent = test.count
    var identity: UInt64 = 0
    let total = 4000
    func isChosen(_ number: Int, _ count: Int, _ phase: Int) -> Bool {
      // After the first report since the source was validated.
      count > 0 && number > 560 && number < total - 90 && number % (3300 / count) == phase
    }
    var (skipped, dropped) = (0, 0)
    for number in 0..<total {
      session.run(to: .milliseconds(Int64(number)))
      if number % 500 == 50 || number == total - 1 {
        var report = senderReport(
          ssrc: 0xA, ntpTime: (3_900_000_000 + UInt64(number)) << 32, timestamp: UInt32(number) * 90
        )
        report.setInteger(sent, at: report.readerIndex + 20)
        session.receive(report)
      }
      if skipped < test.leftOut, isChosen(number, test.leftOut, 3) {
        skipped += 1
        continue
      }
      sent &+= test.step
      if dropped < test.lost, isChosen(number, test.lost, 4) {
        dropped += 1
        continue
      }
      identity += 1
      session.receive(
        SentPacket(
          sequence: UInt16(truncatingIfNeeded: 65_000 + number), timestamp: UInt32(number) * 90,
          identity: identity))
    }
    session.finish()
    #expect(skipped == test.leftOut && dropped == test.lost)
    #expect(session.statistics.lost == UInt64(test.leftOut + test.lost))
    #expect(session.statistics.leftOut == test.expected)
  }
}
