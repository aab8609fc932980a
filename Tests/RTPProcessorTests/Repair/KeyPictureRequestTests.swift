import RTPProcessor
import RTPWire
import Testing

@Suite struct KeyPictureRequestTests {
  private func session(_ requests: Set<FeedbackRequest>) -> VirtualSession {
    var configuration = RTPProcessor.Configuration()
    configuration.feedback = requests
    var sender = VirtualSender()
    return VirtualSession.running(&sender, configuration: configuration)
  }

  @Test func aLossIsIndicatedAtMostTwiceASecondUntilAPictureComes() {
    var session = session([.pli, .fir])
    #expect(session.takeFeedback().isEmpty)
    session.wantKeyPicture()
    #expect(session.takeFeedback() == [.pictureLossIndication(media: 0xA)])
    session.run(for: .milliseconds(499))
    session.wantKeyPicture()
    #expect(session.takeFeedback().isEmpty)
    session.run(for: .milliseconds(1))
    #expect(session.takeFeedback() == [.pictureLossIndication(media: 0xA)])
    session.noteKeyPicture()
    session.run(for: .seconds(2))
    #expect(session.takeFeedback().isEmpty)
    #expect(session.statistics.repair.pictureLossIndications == 2)
    #expect(session.statistics.repair.fullIntraRequests == 0)
  }

  /// RFC 5104 §4.3.1.2: a new command has a new number, a repetition the same.
  @Test func commandsAreNumberedAndRepetitionsAreNot() {
    var session = session([.fir])
    for command in 0..<300 {
      for _ in 0..<2 {
        session.wantKeyPicture()
        let request = RTCPFeedback.IntraRequest(ssrc: 0xA, number: UInt8(command & 0xFF))
        #expect(session.takeFeedback() == [.fullIntraRequest([request])])
        session.run(for: .milliseconds(500))
      }
      session.noteKeyPicture()
    }
  }

  @Test func aRequestIsInVainOnceItsAnswerIsOverdue() {
    var session = session([.pli])
    session.wantKeyPicture()
    for number in 0..<3 {
      #expect(session.takeFeedback().count == 1)
      #expect(session.unansweredKeyPictureRequests == number)
      session.run(for: .milliseconds(499))
      #expect(session.unansweredKeyPictureRequests == number)
      session.run(for: .milliseconds(1))
      #expect(session.unansweredKeyPictureRequests == number + 1)
    }
    session.noteKeyPicture()
    #expect(session.unansweredKeyPictureRequests == 0)
    session.wantKeyPicture()
    #expect(session.unansweredKeyPictureRequests == 0)
  }

  @Test func whoTakesNoRequestsGetsNone() {
    var session = session([.nack])
    session.wantKeyPicture()
    #expect(session.takeFeedback().isEmpty)
    #expect(session.processor.feedbackDeadline == nil)
  }
}
