import Impairment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Plans as text, and what holds when.
@Suite struct PlanTests {
  /// Which of `count` packets, one every 100 ms, pass a network with this plan.
  func passing(_ text: String, count: Int, seed: UInt64 = 1) throws -> [Int] {
    var network = NetworkSimulator(try PlanText.parse(text), seed: seed)
    // The clock of the plan starts with the first packet, whenever that comes.
    let start = Instant(nanoseconds: 77_000_000_000)
    var passed: [Int] = []
    for number in 0..<count {
      let now = start.advanced(byNanoseconds: Int64(number) * 100_000_000)
      network.offer(ByteBuffer(integer: UInt32(number)), label: number, at: now)
      while let release = network.release(by: now) { passed.append(release.label) }
    }
    return passed
  }

  @Test func aLineHoldsFromItsTimeToItsEnd() throws {
    let passed = try passing("1-2 silence\n500ms-700ms silence # short\n\n4 silence", count: 50)
    let silent = Set(10..<20).union(5..<7).union(40..<50)
    #expect(passed == (0..<50).filter { !silent.contains($0) })
  }

  @Test func thePlanBeginsAgain() throws {
    let passed = try passing("0.5-1 silence\nrepeat 2", count: 60)
    #expect(passed == (0..<60).filter { !(5..<10).contains($0 % 20) })
  }

  @Test func aLaterLineOverrulesAnEarlierOne() throws {
    let passed = try passing("0 loss 1\n1-2 loss 0", count: 30)
    #expect(passed == Array(10..<20))
  }

  @Test func eventsHappenOnceInEachRound() throws {
    let plan = try PlanText.parse(
      """
      3 restart
      1 jump sequence -20, jump timestamp 90k
      2.5 jump clock -1h
      repeat 4
      """)
    let second: Int64 = 1_000_000_000
    #expect(plan.events(in: 0..<second).isEmpty)
    #expect(plan.events(in: second..<second + 1) == [.sequenceJump(-20), .timestampJump(90_000)])
    #expect(plan.events(in: 2 * second..<4 * second) == [.clockJump(-3600 * second), .restart])
    #expect(plan.events(in: 0..<8 * second).count { $0 == .restart } == 2)
    #expect(plan.events(in: 7 * second..<7 * second + 1) == [.restart])
    #expect(plan.clockJumps(until: 11 * second) == -3 * 3600 * second)
    // However far one looks, it ends.
    #expect(plan.events(in: 0..<Int64.max).count < 10_000)
  }

  /// A recorder runs for weeks.
  @Test func whatAddsUpDoesSoInEveryRound() throws {
    let plan = try PlanText.parse("0 jump clock 1s\n500ms parameter-sets\nrepeat 1")
    let second: Int64 = 1_000_000_000
    for rounds in [1, 1000, 1001, 1_000_000] as [Int64] {
      #expect(plan.clockJumps(until: rounds * second - 1) == rounds * second)
      #expect(plan.parameterSetChanges(until: rounds * second - 1) == rounds)
    }
    #expect(plan.clockJumps(until: .max) == .max)
    #expect(plan.clockJumps(until: -1) == 0)
    let once = try PlanText.parse("2 jump clock -1h, parameter-sets")
    #expect(once.clockJumps(until: .max) == -3600 * second)
    #expect(once.parameterSetChanges(until: 2 * second - 1) == 0)
    #expect(once.parameterSetChanges(until: 2 * second) == 1)
  }

  @Test func sizesHoldForTheirTime() throws {
    let plan = try PlanText.parse("1-2 size 640x360\n1.5 size 320x240")
    #expect(plan.size(at: 0) == nil)
    #expect(try #require(plan.size(at: 1_000_000_000)) == (640, 360))
    #expect(try #require(plan.size(at: 9_000_000_000)) == (320, 240))
    #expect(plan.changesPictures)
    #expect(try !PlanText.parse("0 loss 1%").changesPictures)
  }

  /// Line by line the same as the parameters in code.
  @Test func clausesMeanWhatTheySay() throws {
    let plan = try PlanText.parse(
      """
      0 rate 2M queue 20k, loss 1%, burst-loss 0.05 4, lose 2 of 50, corrupt 3%
      0 truncate 4%, oversize 0.5%, duplicate 6%, reorder 7% 9 within 30ms, garbage 8%
      0 delay 40ms jitter 10ms pareto correlation 25% overtaking
      """)
    var expected = Impairments()
    expected.rate = .init(bitsPerSecond: 2_000_000, queue: 20_000)
    expected.loss = 0.01
    expected.burstLoss = GilbertElliott(probability: 0.05, meanLength: 4)
    expected.blockLoss = .init(2, of: 50)
    (expected.corruption, expected.truncation, expected.oversize) = (0.03, 0.04, 0.005)
    (expected.duplication, expected.garbage) = (0.06, 0.08)
    expected.reordering = .init(probability: 0.07, depth: 9, within: 30_000_000)
    expected.delay.mean = 40_000_000
    expected.delay.jitter = 10_000_000
    expected.delay.distribution = .pareto
    expected.delay.correlation = 0.25
    expected.delay.keepsOrder = false
    var inText = NetworkSimulator(plan, seed: 9)
    var inCode = NetworkSimulator(expected, seed: 9)
    for number in 0..<3000 {
      let now = Instant(nanoseconds: Int64(number) * 1_000_000)
      let packet = ByteBuffer(repeating: UInt8(number % 256), count: 200)
      inText.offer(packet, at: now)
      inCode.offer(packet, at: now)
      while let release = inCode.release(by: now) { #expect(inText.release(by: now) == release) }
      #expect(inText.release(by: now) == nil)
    }
    #expect(inText.counters == inCode.counters)
    let chain = try PlanText.parse("0 gilbert-elliott 1% 30% 80% 0.1%").entries.map(\.clause)
    let model = try #require(
      GilbertElliott(p: 0.01, r: 0.3, lossInBad: 0.8, lossInGood: 0.001))
    #expect(chain == [.network(.burstLoss(model))])
  }

  @Test(arguments: Preset.allCases) func presetsArePlans(preset: Preset) throws {
    let plan = try PlanText.parse("5-10 \(preset.rawValue)")
    #expect(plan.entries.count == preset.clauses.split(separator: ",").count)
    #expect(plan.entries.allSatisfy { $0.from == 5_000_000_000 && $0.to == 10_000_000_000 })
  }

  /// The same text, seed and packets, the same verdicts.
  @Test(arguments: UInt64(1)...20) func theSameSeedGivesTheSameVerdicts(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let presets = Preset.allCases
    var text = ""
    for _ in 0..<1 + generator.integer(below: 6) {
      let from = generator.integer(below: 20)
      text += "\(from)-\(from + 1 + generator.integer(below: 9)) "
      text += presets[generator.integer(below: presets.count)].rawValue
      text += ", corrupt \(generator.integer(below: 10))%, reorder 5% 4, duplicate 3%, garbage 2%\n"
    }
    if seed.isMultiple(of: 2) { text += "repeat \(3 + generator.integer(below: 20))\n" }
    let plan = try PlanText.parse(text)
    let sizes = (0..<2000).map { _ in 20 + generator.integer(below: 1400) }
    func run(_ seed: UInt64) -> (verdicts: [Verdict], releases: [NetworkSimulator.Release]) {
      var network = NetworkSimulator(plan, seed: seed)
      network.recordsVerdicts = true
      var releases: [NetworkSimulator.Release] = []
      for (number, size) in sizes.enumerated() {
        let now = Instant(nanoseconds: Int64(number) * 15_000_000)
        network.offer(ByteBuffer(repeating: 7, count: size), label: number, at: now)
        while let release = network.release(by: now) { releases.append(release) }
      }
      return (network.takeVerdicts(), releases)
    }
    let (first, second) = (run(seed), run(seed))
    #expect(first.verdicts == second.verdicts)
    #expect(first.releases == second.releases)
    #expect(run(seed + 1).verdicts != first.verdicts)
  }

  @Test(arguments: [
    ("0 los 1%", "line 1: 'los' is none of"), ("0 leap 1", ", restart, jump, size, "),
    ("\n# x\n0 loss 2", "line 3: loss needs a share"),
    ("ten silence", "line 1: a line begins with a time"), ("5-5 silence", "has to end after"),
    ("0 delay 40", "delay needs a time with its unit"), ("0 silence,", "nothing is said"),
    ("0", "nothing is said"), ("0 delay 1ms gaussian", "delay knows no 'gaussian'"),
    ("0 lose 5 of 3", "lose takes two numbers"), ("0 rate 5", "rate takes"),
    ("0 reorder 5%", "reorder needs a number"), ("0 jump 5", "jump takes"),
    ("0 wifi 3", "'3' is too much behind wifi"), ("repeat", "repeat takes"),
    ("repeat 0", "repeat takes"), ("0 size 641x360", "size takes an even size"),
    ("0 delay 2m", "a minute at most"), ("0 burst-loss 90% 2", "LENGTH/(LENGTH+1)"),
    ("1e300 silence", "a line begins with a time"), ("nan silence", "a line begins with a time"),
  ])
  func mistakesAreNamedWithTheirLine(text: String, words: String) throws {
    let problem = #expect(throws: PlanText.Problem.self) { try PlanText.parse(text) }
    #expect(try "\(#require(problem))".contains(words), "\(problem.map { "\($0)" } ?? "")")
  }

  @Test func anyTextIsReadOrRefused() {
    var generator = SeededGenerator(seed: 3)
    let words = [
      "0", "1-2", "-", "loss", "1%", "delay", "40ms", "jitter", ",", "rate", "9999999999999999G",
      "jump", "sequence", "--5", "-", "clock", "1e308h", "size", "x", "\n", "repeat", "#", "é",
      "of",
      "lose", "reorder", "within", "restart", "silence", "\t", "inf", "nan", "0-", "wifi",
    ]
    var refused = 0
    for _ in 0..<3000 {
      let text = (0..<generator.integer(below: 12))
        .map { _ in words[generator.integer(below: words.count)] }
        .joined(separator: " ")
      do throws(PlanText.Problem) {
        expectBounds(of: try PlanText.parse(text))
      } catch {
        refused += 1
        #expect(error.line > 0 && error.line <= 1 + text.count { $0 == "\n" })
      }
    }
    #expect((1000...2900).contains(refused))
  }

  /// However late it is, and whatever becomes of packets.
  private func expectBounds(of plan: Plan) {
    var network = NetworkSimulator(plan, seed: 1)
    for time in [0, 1, Int64.max / 2, .max] {
      network.offer(ByteBuffer(repeating: 0, count: 30), at: Instant(nanoseconds: time))
      // Those of the first round, and of a thousand more.
      #expect(plan.events(in: 0..<time).count <= 1001 * plan.entries.count)
      // None of the words is a size.
      #expect(plan.size(at: time) == nil)
    }
    let counters = network.counters
    #expect(counters.offered == 4)
    #expect(network.pendingCount == 4 - counters.lost + counters.duplicated + counters.garbage)
  }
}
