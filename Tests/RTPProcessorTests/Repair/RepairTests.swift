import NIOCore
import RTPProcessor
import RTPWire
import Testing

@Suite struct RepairTests {
  @Test(arguments: [RepairingNetwork.Answers.plainly, .inOwnStream, .inOwnSession])
  func atFivePercentLossEveryPacketComes(answers: RepairingNetwork.Answers) {
    for seed in 0..<40 as Range<UInt64> {
      var network = RepairingNetwork(seed: seed, answers: answers)
      network.run(packets: 400)
      let statistics = network.session.statistics
      #expect(network.session.deliveredIdentities == Array(1...400), "seed \(seed)")
      #expect(statistics.lost == 0 && statistics.repair.arrived > 5, "seed \(seed)")
      // A repair shows nothing about the network, whose packets came evenly and in order.
      #expect(statistics.reordered == 0, "seed \(seed)")
      #expect(statistics.jitter == 0, "seed \(seed)")
      #expect(statistics.duplicate + statistics.repair.unneeded < 10, "seed \(seed)")
      #expect(network.greatestLatency < 600_000_000, "seed \(seed)")
      let roundTrip = statistics.repair.roundTrip ?? .zero
      #expect(
        (.milliseconds(30) ... .milliseconds(45)).contains(roundTrip), "seed \(seed): \(roundTrip)")
    }
  }

  @Test func retransmissionPacketsDoNotCountAsReceivedInReports() {
    for answers in [RepairingNetwork.Answers.plainly, .inOwnStream, .inOwnSession] {
      var network = RepairingNetwork(seed: 3, answers: answers)
      network.run(packets: 400)
      let reception = network.session.processor.reception
      #expect(reception?.expected == 400)
      let missing = (reception?.expected ?? 0) - (reception?.received ?? 0)
      #expect(missing == Int64(network.session.statistics.repair.arrived))
    }
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func aFarEndThatNeverAnswersCostsNoLatency(seed: UInt64) {
    var network = RepairingNetwork(seed: seed, answers: .never, loss: 0)
    var plain = RepairingNetwork(seed: seed, answers: .never, asks: false, loss: 0)
    for number in 0..<800 {
      let isLost = number % 20 == Int(seed % 19) + 1
      network.sendOne(isLost: isLost)
      plain.sendOne(isLost: isLost)
    }
    #expect(network.session.deliveries.map(\.time) == plain.session.deliveries.map(\.time))
    #expect(network.session.deliveredIdentities == plain.session.deliveredIdentities)
    #expect(network.session.statistics.lost == plain.session.statistics.lost)
    // The first are asked for four times in their window, and then one a second.
    #expect(network.messages.count < 16 * 5 + 4, "\(network.messages.count)")
    #expect(network.messages.count > 16)
  }

  @Test func aFarEndThatAnswersNoMoreIsNotWaitedForForLong() {
    var network = RepairingNetwork(seed: 4, answers: .plainly, loss: 0)
    for number in 0..<200 { network.sendOne(isLost: number == 100) }
    #expect(network.session.statistics.repair.arrived == 1)
    network.answers = .never
    for number in 0..<4000 { network.sendOne(isLost: number % 50 == 10) }
    let statistics = network.session.statistics
    #expect(statistics.repair.requested < 80)
    // Those of the last second, after sixteen unanswered ones, waited for the window and no longer.
    let late = network.session.deliveries.suffix(500).compactMap { delivery in
      network.sent[delivery.identity]?.nanoseconds(to: delivery.time)
    }.max()
    #expect(late ?? .max <= 220_000_000)
    // It is asked once in a while, and trusted when it answers again.
    network.answers = .plainly
    for number in 0..<2000 { network.sendOne(isLost: number % 50 == 10) }
    let lost = network.session.statistics.lost
    for number in 0..<1000 { network.sendOne(isLost: number % 50 == 10) }
    #expect(network.session.statistics.lost == lost)
  }

  @Test func theWindowStretchesForWhatWasAskedFor() {
    // Longer than the window, so that the first answer is late; it teaches how long they take.
    var network = RepairingNetwork(seed: 4, answers: .inOwnStream, loss: 0, delay: 130)
    for number in 0..<1500 { network.sendOne(isLost: number % 500 == 250) }
    let statistics = network.session.statistics
    #expect(statistics.lost == 1)
    #expect(statistics.repair.late == 1)
    #expect(statistics.repair.arrived == 2)
    #expect(statistics.late == 0)
  }

  @Test func whatIsOvertakenIsNotAskedFor() {
    for answers in [RepairingNetwork.Answers.plainly, .inOwnStream, .inOwnSession] {
      var network = RepairingNetwork(seed: 4, answers: answers, loss: 0)
      for number in 0..<1500 {
        network.send(lateness: number % 50 == 10 ? 12 : 0)
        for _ in 0..<2 { network.step() }
      }
      let statistics = network.session.statistics
      #expect(statistics.lost == 0)
      // The first was asked for at once, which taught better; or so did the first answers.
      #expect(statistics.repair.requested <= 3, "\(answers)")
      #expect(statistics.repair.unneeded == statistics.repair.requested, "\(answers)")
      // Until an answer shows that there is a stream of its own, what is asked for is the answer.
      #expect(
        statistics.repaired <= (answers == .plainly ? 0 : statistics.repair.requested),
        "\(answers)")
    }
  }

  @Test func withoutAWindowNothingIsAskedFor() {
    var network = RepairingNetwork(seed: 4, answers: .plainly, window: .zero)
    network.run(packets: 500)
    #expect(network.messages.isEmpty)
  }

  @Test func anOutageIsAskedForInMessagesOfBoundedLength() {
    var network = RepairingNetwork(seed: 1, answers: .never, loss: 0)
    for number in 0..<5000 { network.sendOne(isLost: number > 100 && number % 2 == 1, steps: 0) }
    for _ in 0..<20 { network.step() }
    for case .genericNACK(_, let entries) in network.messages { #expect(entries.count <= 64) }
    #expect(network.messages.count > 1)
    #expect(network.session.statistics.isBalanced)
  }
}

extension RepairTests {
  @Test func whatWasRebuiltIsAskedForNoMore() {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    configuration.feedback = [.nack]
    configuration.correctionFormats = [CorrectedStream.correctionType: .ulpfec]
    var stream = CorrectedStream(seed: 1)
    var session = VirtualSession(configuration: configuration, isEntryPoint: { _ in true })
    // The last of these is lost for longer, so that the order does not pass the rebuilt packets.
    for packet in stream.sendMedia(10, timestamp: 0).dropLast() { session.receive(packet) }
    let lost = SequenceNumber(stream.sequence).advanced(by: -1)
    var packets = stream.sendMedia(5, timestamp: 3000)
    stream.sendCorrection([.init(packets: packets, length: 2000)], timestamp: 3000)
    packets.remove(at: 2)
    for packet in packets { session.receive(packet) }
    #expect(session.takeFeedback().count == 1)
    if let correction = stream.packets.last { session.receive(correction) }
    #expect(session.statistics.errorCorrection.rebuilt == 1)
    session.run(for: .milliseconds(60))
    #expect(
      session.takeFeedback() == [
        .genericNACK(media: 0xA, [RTCPFeedback.LostPackets(first: lost)])
      ])
    session.run(for: .milliseconds(200))
    #expect(session.processor.feedbackDeadline == nil)
    #expect(session.statistics.repair.requested == 2)
    #expect(session.statistics.repair.arrived == 0)
  }
}

extension RepairingNetwork {
  /// Sends the next packet, or loses it, and continues.
  mutating func sendOne(isLost: Bool, steps: Int = 2) {
    if isLost { loseOne() } else { send(lateness: 0) }
    for _ in 0..<steps { step() }
  }
}
