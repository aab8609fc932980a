import RTPWire
import Testing

@testable import Decode

struct DecoderGaugeTests {
  @Test("a decoder that gets nothing more is not busy")
  func idle() {
    let gauge = DecoderGauge()
    let start = Instant(nanoseconds: 7_000_000_000)
    #expect(gauge.share(at: start) == 0)
    gauge.note(share: 0.95, at: start)
    #expect(gauge.share(at: start.advanced(by: .seconds(1))) == 0.95)
    #expect(gauge.share(at: start.advanced(by: .seconds(4))) == 0)
  }
}
