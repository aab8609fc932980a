import Impairment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// The same seed and plan do the same to the same packets, packet for packet, wherever the engine
/// runs: in a sender, in a proxy in either direction, and by itself in a test.
@Suite struct SameSeedTests {
  private struct Arrival: Equatable {
    var time: Int64
    var bytes: ByteBuffer
  }

  /// What was done, and what came out.
  private struct Outcome {
    var verdicts: [Verdict] = []
    var arrivals: [Arrival] = []

    /// Until the last packet was offered; then a sender does not wait for others any more.
    func comparable(until end: Int64) -> (verdicts: [Verdict], arrivals: [Arrival]) {
      let verdicts = verdicts.filter { $0.sequence != nil }.map { verdict in
        var verdict = verdict
        (verdict.flow, verdict.packet) = ("", 0)
        return verdict
      }
      return (verdicts, arrivals.filter { $0.time < end })
    }
  }

  private static func feed() throws -> PacketFeed {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 40)
    var configuration = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 65_500, initialTimestamp: 0))
    configuration.payloadLimit = 120
    return try PacketFeed(configuration)
  }

  private static func send(_ plan: Plan, seed: UInt64) throws -> Outcome {
    var network = NetworkSimulator(plan, seed: seed)
    network.recordsVerdicts = true
    var delivery = try Delivery(try feed(), through: network, pacing: .mediaTime(speed: 1))
    var outcome = Outcome()
    var now = Instant(nanoseconds: 0)
    delivery.begin(at: now)
    while let deadline = delivery.deadline {
      now = max(now, deadline)
      delivery.step(to: now)
      while let packet = delivery.release(by: now) {
        outcome.arrivals.append(Arrival(time: now.nanoseconds, bytes: packet.bytes))
      }
      try delivery.prepare()
    }
    outcome.verdicts = delivery.takeVerdicts()
    return outcome
  }

  /// What is sent, and when, where the network is good.
  private static let packets = Result { try send(Plan(), seed: 0).arrivals }

  private static func alone(_ plan: Plan, seed: UInt64) throws -> Outcome {
    var network = NetworkSimulator(plan, seed: seed)
    network.recordsVerdicts = true
    var outcome = Outcome()
    for packet in try packets.get() {
      let now = Instant(nanoseconds: packet.time)
      // Whoever asks rarely gets the same as somebody who asks in time.
      network.offer(packet.bytes, at: now)
      while let release = network.release(by: now) {
        outcome.arrivals.append(Arrival(time: release.time.nanoseconds, bytes: release.bytes))
      }
    }
    outcome.verdicts = network.takeVerdicts()
    return outcome
  }

  /// With hellos before the media, and RTCP both ways among it.
  private static func proxied(
    _ plan: Plan, seed: UInt64, _ direction: ProxyPath.Direction
  ) throws -> Outcome {
    var path = ProxyPath(plan, seed: seed, number: 0, client: "x", recordsVerdicts: true)
    // The clock of the proxy is another one.
    let beginning: Int64 = 5_000_000_000
    var report = ByteBuffer()
    report.writeMultipleIntegers(UInt8(0x80), UInt8(201), UInt16(1), UInt32(5))
    for direction in ProxyPath.Direction.allCases {
      path.offer(
        ByteBuffer(string: "Hello"), direction, channel: 0, at: Instant(nanoseconds: 1000))
    }
    var outcome = Outcome()
    func take(by now: Instant) {
      while let departure = path.departure(by: now) {
        guard departure.direction == direction, departure.channel == 0,
          departure.bytes.getString(at: 0, length: 5) != "Hello"
        else { continue }
        outcome.arrivals.append(
          Arrival(time: now.nanoseconds - beginning, bytes: departure.bytes))
      }
    }
    for (number, packet) in try packets.get().enumerated() {
      let now = Instant(nanoseconds: beginning + packet.time)
      while let deadline = path.deadline, deadline <= now { take(by: deadline) }
      if number % 7 == 3 {
        path.offer(report, direction.opposite, channel: 1, at: now)
        path.offer(report, direction, channel: 1, at: now)
      }
      path.offer(packet.bytes, direction, channel: 0, at: now)
      take(by: now)
    }
    outcome.verdicts = path.takeVerdicts()
    return outcome
  }

  /// A plan of some clauses with any times and values.
  ///
  /// Of a rate and a rest of the queue RTCP takes its share too, and garbage would not tell that it
  /// is none, so that these are left out.
  private static func plan(_ generator: inout SeededGenerator) throws -> Plan {
    let clauses = [
      "loss 5%", "burst-loss 6% 3", "gilbert-elliott 2% 30% 80% 1%", "lose 2 of 25",
      "corrupt 4%", "truncate 3%", "oversize 2%", "duplicate 5%", "delay 20ms",
      "delay 15ms jitter 4ms pareto correlation 40%", "delay 9ms jitter 3ms uniform overtaking",
      "delay 9ms jitter 3ms paretonormal overtaking", "reorder 8% 5 within 25ms", "silence",
    ]
    let lines = (0..<generator.number(upTo: 6)).map { _ in
      let from = generator.integer(below: 900)
      let to = from + generator.number(upTo: 600)
      return "\(from)ms-\(to)ms \(clauses[generator.integer(below: clauses.count)])"
    }
    return try PlanText.parse(lines.joined(separator: "\n") + "\nrepeat 1100ms")
  }

  @Test(arguments: UInt64(1)...25) func everywhere(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let plan = try Self.plan(&generator)
    let end = try #require(Self.packets.get().last).time
    let expected = try Self.alone(plan, seed: seed).comparable(until: end)
    #expect(expected.verdicts.count > 300)
    let outcomes = [
      ("a sender", try Self.send(plan, seed: seed)),
      ("a proxy to the client", try Self.proxied(plan, seed: seed, .toClient)),
      ("a proxy to the server", try Self.proxied(plan, seed: seed, .toServer)),
    ]
    for (place, outcome) in outcomes {
      let found = outcome.comparable(until: end)
      #expect(found.verdicts == expected.verdicts, "\(place)")
      #expect(found.arrivals == expected.arrivals, "\(place)")
    }
  }
}
