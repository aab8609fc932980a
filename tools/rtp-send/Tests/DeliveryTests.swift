import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

@Suite struct DeliveryTests {
  func delivery(
    _ pacing: Pacing, frames: Int = 10, impairments: Impairments = Impairments(),
    _ change: (inout PacketFeed.Configuration) -> Void = { _ in }
  ) throws -> Delivery {
    var pattern = PatternConfiguration()
    pattern.width = 256
    pattern.height = 144
    pattern.frameLimit = frames
    var configuration = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 65_000, initialTimestamp: 7))
    change(&configuration)
    return try Delivery(
      try PacketFeed(configuration), through: NetworkSimulator(impairments, seed: 1), pacing: pacing
    )
  }

  /// Runs to the end, from deadline to deadline, and returns what left when.
  func run(_ delivery: inout Delivery) throws -> [(packet: RTPPacket, time: Instant)] {
    delivery.begin(at: Instant(nanoseconds: 0))
    var sent: [(RTPPacket, Instant)] = []
    var now = Instant(nanoseconds: 0)
    var steps = 0
    while let deadline = delivery.deadline {
      now = max(now, deadline)
      delivery.step(to: now)
      while let datagram = delivery.release(by: now) {
        sent.append((try RTPPacket(parsing: datagram.bytes), now))
      }
      try delivery.prepare()
      steps += 1
      try #require(steps < 100_000, "a loop that makes no progress")
    }
    #expect(delivery.isFinished)
    return sent
  }

  @Test(arguments: [0.5, 1, 4]) func packetsLeaveWhenTheirTimestampsSay(speed: Double) throws {
    var delivery = try delivery(.mediaTime(speed: speed))
    let sent = try run(&delivery)
    #expect(Set(sent.map(\.packet.timestamp)).count == 10)
    for (packet, time) in sent {
      let seconds = Double(packet.timestamp - 7) / 90_000 / speed
      #expect(abs(time.nanoseconds - Int64(seconds * 1e9)) <= 1)
    }
    #expect(sent.first?.packet.sequenceNumber.rawValue == 65_000)
    #expect(delivery.frameCount == 10)
  }

  /// The third picture has jumped numbers, the fifth is of a sender that has started again.
  @Test func theEventsOfAPlanHappenToTheNumbers() throws {
    let plan = try PlanText.parse(
      "60ms jump sequence 100, jump timestamp -9000\n100ms restart\n150ms jump clock 1s")
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 10)
    let configuration = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 1_000_000))
    var delivery = try Delivery(
      try PacketFeed(configuration, plan), through: NetworkSimulator(plan, seed: 1),
      pacing: .mediaTime(speed: 1))
    let packets = try run(&delivery).map(\.packet)
    var pictures: [[RTPPacket]] = []
    for packet in packets {
      if pictures.last?.last?.timestamp == packet.timestamp {
        pictures[pictures.count - 1].append(packet)
      } else {
        pictures.append([packet])
      }
    }
    #expect(pictures.count == 10)
    func first(_ index: Int) -> RTPPacket { pictures[index][0] }
    let last = try #require(pictures[1].last)
    #expect(first(2).sequenceNumber.rawValue == last.sequenceNumber.rawValue + 101)
    #expect(first(2).timestamp == 1_000_000 + 6000 - 9000)
    #expect(pictures[0...2].joined().allSatisfy { $0.ssrc == 1 })
    #expect(Set(pictures[3...].joined().map(\.ssrc)).count == 1)
    #expect(first(3).ssrc != 1)
    #expect(first(4).timestamp == first(3).timestamp + 3000)
    let before = try #require(pictures[2].last).sequenceNumber.rawValue
    #expect(first(3).sequenceNumber.rawValue != before + 1)
  }

  /// What is late in this run and not in another has the same verdict.
  @Test func verdictsDependOnWhenPacketsAreDueAndNotOnWhenTheyAreSent() throws {
    func run(_ lateness: Int64) throws -> [Verdict] {
      let plan = try PlanText.parse(
        "100ms-200ms silence\n0 rate 2M queue 20k, loss 10%, corrupt 5%")
      var network = NetworkSimulator(plan, seed: 4)
      network.recordsVerdicts = true
      var pattern = PatternConfiguration()
      (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 10)
      let configuration = PacketFeed.Configuration(
        recipe: .pattern(pattern),
        stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
      var delivery = try Delivery(
        try PacketFeed(configuration), through: network, pacing: .mediaTime(speed: 1))
      delivery.begin(at: Instant(nanoseconds: 0))
      var now = Instant(nanoseconds: 0)
      while let deadline = delivery.deadline {
        now = max(now, deadline).advanced(byNanoseconds: lateness)
        delivery.step(to: now)
        while delivery.release(by: now) != nil {}
        try delivery.prepare()
      }
      return delivery.takeVerdicts()
    }
    let punctual = try run(0)
    #expect(punctual.contains { $0.reason == .silence })
    #expect(try run(17_000_000) == punctual)
  }

  @Test(arguments: [100.0, 10_000, 150_000]) func packetsLeaveAtTheirRate(rate: Double) throws {
    var delivery = try delivery(.packetRate(rate), frames: 60) { $0.payloadLimit = 30 }
    let sent = try run(&delivery)
    #expect(sent.count > 1000)
    for (index, packet) in sent.enumerated() {
      // Never early, and late by at most a step of half a millisecond.
      let lateness = packet.time.nanoseconds - Int64(Double(index) * 1e9 / rate)
      #expect((-1...500_000).contains(lateness))
    }
  }

  @Test func aMachineThatSleptDoesNotSendItsSleepAtOnce() throws {
    var delivery = try delivery(.packetRate(1000), frames: 30) { $0.payloadLimit = 30 }
    delivery.begin(at: Instant(nanoseconds: 0))
    for now: Int64 in [0, 60_000_000_000] {
      let movesMediaTime = delivery.forgiveDebt(at: Instant(nanoseconds: now))
      #expect(!movesMediaTime)
      delivery.step(to: Instant(nanoseconds: now))
      while delivery.release(by: Instant(nanoseconds: now)) != nil {}
      try delivery.prepare()
    }
    #expect(delivery.counters.offered == 2)
    #expect(delivery.deadline == Instant(nanoseconds: 60_001_000_000))
  }

  @Test func everythingIsSentUnpacedAtOnce() throws {
    var delivery = try delivery(.unpaced, frames: 30)
    #expect(try run(&delivery).allSatisfy { $0.time.nanoseconds == 0 })
    #expect(delivery.frameCount == 30)
  }

  @Test func aBadNetworkIsEmptiedAtTheEnd() throws {
    var delivery = try delivery(
      .mediaTime(speed: 1), frames: 60, impairments: NetworkSimulatorTests.everything
    ) { $0.payloadLimit = 60 }
    delivery.begin(at: Instant(nanoseconds: 0))
    while let deadline = delivery.deadline {
      delivery.step(to: deadline)
      while delivery.release(by: deadline) != nil {}
      try delivery.prepare()
    }
    let counters = delivery.counters
    #expect(counters.delivered == counters.offered - counters.lost + counters.duplicated)
  }

  @Test func framesAreLimitedOverAllRepetitions() throws {
    var delivery = try delivery(.mediaTime(speed: 1), frames: 4) {
      $0.repetitions = nil
      $0.frameLimit = 11
    }
    let timestamps = try run(&delivery).map(\.packet.timestamp)
    #expect(Set(timestamps) == Set((0..<11).map { 7 + 3000 * $0 }))
    #expect(timestamps == timestamps.sorted())
  }

  @Test func strippedStreamsHaveNoParameterSets() throws {
    var pattern = PatternConfiguration()
    pattern.width = 256
    pattern.height = 144
    pattern.groupLength = 2
    var delivery = try delivery(.unpaced) {
      $0.recipe = .pattern(pattern)
      $0.frameLimit = 6
      $0.aggregates = false
      $0.stripsParameterSets = true
    }
    let types = try run(&delivery).map {
      $0.packet.payload.readableBytesView.first.map { $0 & 0x1F }
    }
    #expect(!types.contains(7) && !types.contains(8))
    #expect(types.contains(5) || types.contains(28))
  }
}
