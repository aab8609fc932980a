import Testing
import Transports

@testable import CommandLineTool
@testable import RTPProcessor
@testable import Receiver

/// What the last line of a run says of pictures that are not intact.
struct SummaryTests {
  /// Pictures of a run, and what it lost.
  struct Run: Sendable {
    var conditions: [RawFrame.Condition: UInt64]
    var damages: [PictureDamage: UInt64] = [:]
    var skipped: UInt64?
    var lost: UInt64 = 0
    var repaired: UInt64 = 0
    var lostLocally: UInt64 = 0
    var droppedBeforeDecoder: UInt64 = 0
  }

  private static let leftOut = Run(conditions: [.damaged: 5], damages: [.reference: 5])

  private static func losing(_ change: (inout Run) -> Void) -> Run {
    var run = leftOut
    change(&run)
    return run
  }

  private static let runs: [(Run, String)] = [
    // A sender that began anew between two key pictures.
    (
      Run(conditions: [.damaged: 12], damages: [.lostPackets: 1, .reference: 11]),
      "12 damaged (1 where the stream began, began anew or went on behind a marker)"
    ),
    // One whose picture went on behind its marker.
    (
      Run(conditions: [.concealed: 1, .damaged: 4], damages: [.lostPackets: 1, .reference: 4]),
      """
      1 concealed, 4 damaged by errors in earlier pictures (1 where the stream began, began anew \
      or went on behind a marker)
      """
    ),
    // One that left out pictures to which others refer.
    (leftOut, "5 damaged (5 whose references did not come)"),
    (
      Run(conditions: [.repeated: 5], damages: [.reference: 5]),
      "5 repeated (5 whose references did not come)"
    ),
    (
      Run(conditions: [.concealed: 1, .damaged: 2], damages: [.wrongBits: 1, .reference: 2]),
      "1 concealed, 2 damaged by errors in earlier pictures (1 with wrong bits)"
    ),
    // What was wrong with others explains it.
    (losing { $0.skipped = 2 }, "5 damaged by errors in earlier pictures, 2 skipped"),
    (losing { $0.lost = 1 }, "5 damaged by errors in earlier pictures"),
    (losing { $0.repaired = 1 }, "5 damaged by errors in earlier pictures"),
    (losing { $0.lostLocally = 1 }, "5 damaged by errors in earlier pictures"),
    (losing { $0.droppedBeforeDecoder = 1 }, "5 damaged by errors in earlier pictures"),
    (
      Run(
        conditions: [.concealed: 1, .damaged: 4], damages: [.lostPackets: 1, .reference: 4],
        lost: 1),
      "1 concealed, 4 damaged by errors in earlier pictures"
    ),
  ]

  @Test("damage without a loss has a cause too", arguments: runs)
  func causes(run: Run, words: String) {
    var delivery = DeliveryStatistics()
    delivery.conditions = run.conditions
    delivery.damages = run.damages
    delivery.failures[.notIntact] = run.skipped
    delivery.droppedBeforeDecoder = run.droppedBeforeDecoder
    var reception = ReceptionStatistics()
    (reception.lost, reception.filled) = (run.lost, run.repaired)
    var transport = TransportCounters()
    transport[TransportCounter("dropped", unit: .datagrams, isLocalLoss: true)] = run.lostLocally
    #expect(Summary.pictures(of: delivery, reception, transport) == "; pictures: \(words)")
  }
}
