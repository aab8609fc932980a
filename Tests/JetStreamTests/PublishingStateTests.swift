import BlockingIO
import NIOCore
import TestSupport
import Testing

@testable import JetStream

/// What becomes of messages that a server does not keep.
struct PublishingStateTests {
  private static func state(_ count: Int) -> PublishingState {
    let state = PublishingState()
    state.monitor.update { value in
      value.needsPreparation = false
      for number in 0..<count {
        let message = Publication.Message(
          subject: .video, id: "\(number)", payload: ByteBuffer(repeating: 0, count: 100), items: 1)
        value.outstanding.append(PublishingState.Outstanding(message: message))
        value.outstandingBytes += 100
      }
    }
    return state
  }

  private static func outstanding(_ state: PublishingState) -> [String] {
    state.monitor.quietly { $0.outstanding.map(\.message.id) }
  }

  private static let full = PublishingState.Answer.refused(
    reason: "maximum bytes exceeded", isForGood: false)

  @Test func aServerThatKeepsNothingIsAskedAgainAfterARest() {
    let state = Self.state(2)
    for _ in 0..<10 {
      state.answered("0", Self.full)
      state.answered("1", Self.full)
    }
    #expect(Self.outstanding(state) == ["0", "1"])
    state.monitor.quietly { value in
      #expect(value.needsPreparation)
      #expect(value.needsRest)
      #expect(value.refusal == .init(reason: "maximum bytes exceeded", isLeftOut: false))
      #expect(value.leftOut == 0)
    }
  }

  @Test func aClusterWithoutAQuorumIsAskedAgainAfterARest() {
    let state = Self.state(1)
    state.answered("0", .none)
    #expect(Self.outstanding(state) == ["0"])
    state.monitor.quietly { value in
      #expect(value.needsPreparation)
      #expect(value.needsRest)
    }
  }

  @Test func aMessageThatAloneIsRefusedIsLeftOut() {
    let state = Self.state(3)
    for _ in 0..<PublishingState.mostRefusals - 1 { state.answered("0", Self.full) }
    state.answered("1", .kept)
    #expect(Self.outstanding(state) == ["0", "2"])
    state.answered("0", Self.full)
    #expect(Self.outstanding(state) == ["2"])
    state.monitor.quietly { value in
      #expect(value.refusal?.isLeftOut == true)
      #expect(value.leftOut == 1)
      #expect(value.leftOutItems == 1)
      #expect(value.outstandingBytes == 100)
      #expect(value.acknowledged == 1)
    }
  }

  @Test func aMessageThatIsTooLargeIsLeftOutAtOnce() {
    let state = Self.state(2)
    state.answered("0", .refused(reason: "message size exceeds maximum", isForGood: true))
    #expect(Self.outstanding(state) == ["1"])
    #expect(!state.monitor.quietly(\.needsPreparation))
  }

  @Test func whatIsAnsweredTwiceCountsOnce() {
    let state = Self.state(1)
    state.answered("0", .kept)
    state.answered("0", .kept)
    state.answered("0", Self.full)
    state.monitor.quietly { value in
      #expect(value.acknowledged == 1)
      #expect(value.outstandingBytes == 0)
      #expect(!value.needsPreparation)
    }
  }
}
