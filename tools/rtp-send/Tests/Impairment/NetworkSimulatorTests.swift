import Impairment
import NIOCore
import RTPWire
import Testing

@Suite struct NetworkSimulatorTests {
  /// Sends numbered packets, one per microsecond, and returns the numbers in the order in which
  /// they left.
  func send(
    _ count: Int, _ impairments: Impairments, seed: UInt64 = 1
  ) -> (numbers: [Int], delays: [Int64], network: NetworkSimulator) {
    var network = NetworkSimulator(impairments, seed: seed)
    var numbers: [Int] = []
    var delays: [Int64] = []
    func drain(_ now: Instant) {
      while let release = network.release(by: now) {
        guard !release.isGarbage else { continue }
        let number = Int(release.bytes.getInteger(at: 0, as: UInt32.self) ?? 0)
        numbers.append(number)
        delays.append(release.time.nanoseconds - Int64(number) * 1000)
      }
    }
    for number in 0..<count {
      let now = Instant(nanoseconds: Int64(number) * 1000)
      network.offer(ByteBuffer(integer: UInt32(number)), at: now)
      drain(now)
    }
    network.finish(at: Instant(nanoseconds: Int64(count) * 1000))
    drain(Instant(nanoseconds: .max))
    return (numbers, delays, network)
  }

  static var everything: Impairments {
    var impairments = Impairments()
    impairments.loss = 0.05
    impairments.burstLoss = GilbertElliott(probability: 0.05, meanLength: 4)
    impairments.reordering = Impairments.Reordering(probability: 0.1, depth: 5)
    impairments.duplication = 0.05
    impairments.garbage = 0.05
    impairments.delay = .disorderly(jitter: 20_000)
    return impairments
  }

  @Test func aPerfectNetworkPassesEverythingAtOnce() {
    let sent = send(1000, Impairments())
    #expect(sent.numbers == Array(0..<1000))
    #expect(sent.delays.allSatisfy { $0 == 0 })
    #expect(sent.network.counters.delivered == 1000)
  }

  @Test func theSameSeedDoesTheSameAndAnotherDoesNot() {
    let first = send(2000, Self.everything, seed: 7)
    let second = send(2000, Self.everything, seed: 7)
    let other = send(2000, Self.everything, seed: 8)
    #expect(first.numbers == second.numbers)
    #expect(first.delays == second.delays)
    #expect(first.network.counters == second.network.counters)
    #expect(first.numbers != other.numbers)
  }

  @Test(arguments: UInt64(0)..<10) func countersBalance(seed: UInt64) {
    let network = send(5000, Self.everything, seed: seed).network
    let counters = network.counters
    #expect(counters.offered == 5000)
    #expect(counters.delivered == counters.offered - counters.lost + counters.duplicated)
    #expect(network.pendingCount == 0)
    for count in [counters.lost, counters.reordered, counters.duplicated, counters.garbage] {
      #expect(count > 0)
    }
  }

  /// Four standard deviations of a binomial distribution either way.
  func isLikely(_ count: Int, of total: Int, probability: Double) -> Bool {
    let deviation = (Double(total) * probability * (1 - probability)).squareRoot()
    return abs(Double(count) - Double(total) * probability) <= 4 * deviation
  }

  @Test(arguments: [0.001, 0.01, 0.05, 0.2, 0.5]) func sharesAreAsAsked(share: Double) {
    var impairments = Impairments()
    impairments.loss = share
    #expect(
      isLikely(send(20_000, impairments).network.counters.lost, of: 20_000, probability: share))
    impairments = Impairments()
    impairments.duplication = share
    let duplicated = send(20_000, impairments).network.counters.duplicated
    #expect(isLikely(duplicated, of: 20_000, probability: share))
    impairments = Impairments()
    impairments.reordering = Impairments.Reordering(probability: share, depth: 3)
    let reordered = send(20_000, impairments).network.counters.reordered
    #expect(isLikely(reordered, of: 20_000, probability: share))
  }

  @Test func lossOfEverythingLosesEverything() {
    var impairments = Impairments()
    impairments.loss = 1
    #expect(send(100, impairments).numbers.isEmpty)
  }

  @Test(arguments: [(0.05, 3.0), (0.05, 10.0), (0.2, 10.0), (0.5, 100.0), (0.01, 1.0)])
  func burstsHaveTheirMeanLengthAndShare(probability: Double, meanLength: Double) {
    var impairments = Impairments()
    impairments.burstLoss = GilbertElliott(
      probability: probability, meanLength: meanLength)
    #expect(impairments.burstLoss != nil)
    let total = 100_000
    let arrived = send(total, impairments).numbers
    let gaps = zip(arrived, arrived.dropFirst()).map { $1 - $0 - 1 }.filter { $0 > 0 }
    let mean = Double(gaps.reduce(0, +)) / Double(gaps.count)
    let share = 1 - Double(arrived.count) / Double(total)
    // Bursts are independent, so both settle with the square root of their number.
    let tolerance = 6 / Double(gaps.count).squareRoot()
    #expect(abs(mean - meanLength) <= meanLength * tolerance)
    #expect(abs(share - probability) <= probability * tolerance)
  }

  @Test(arguments: [(0.5, 0.9), (-0.1, 3.0), (0.9, 1.0), (.nan, 3.0), (0.5, .infinity)])
  func burstsThatCannotBeAreRefused(probability: Double, meanLength: Double) {
    #expect(GilbertElliott(probability: probability, meanLength: meanLength) == nil)
  }

  @Test(arguments: [1, 2, 5, 64]) func reorderedPacketsAreOvertakenByDepthAtMost(depth: Int) {
    for probability in [0.05, 0.5, 1] {
      var impairments = Impairments()
      impairments.reordering = Impairments.Reordering(probability: probability, depth: depth)
      let numbers = send(5000, impairments).numbers
      #expect(numbers.sorted() == Array(0..<5000))
      var overtakenMost = 0
      for (place, number) in numbers.enumerated() {
        let before = numbers[max(0, place - 2 * depth)..<place]
        overtakenMost = max(overtakenMost, before.count { $0 > number })
        #expect(abs(place - number) <= depth)
      }
      #expect(overtakenMost <= depth)
      // All displaced by one is all in order again.
      if probability < 1 { #expect(overtakenMost > 0) }
    }
  }

  @Test func jitterHasItsDeviationAndIsBounded() {
    var impairments = Impairments()
    impairments.delay = .disorderly(jitter: 1_000_000)
    let (numbers, delays, _) = send(20_000, impairments)
    #expect(numbers != Array(0..<20_000))
    let mean = delays.map(Double.init).reduce(0, +) / Double(delays.count)
    let variance = delays.map { (Double($0) - mean) * (Double($0) - mean) }.reduce(0, +)
    let deviation = (variance / Double(delays.count)).squareRoot()
    #expect(abs(mean - 3_000_000) < 40_000)
    #expect(abs(deviation - 1_000_000) < 40_000)
    #expect(delays.allSatisfy { (0...9_000_000).contains($0) })
  }

  @Test func releasesNeverGoBackInTime() {
    var network = NetworkSimulator(Self.everything, seed: 3)
    for number in 0..<2000 {
      network.offer(
        ByteBuffer(integer: UInt32(number)), at: Instant(nanoseconds: Int64(number) * 1000))
    }
    var last = Instant(nanoseconds: .min)
    while let next = network.nextRelease, let release = network.release(by: next) {
      #expect(release.time == next)
      #expect(release.time >= last)
      last = release.time
    }
  }

  @Test func switchingOneImpairmentOnLeavesTheOthersAlone() {
    var impairments = Impairments()
    impairments.loss = 0.1
    let alone = Set(send(2000, impairments).numbers)
    impairments.duplication = 0.2
    impairments.garbage = 0.2
    impairments.reordering = Impairments.Reordering(probability: 0.2, depth: 9)
    impairments.delay = .disorderly(jitter: 50_000)
    #expect(Set(send(2000, impairments).numbers) == alone)
  }

  /// Every stage judges each packet alike, whichever other stages are on.
  @Test(arguments: UInt64(1)...5) func everyStageHasItsOwnNumbers(seed: UInt64) {
    func judgements(_ impairments: Impairments, of stage: Verdict.Stage) -> [Verdict] {
      verdicts(impairments, seed: seed).filter { $0.reason.stage == stage }
    }
    var all = Self.everything
    (all.corruption, all.truncation, all.oversize) = (0.05, 0.05, 0.05)
    all.blockLoss = .init(2, of: 50)
    all.loss = 0
    all.burstLoss = nil
    // What is lost is judged by no stage that follows.
    let lost = Set(judgements(all, of: .loss).map(\.packet))
    #expect(lost.count == 80)
    for (stage, keyPath) in Self.shares {
      var alone = Impairments()
      alone[keyPath: keyPath] = all[keyPath: keyPath]
      let expected = judgements(alone, of: stage).filter { !lost.contains($0.packet) }
      #expect(Set(judgements(all, of: stage).map(\.packet)).isSuperset(of: expected.map(\.packet)))
      #expect(!expected.isEmpty)
    }
    var delayed = Impairments()
    delayed.delay = all.delay
    let delays = Dictionary(
      uniqueKeysWithValues: judgements(delayed, of: .passed).map { ($0.packet, $0.delay) })
    for verdict in judgements(all, of: .passed) {
      #expect(verdict.delay == delays[verdict.packet])
    }
  }

  static var shares: [(Verdict.Stage, WritableKeyPath<Impairments, Double>)] {
    [
      (.damage, \.corruption), (.damage, \.truncation), (.damage, \.oversize),
      (.duplication, \.duplication), (.garbage, \.garbage),
    ]
  }

  /// What is decided about 2000 packets, one per microsecond.
  func verdicts(_ impairments: Impairments, seed: UInt64) -> [Verdict] {
    var network = NetworkSimulator(impairments, seed: seed)
    network.recordsVerdicts = true
    for number in 0..<2000 {
      network.offer(
        ByteBuffer(integer: UInt32(number)), at: Instant(nanoseconds: Int64(number) * 1000))
    }
    return network.takeVerdicts()
  }

  @Test func answersDoNotChangeWhatIsLostOfTheRest() {
    var impairments = Impairments()
    impairments.loss = 0.1
    impairments.burstLoss = GilbertElliott(probability: 0.05, meanLength: 4)
    let alone = send(2000, impairments, seed: 5).numbers
    var network = NetworkSimulator(impairments, seed: 5)
    var numbers: [Int] = []
    var answers = 0
    for number in 0..<2000 {
      let now = Instant(nanoseconds: Int64(number) * 1000)
      network.offer(ByteBuffer(integer: UInt32(number)), at: now)
      if number % 3 == 0 {
        network.offer(ByteBuffer(integer: UInt32(1 << 20)), at: now, as: .answer)
      }
      while let release = network.release(by: now) {
        let number = Int(release.bytes.getInteger(at: 0, as: UInt32.self) ?? 0)
        if number < 2000 { numbers.append(number) } else { answers += 1 }
      }
    }
    #expect(numbers == alone)
    #expect((500...640).contains(answers))
  }
}
