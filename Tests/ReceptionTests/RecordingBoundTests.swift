import NIOCore
import RTPProcessor
import RTPSend
import RTPWire
import TestSupport
import Testing

@testable import Reception

/// Recordings that are read faster than they are consumed.
@Suite struct RecordingBoundTests {
  @Test("what comes behind the last unit that is wanted is neither taken in nor counted")
  func enough() throws {
    let start = Instant(nanoseconds: 1_000_000_000)
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: start),
      carrier: Reception.Carrier(clock: .recorded))
    pair.drive(for: .seconds(1))
    let units = pair.units.count
    let received = pair.reception.status.reception.received
    try #require(units > 10 && units < 40)
    pair.enoughCame()
    guard case .run(.framesReached)? = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
    #expect(pair.holds == [true])
    for _ in 0..<10 { pair.receive(ByteBuffer(repeating: 0, count: 100)) }
    // Somebody who makes room lets nothing more come.
    pair.setCrowded(true)
    pair.setCrowded(false)
    pair.finish()
    #expect(pair.holds.last == true)
    #expect(pair.reception.status.reception.received == received)
    #expect(pair.isFinished)
  }

  @Test("a capture of which nothing can be made is not read on", arguments: [true, false])
  func unusable(isDescribed: Bool) throws {
    let silent = VirtualSender(units: 1, seed: 1, at: Instant(nanoseconds: .max))
    var pair = try Pair(
      sender: silent, carrier: Reception.Carrier(clock: .recorded),
      describes: isDescribed
        ? [MediaDescription(payloadType: 96, encodingName: "VP8")] : [])
    var number: UInt16 = 0
    while pair.end == nil, number < 1000 {
      var packet = ByteBuffer(bytes: [0x80, 96])
      packet.writeMultipleIntegers(number, UInt32(number) * 160, UInt32(9))
      packet.writeRepeatingByte(0xD5, count: 160)
      pair.receive(packet)
      pair.drive(for: .milliseconds(20))
      number += 1
    }
    switch pair.end?.end {
    case .connection(.unsupportedMedia) where isDescribed: break
    case .connection(.unrecognizedMedia) where !isDescribed: break
    default: Issue.record("\(String(describing: pair.end))")
    }
    #expect(pair.holds == [true])
  }

  /// A carrier that goes on although it is told to hold: then the consumer is waited for no longer.
  @Test func aCarrierThatIgnoresTheHoldIsNotStoredWithoutEnd() throws {
    let start = Instant(nanoseconds: 1_000_000_000)
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: start),
      carrier: Reception.Carrier(clock: .recorded))
    pair.isCrowded = true
    pair.drive(for: .seconds(3))
    #expect(pair.units.count == 1)
    #expect(pair.holds == [true])
    let noise = ByteBuffer(repeating: 0, count: 1 << 16)
    for _ in 0...(Reception.Recording.maximumBytes >> 16) { pair.receive(noise) }
    #expect(pair.holds == [true, false])
    #expect(pair.units.count >= 49)
  }
}
