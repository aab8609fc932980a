import Impairment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// What each stage of the network does to packets.
@Suite struct StageTests {
  /// What comes out of a network into which `count` packets of `size` bytes go, one every
  /// `interval` nanoseconds.
  func send(
    _ count: Int, bytes size: Int = 100, every interval: Int64 = 1_000_000, seed: UInt64 = 1,
    _ impairments: Impairments
  ) -> (releases: [NetworkSimulator.Release], network: NetworkSimulator) {
    var network = NetworkSimulator(impairments, seed: seed)
    network.recordsVerdicts = true
    var releases: [NetworkSimulator.Release] = []
    for number in 0..<count {
      let now = Instant(nanoseconds: Int64(number) * interval)
      var packet = ByteBuffer(repeating: 0, count: size)
      packet.setInteger(UInt32(number), at: 0)
      network.offer(packet, label: number, at: now)
      while let release = network.release(by: now) { releases.append(release) }
    }
    while let next = network.nextRelease, let release = network.release(by: next) {
      releases.append(release)
    }
    return (releases, network)
  }

  @Test func silenceLosesEverything() {
    var impairments = Impairments()
    impairments.isSilent = true
    impairments.garbage = 1
    let (releases, network) = send(50, impairments)
    #expect(releases.isEmpty)
    #expect(network.counters.lost == 50)
  }

  /// 972 bytes and their headers are 8000 bits: at 1 Mbit/s a packet every 8 ms.
  @Test func aLimitedRateSpacesPacketsAndItsQueueDropsTheRest() throws {
    var impairments = Impairments()
    impairments.rate = .init(bitsPerSecond: 1_000_000, queue: 10_000)
    let (releases, network) = send(100, bytes: 972, every: 1_000_000, impairments)
    let gaps = zip(releases, releases.dropFirst()).map { $0.time.nanoseconds(to: $1.time) }
    #expect(gaps.allSatisfy { $0 == 8_000_000 })
    // Ten fit at once, and one more every 8 ms.
    #expect((20...23).contains(releases.count))
    #expect(network.counters.lost == 100 - releases.count)
    #expect(releases.map(\.label) == releases.map(\.label).sorted())
    let last = try #require(releases.last)
    // Nothing waits longer than a full queue takes.
    #expect(last.time.nanoseconds - Int64(last.label) * 1_000_000 <= 80_000_000)
  }

  @Test(arguments: UInt64(1)...10) func blocksLoseExactlyTheirNumber(seed: UInt64) {
    var impairments = Impairments()
    impairments.blockLoss = .init(3, of: 20)
    let labels = Set(send(200, seed: seed, impairments).releases.map(\.label))
    for block in 0..<10 {
      #expect((block * 20..<block * 20 + 20).count { !labels.contains($0) } == 3)
    }
    // Not the same places in every block.
    let places = (0..<10).map { block in (0..<20).filter { !labels.contains(block * 20 + $0) } }
    #expect(Set(places).count > 1)
  }

  /// The share that is lost in the long run is (r·(1-k) + p·(1-h)) / (p + r).
  @Test(arguments: [(0.01, 0.3, 0.8, 0.0), (0.05, 0.2, 0.5, 0.02), (0.5, 0.5, 1, 0)])
  func theChainLosesItsShare(p: Double, r: Double, bad: Double, good: Double) {
    var impairments = Impairments()
    impairments.burstLoss = GilbertElliott(p: p, r: r, lossInBad: bad, lossInGood: good)
    let share = Double(send(100_000, every: 1000, impairments).network.counters.lost) / 100_000
    let expected = (r * good + p * bad) / (p + r)
    #expect(abs(share - expected) < 0.1 * expected)
  }

  @Test func bitsAreFlippedPacketsCutAndMadeTooLong() {
    var impairments = Impairments()
    impairments.corruption = 0.2
    let corrupted = send(1000, impairments)
    var flipped: [Int] = []
    for release in corrupted.releases {
      var expected = ByteBuffer(repeating: 0, count: 100)
      expected.setInteger(UInt32(release.label), at: 0)
      let difference = zip(release.bytes.readableBytesView, expected.readableBytesView)
      let bits = difference.reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
      if bits > 0 { flipped.append(bits) }
      #expect(bits <= 8 && release.bytes.readableBytes == 100)
    }
    #expect(Set(flipped).count > 4)
    #expect((140...260).contains(flipped.count))
    impairments = Impairments()
    impairments.truncation = 1
    let lengths = send(1000, impairments).releases.map(\.bytes.readableBytes)
    #expect(lengths.allSatisfy { $0 < 100 } && Set(lengths).count > 90)
    impairments = Impairments()
    impairments.oversize = 1
    let oversized = send(300, impairments).releases
    #expect(oversized.allSatisfy { (1473...10_000).contains($0.bytes.readableBytes) })
    #expect(
      oversized.allSatisfy { $0.bytes.getInteger(at: 0, as: UInt32.self) == UInt32($0.label) })
  }

  @Test(arguments: Delay.Distribution.allCases, [0.0, 0.7])
  func delaysHaveTheirMeanAndDeviation(distribution: Delay.Distribution, correlation: Double) {
    var impairments = Impairments()
    impairments.delay.mean = 100_000_000
    impairments.delay.jitter = 5_000_000
    impairments.delay.distribution = distribution
    impairments.delay.correlation = correlation
    impairments.delay.keepsOrder = false
    var network = send(40_000, every: 1_000, impairments).network
    let delays = network.takeVerdicts().compactMap(\.delay).map { Double($0) / 5_000_000 - 20 }
    let mean = delays.reduce(0, +) / Double(delays.count)
    let variance = delays.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(delays.count)
    #expect(abs(mean) < 0.08)
    let expected = distribution == .uniform ? 1 / 3.0.squareRoot() : 1
    // Of a heavy tail a sample has more or less.
    let tolerance = distribution == .uniform || distribution == .normal ? 0.05 : 0.2
    #expect(abs(variance.squareRoot() - expected) < tolerance)
    let products = zip(delays, delays.dropFirst()).map { ($0 - mean) * ($1 - mean) }
    let found = products.reduce(0, +) / Double(products.count) / variance
    #expect(abs(found - correlation) < 0.05)
    #expect(delays.allSatisfy { $0 < 15 })
    if distribution == .uniform { #expect(delays.allSatisfy { abs($0) <= 1 }) }
    // Late ones are further out than early ones.
    if distribution == .pareto, correlation == 0 {
      #expect((delays.max() ?? 0) > 5 && (delays.min() ?? 0) > -0.7)
    }
  }

  @Test func jitterKeepsTheOrderUnlessPacketsMayOvertake() {
    var impairments = Impairments()
    impairments.delay.mean = 20_000_000
    impairments.delay.jitter = 8_000_000
    let kept = send(2000, impairments).releases.map(\.label)
    #expect(kept == Array(0..<2000))
    impairments.delay.keepsOrder = false
    let overtaken = send(2000, impairments).releases.map(\.label)
    #expect(overtaken != kept && overtaken.sorted() == kept)
  }

  /// A goodbye that came before the last packets would end too early.
  @Test func answersDoNotOvertakeAndHoldNothingUp() {
    var impairments = Impairments()
    impairments.delay.mean = 20_000_000
    impairments.delay.jitter = 8_000_000
    let alone = send(500, impairments).releases.map(\.time)
    var network = NetworkSimulator(impairments, seed: 1)
    var arrivals: [(label: Int, time: Instant)] = []
    for number in 0..<500 {
      let now = Instant(nanoseconds: Int64(number) * 1_000_000)
      network.offer(ByteBuffer(repeating: 0, count: 100), label: number, at: now)
      network.offer(ByteBuffer(), label: -number, at: now, as: .answer)
    }
    while let next = network.nextRelease, let release = network.release(by: next) {
      arrivals.append((release.label, release.time))
    }
    #expect(arrivals.count == 1000)
    #expect(arrivals.filter { $0.label > 0 }.map(\.time) == Array(alone.dropFirst()))
    var newest = 0
    for (label, _) in arrivals {
      if label < 0 { #expect(-label <= newest) }
      newest = max(newest, label)
    }
  }

  @Test func aDisplacedPacketThatNothingFollowsLeavesInTime() {
    var impairments = Impairments()
    impairments.reordering = .init(probability: 1, depth: 50, within: 20_000_000)
    let (releases, network) = send(10, every: 100_000_000, impairments)
    #expect(releases.map(\.label) == Array(0..<10))
    #expect(releases.allSatisfy { $0.time.nanoseconds % 100_000_000 == 20_000_000 })
    #expect(network.pendingCount == 0)
  }

  @Test func whatIsOnItsWayIsBounded() {
    var impairments = Impairments()
    impairments.delay.mean = 60_000_000_000
    let (_, network) = send(1200, bytes: 60_000, every: 1000, impairments)
    #expect(network.counters.lost > 0)
    #expect(network.counters.delivered * 60_000 <= NetworkSimulator.mostInFlight)
  }

  /// A packet is lost or passes, and the counters say the same as the verdicts.
  @Test(arguments: UInt64(0)..<10) func everyPacketHasOneEnd(seed: UInt64) {
    var impairments = NetworkSimulatorTests.everything
    impairments.rate = .init(bitsPerSecond: 800_000, queue: 3000)
    impairments.corruption = 0.1
    var (_, network) = send(2000, bytes: 80, seed: seed, impairments)
    let verdicts = network.takeVerdicts()
    let ends = verdicts.filter { $0.reason.isLoss || $0.reason == .passed }
    #expect(ends.map(\.packet) == Array(0..<2000))
    #expect(ends.count { $0.reason.isLoss } == network.counters.lost)
    #expect(verdicts.count { $0.reason == .duplicated } == network.counters.duplicated)
    #expect(verdicts.count { $0.reason == .displaced } == network.counters.reordered)
    #expect(verdicts.count { $0.reason == .garbage } == network.counters.garbage)
    let counters = network.counters
    #expect(counters.delivered == counters.offered - counters.lost + counters.duplicated)
  }
}
