import Reception
import Testing
import Transports

@testable import Receiver

/// How long media is waited for, by what carries it.
struct MediaTimeoutTests {
  struct Case: Sendable {
    var carrier = Reception.Carrier()
    var reconnects = false
    var timeout = SilenceLimit.standard
    var first: Duration?
    var more: Duration?
  }

  static let cases = [
    Case(first: .seconds(10), more: .seconds(10)),
    // A listener: the far end begins when it likes.
    Case(carrier: .init(isPassive: true), first: nil, more: .seconds(10)),
    // A server of RTSP, whose connection ends when it falls silent.
    Case(carrier: .init(longestSilence: .seconds(5)), first: nil, more: nil),
    Case(reconnects: true, first: nil, more: nil),
    Case(
      carrier: .init(isPassive: true), reconnects: true, timeout: .after(.seconds(3)),
      first: .seconds(3), more: .seconds(3)),
    Case(timeout: .never, first: nil, more: nil),
  ]

  @Test(arguments: cases)
  func theStandardIsThatOfTheCarrier(row: Case) {
    var configuration = Receiver.Configuration()
    configuration.reconnection = row.reconnects ? Reconnection() : nil
    configuration.firstMediaTimeout = row.timeout
    configuration.silenceTimeout = row.timeout
    let reception = configuration.reception(on: row.carrier)
    #expect(reception.firstMediaTimeout == row.first)
    #expect(reception.silenceTimeout == row.more)
  }
}
