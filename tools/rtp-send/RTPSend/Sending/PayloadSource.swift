import Impairment
import NIOCore
import RTPWire

/// What a feed sends: the payloads of one track with their times.
protocol PayloadSource {
  var clock: MediaClock { get }
  /// Access units taken from the source.
  var unitCount: Int { get }
  /// NAL units of these that cannot be sent (``Codec/canSend(_:)``).
  var refusedUnits: Int { get }
  /// The tick at which the limit of access units ended it before its source did.
  var cut: Int64? { get }

  /// What the next access unit completed, which may be no payload.
  mutating func next() throws -> Supply<PayloadBatch>
  func requestKeyPicture()
  /// Those of the pictures that came last, once they are known.
  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? { get }
  /// How the times of the source become those of the batches.
  var timeline: Timeline { get set }
  /// Goes on at `time`, or with pictures at the key picture before it; returns the time there, or
  /// `nil` if nothing follows.
  mutating func seek(to time: Int64, in survey: FileSurvey) throws -> Int64?

  /// Those of its source; see ``AccessUnitSource``.
  var isLive: Bool { get }
  func notify(_ wake: @escaping @Sendable () -> Void)
  func rejoin()
}

/// The payloads that one access unit completed.
struct PayloadBatch {
  var payloads: [RTPPayload]
  /// When they are due, in ticks of the track's clock.
  var ticks: Int64
  /// Whether decoding can begin with them.
  var isRandomAccess = false
  /// Those that hold for these payloads.
  var quirks: Set<Quirk> = []
}

/// The payloads of pictures.
struct VideoPayloads: PayloadSource {
  let clock = MediaClock.video
  private(set) var unitCount = 0
  private(set) var refusedUnits = 0
  private(set) var cut: Int64?

  private let configuration: PacketFeed.Configuration
  private let codec: Codec
  private var known: KnownVideo
  var timeline = Timeline()
  private let source: RepeatedSource
  private var packetizer: any Packetizer
  private var lastTicks: Int64 = 0
  private var interval: Int64 = 0
  private var isFinished = false
  private let plan: Plan
  private var origin: Int64?
  private var quirky: QuirkyPayloads
  /// The unit that a seek found.
  private var found: SourceAccessUnit?
  /// Pictures that are shown before it refer to others, which are not sent.
  private var firstShown = Int64.min

  init(_ configuration: PacketFeed.Configuration, _ plan: Plan = Plan()) throws {
    self.configuration = configuration
    self.plan = plan
    let first = try configuration.recipe.make()
    codec = first.codec
    known = KnownVideo(codec)
    quirky = QuirkyPayloads(codec: codec)
    let (recipe, period, clock) = (configuration.recipe, configuration.period, clock)
    source = RepeatedSource(
      first, repetitions: configuration.repetitions,
      offset: period.map { period in
        { clock.ticks(of: period.multipliedSaturating(by: Int64($0))) }
      }
    ) { try recipe.make() }
    try configuration.packetization.check(for: codec)
    packetizer = configuration.packetization.packetizer(
      for: codec, payloadLimit: configuration.payloadLimit, aggregates: configuration.aggregates)
  }

  mutating func next() throws -> Supply<PayloadBatch> {
    guard !isFinished else { return .end }
    let isCut = unitCount >= configuration.frameLimit ?? .max
    let supply = isCut ? .end : try nextUnit()
    if case .nothingYet = supply { return .nothingYet }
    guard var unit = supply.element else {
      isFinished = true
      if isCut { cut = lastTicks.addingSaturating(interval) }
      return .next(PayloadBatch(payloads: packetizer.finish(), ticks: lastTicks))
    }
    unit.presentationTicks = timeline.ticks(unit.presentationTicks, of: clock)
    unit.decodingTicks = timeline.ticks(unit.decodingTicks, of: clock)
    if unitCount > 0 { interval = unit.decodingTicks.subtractingSaturating(lastTicks) }
    unitCount += 1
    lastTicks = unit.decodingTicks
    for unit in unit.units { known.take(unit) }
    refusedUnits += unit.units.count { !codec.canSend($0) }
    if configuration.stripsParameterSets {
      unit.units.removeAll { codec.parameterSet($0) != nil }
    }
    let start = origin ?? unit.decodingTicks
    origin = start
    let elapsed = clock.nanoseconds(of: unit.decodingTicks.subtractingSaturating(start))
    let quirks = plan.quirks(at: elapsed)
    let payloads =
      quirks.isEmpty
      ? packetizer.packetize(unit) : quirky.payloads(of: unit, by: &packetizer, quirks)
    if configuration.packetization == .single { try checkLengths(of: payloads) }
    return .next(
      PayloadBatch(
        payloads: payloads, ticks: unit.decodingTicks, isRandomAccess: unit.isRandomAccess,
        quirks: quirks))
  }

  func requestKeyPicture() { source.requestKeyPicture() }

  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? {
    known.isDecodable ? known.byKind : nil
  }

  mutating func seek(to time: Int64, in survey: FileSurvey) throws -> Int64? {
    isFinished = false
    cut = nil
    found = nil
    firstShown = .min
    packetizer = configuration.packetization.packetizer(
      for: codec, payloadLimit: configuration.payloadLimit, aggregates: configuration.aggregates)
    let wanted = clock.ticks(of: time)
    for back in Self.stepsBack {
      // Some files are read from decoding times, which begin before the first picture is shown.
      let earliest = clock.ticks(of: survey.start).subtractingSaturating(Self.longestReordering)
      try source.seek(to: max(earliest, wanted.subtractingSaturating(back)), in: survey)
      while let unit = try source.next().element {
        guard unit.isRandomAccess else { continue }
        found = unit
        break
      }
      // Some files are indexed by decoding times, and others not at all.
      if let found, found.presentationTicks <= wanted { break }
    }
    firstShown = found?.presentationTicks ?? .min
    return found.map { clock.nanoseconds(of: $0.presentationTicks) }
  }

  /// How much earlier than wanted a key picture is looked for, in ticks: at last, anywhere.
  private static let stepsBack: [Int64] = [0, 90_000, 10 * 90_000, .max]
  /// How much earlier than shown the first picture is decoded, at most, in ticks.
  private static let longestReordering: Int64 = 10 * 90_000

  private mutating func nextUnit() throws -> Supply<SourceAccessUnit> {
    if let unit = found.take() { return .next(unit) }
    while true {
      let supply = try source.next()
      if let unit = supply.element, unit.presentationTicks < firstShown { continue }
      return supply
    }
  }

  /// Where units are not cut, all of them have to be short enough.
  private func checkLengths(of payloads: [RTPPayload]) throws(SendError) {
    let longest = payloads.map(\.bytes.readableBytes).max() ?? 0
    guard longest > configuration.payloadLimit else { return }
    throw .invalid(
      option: "--packetization single",
      reason: "cuts no NAL unit, and one of \(longest) bytes is longer than --packet-size "
        + "\(configuration.payloadLimit); raise that, or have the encoder make shorter slices")
  }

  var isLive: Bool { source.isLive }

  func notify(_ wake: @escaping @Sendable () -> Void) { source.notify(wake) }

  func rejoin() { source.rejoin() }
}

/// The payloads of sound.
struct SoundPayloads: PayloadSource {
  let clock: MediaClock
  private(set) var unitCount = 0
  var refusedUnits: Int { 0 }
  var cut: Int64? { nil }
  var timeline = Timeline()

  private let source: RepeatedSource
  private var packetizer: any Packetizer
  private let makePacketizer: () -> any Packetizer
  private var lastTicks: Int64 = 0
  private var isFinished = false
  private let plan: Plan
  private var origin: Int64?
  private let quirky: QuirkySound
  /// The unit that a seek found.
  private var found: SourceAccessUnit?

  init(_ configuration: PacketFeed.SoundConfiguration, _ plan: Plan = Plan()) throws {
    self.plan = plan
    let (recipe, period) = (configuration.recipe, configuration.period)
    let deviation = configuration.clockDeviation
    let packetTime = configuration.packetization.packetTime
    let first = try recipe.make(clockDeviation: deviation, packetTime: packetTime)
    let clock = MediaClock(rate: first.format.clockRate, deviation: deviation)
    self.clock = clock
    quirky = QuirkySound(first.format)
    makePacketizer = { configuration.packetization.packetizer(for: first) }
    packetizer = makePacketizer()
    source = RepeatedSource(
      first, repetitions: configuration.repetitions,
      offset: period.map { period in
        { clock.ticks(of: period.multipliedSaturating(by: Int64($0))) }
      }
    ) { try recipe.make(clockDeviation: deviation, packetTime: packetTime) }
  }

  mutating func next() throws -> Supply<PayloadBatch> {
    guard !isFinished else { return .end }
    let supply = try found.take().map { .next($0) } ?? source.next()
    if case .nothingYet = supply { return .nothingYet }
    guard var unit = supply.element else {
      isFinished = true
      return .next(PayloadBatch(payloads: packetizer.finish(), ticks: lastTicks))
    }
    unit.presentationTicks = timeline.ticks(unit.presentationTicks, of: clock)
    unit.decodingTicks = timeline.ticks(unit.decodingTicks, of: clock)
    unitCount += 1
    lastTicks = unit.decodingTicks
    let start = origin ?? lastTicks
    origin = start
    let elapsed = clock.nanoseconds(of: lastTicks.subtractingSaturating(start))
    quirky.change(&unit, plan.quirks(at: elapsed))
    return .next(PayloadBatch(payloads: packetizer.packetize(unit), ticks: lastTicks))
  }

  func requestKeyPicture() {}

  /// Sound has none.
  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? { nil }

  mutating func seek(to time: Int64, in survey: FileSurvey) throws -> Int64? {
    isFinished = false
    packetizer = makePacketizer()
    found = nil
    let wanted = clock.ticks(of: time)
    try source.seek(to: wanted, in: survey)
    while let unit = try source.next().element {
      guard unit.presentationTicks >= wanted else { continue }
      found = unit
      break
    }
    return found.map { clock.nanoseconds(of: $0.presentationTicks) }
  }

  var isLive: Bool { source.isLive }

  func notify(_ wake: @escaping @Sendable () -> Void) { source.notify(wake) }

  func rejoin() { source.rejoin() }
}
