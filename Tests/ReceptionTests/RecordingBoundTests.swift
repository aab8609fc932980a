import NIOCore
import RTPSend
import RTPWire
import TestSupport
import Testing

@testable import Reception

/// Recordings that are read faster than they are consumed.
@Suite struct RecordingBoundTests {
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
