import NIOCore
import NIOEmbedded
import RTPWire
import Testing

@testable import Transports

/// The timer for a deadline that moves.
struct AlarmTests {
  /// What happens in a test, with seconds from its beginning.
  enum Step: Sendable {
    case set(for: Int64)
    case cancel
    case advance(to: Int64)
  }

  /// An alarm, and when it rang.
  private final class Bell {
    let eventLoop = EmbeddedEventLoop()
    /// When the clock and the loop began.
    let start = Instant(NIODeadline.now())
    var alarm = Alarm()
    var seconds: Int64 = 0
    var rings: [Int64] = []

    func perform(_ step: Step) {
      switch step {
      case .set(let time):
        alarm.set(for: start.advanced(by: .seconds(time - seconds)), on: eventLoop) {
          self.alarm.rang()
          self.rings.append(self.seconds)
        }
      case .cancel: alarm.cancel()
      case .advance(let time):
        let step = time - seconds
        seconds = time
        eventLoop.advanceTime(by: .seconds(step))
      }
    }
  }

  /// Deadlines are in hours here, so that no pause of the machine matters.
  @Test(
    arguments: [
      ("a deadline", [.set(for: 7200), .advance(to: 3600), .advance(to: 7201)], [7201]),
      (
        "a deadline that moves earlier",
        [.set(for: 7200), .set(for: 3600), .advance(to: 3601), .advance(to: 7201)], [3601]
      ),
      (
        "a deadline that moves later rings early, and then in time",
        [
          .set(for: 3600), .set(for: 7200), .advance(to: 3601), .set(for: 7200), .advance(to: 7201),
        ],
        [3601, 7201]
      ),
      ("what is over", [.set(for: -3600), .advance(to: 1)], [1]),
      ("no deadline any more", [.set(for: 3600), .cancel, .advance(to: 3601)], []),
      (
        "a deadline after none",
        [.set(for: 3600), .cancel, .set(for: 7200), .advance(to: 3601), .advance(to: 7201)], [7201]
      ),
    ] as [(String, [Step], [Int64])])
  func rings(of name: String, steps: [Step], rings: [Int64]) {
    let bell = Bell()
    for step in steps { bell.perform(step) }
    #expect(bell.rings == rings, "\(name)")
  }
}
