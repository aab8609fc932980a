import Impairment
import NIOCore
import RTPWire

/// What a feed sends: the payloads of one track with their times.
protocol PayloadSource {
  var clock: MediaClock { get }
  /// Access units taken from the source.
  var unitCount: Int { get }
  /// The tick at which the limit of access units ended it before its source did.
  var cut: Int64? { get }

  /// What the next access unit completed, which may be nothing, or `nil` at the end.
  mutating func next() throws -> PayloadBatch?
  func requestKeyPicture()
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
  private(set) var cut: Int64?

  private let configuration: PacketFeed.Configuration
  private let codec: Codec
  private let source: RepeatedSource
  private var packetizer: any Packetizer
  private var lastTicks: Int64 = 0
  private var interval: Int64 = 0
  private var isFinished = false
  private let plan: Plan
  private var origin: Int64?
  private var quirky: QuirkyPayloads

  init(_ configuration: PacketFeed.Configuration, _ plan: Plan = Plan()) throws {
    self.configuration = configuration
    self.plan = plan
    let first = try configuration.recipe.make()
    codec = first.codec
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

  mutating func next() throws -> PayloadBatch? {
    guard !isFinished else { return nil }
    let isCut = unitCount >= configuration.frameLimit ?? .max
    guard !isCut, var unit = try source.next() else {
      isFinished = true
      if isCut { cut = lastTicks.addingSaturating(interval) }
      return PayloadBatch(payloads: packetizer.finish(), ticks: lastTicks)
    }
    if unitCount > 0 { interval = unit.decodingTicks.subtractingSaturating(lastTicks) }
    unitCount += 1
    lastTicks = unit.decodingTicks
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
    return PayloadBatch(
      payloads: payloads, ticks: unit.decodingTicks, isRandomAccess: unit.isRandomAccess,
      quirks: quirks)
  }

  func requestKeyPicture() { source.requestKeyPicture() }

  /// Where units are not cut, all of them have to be short enough.
  private func checkLengths(of payloads: [RTPPayload]) throws(SendError) {
    let longest = payloads.map(\.bytes.readableBytes).max() ?? 0
    guard longest > configuration.payloadLimit else { return }
    throw .invalid(
      option: "--packetization single",
      reason: "cuts no NAL unit, and one of \(longest) bytes is longer than --packet-size "
        + "\(configuration.payloadLimit); raise that, or have the encoder make shorter slices")
  }
}

/// The payloads of sound.
struct SoundPayloads: PayloadSource {
  let clock: MediaClock
  private(set) var unitCount = 0
  var cut: Int64? { nil }

  private let source: RepeatedSource
  private var packetizer: any Packetizer
  private var lastTicks: Int64 = 0
  private var isFinished = false

  init(_ configuration: PacketFeed.SoundConfiguration) throws {
    let (recipe, period) = (configuration.recipe, configuration.period)
    let deviation = configuration.clockDeviation
    let packetTime = configuration.packetization.packetTime
    let first = try recipe.make(clockDeviation: deviation, packetTime: packetTime)
    let clock = MediaClock(rate: first.format.clockRate, deviation: deviation)
    self.clock = clock
    packetizer = configuration.packetization.packetizer(for: first)
    source = RepeatedSource(
      first, repetitions: configuration.repetitions,
      offset: period.map { period in
        { clock.ticks(of: period.multipliedSaturating(by: Int64($0))) }
      }
    ) { try recipe.make(clockDeviation: deviation, packetTime: packetTime) }
  }

  mutating func next() throws -> PayloadBatch? {
    guard !isFinished else { return nil }
    guard let unit = try source.next() else {
      isFinished = true
      return PayloadBatch(payloads: packetizer.finish(), ticks: lastTicks)
    }
    unitCount += 1
    lastTicks = unit.decodingTicks
    return PayloadBatch(payloads: packetizer.packetize(unit), ticks: lastTicks)
  }

  func requestKeyPicture() {}
}
