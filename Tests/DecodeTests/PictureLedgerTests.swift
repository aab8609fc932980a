import Bitstream
import Defragment
import NIOCore
import RTPWire
import Testing

@testable import Decode
@testable import Outputs

@Suite struct PictureLedgerTests {
  private func unit(_ number: Int64) -> UnitRecord {
    UnitRecord(
      AccessUnit(
        codec: .testH264, bytes: ByteBuffer(), units: [],
        time: MediaTime(ticks: number, timescale: 90_000),
        firstArrival: Instant(nanoseconds: number), lastArrival: Instant(nanoseconds: number)),
      condition: .intact)
  }

  @Test("a picture that waits for its turn is no failure, however many overtake it")
  func waiting() {
    var ledger = PictureLedger()
    let first = ledger.begin(unit(0), canCompleteFrame: true)
    #expect(ledger.pictureStarted() == first)
    #expect(ledger.end(error: nil) == [])
    for number in 1...20 {
      let index = ledger.begin(unit(Int64(number)), canCompleteFrame: true)
      #expect(ledger.pictureStarted() == index)
      #expect(ledger.frameOut(index)?.time.ticks == Int64(number))
      ledger.pictureReleased(index)
      #expect(ledger.end(error: nil) == [])
      #expect(ledger.frameOut(index) == nil)
    }
    #expect(ledger.frameOut(first)?.time.ticks == 0)
    #expect(ledger.endAll(reason: .closed) == [])
  }

  @Test("a picture that is to be shown without the decoder stays until it is, or can not be")
  func held() {
    var ledger = PictureLedger()
    ledger.holdsPictures = true
    let indices = (0..<3).map { number in
      let index = ledger.begin(unit(Int64(2 - number)), canCompleteFrame: false)
      _ = ledger.pictureStarted()
      ledger.pictureReleased(index)
      #expect(ledger.end(error: nil) == [])
      return index
    }
    #expect(ledger.withheld(beyond: 3) == nil)
    #expect(ledger.withheld(beyond: 2) == indices[2], "the first by its time")
    #expect(ledger.take(indices[2])?.time.ticks == 0)
    #expect(ledger.frameOut(indices[2]) == nil, "it has come out")
    #expect(ledger.withheld(beyond: 1) == indices[1])
    ledger.giveUp(indices[1])
    #expect(ledger.withheld(beyond: 0) == indices[0])
    ledger.holdsPictures = false
    let failures = ledger.end(error: nil)
    #expect(failures.map(\.time.ticks).sorted() == [1, 2])
    #expect(failures.allSatisfy { $0.reason == .notShown })
  }

  @Test("a picture that the decoder lets go of unseen is a failure at once")
  func letGo() {
    var ledger = PictureLedger()
    let first = ledger.begin(unit(0), canCompleteFrame: false)
    _ = ledger.pictureStarted()
    #expect(ledger.end(error: nil) == [])
    _ = ledger.begin(unit(1), canCompleteFrame: false)
    _ = ledger.pictureStarted()
    ledger.pictureReleased(first)
    #expect(ledger.end(error: nil) == [unit(0).failure(.notShown)])
    #expect(ledger.endAll(reason: .closed) == [unit(1).failure(.closed)])
  }

  @Test("two fields of which nothing came out are two failures")
  func lostFields() {
    var ledger = PictureLedger()
    let first = ledger.begin(unit(0), canCompleteFrame: true)
    _ = ledger.pictureStarted()
    #expect(ledger.end(error: nil) == [])
    _ = ledger.begin(unit(1), canCompleteFrame: true)
    #expect(ledger.end(error: nil) == [])
    _ = ledger.begin(unit(2), canCompleteFrame: true)
    _ = ledger.pictureStarted()
    ledger.pictureReleased(first)
    #expect(
      ledger.end(error: nil) == [unit(0).failure(.notShown), unit(1).failure(.notShown)])
  }

  @Test("an error is told at once only when no picture was begun")
  func errors() {
    let error = DecodeFailure.Reason.decoder(code: -1, text: "")
    var ledger = PictureLedger()
    _ = ledger.begin(unit(0), canCompleteFrame: true)
    #expect(ledger.end(error: error) == [unit(0).failure(error)])
    let index = ledger.begin(unit(1), canCompleteFrame: true)
    _ = ledger.pictureStarted()
    #expect(ledger.end(error: error) == [])
    #expect(ledger.frameOut(index)?.time.ticks == 1)
    #expect(ledger.endAll(reason: .closed) == [])
  }
}
