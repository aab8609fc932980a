public import NIOCore
import RTPWire

/// Turns a source into RTP packets: repeats, limits, strips, packetizes and numbers it.
public struct PacketFeed {
  public struct Configuration: Sendable {
    public var recipe: SourceRecipe
    /// How often the source is sent, at least once; `nil` means for ever.
    public var repetitions: Int? = 1
    /// Access units until the end, over all repetitions; `nil` means that the source decides.
    public var frameLimit: Int?
    /// Leaves VPS, SPS and PPS out of the stream.
    public var stripsParameterSets = false
    public var packetization = Packetization.nonInterleaved
    /// Whether NAL units that are small enough share packets.
    public var aggregates = true
    /// The longest RTP payload in bytes, at least 16.
    public var payloadLimit = 1400
    public var stream: RTPStream.Configuration

    public init(recipe: SourceRecipe, stream: RTPStream.Configuration) {
      self.recipe = recipe
      self.stream = stream
    }
  }

  /// The packets that one access unit completed.
  public struct Batch: Sendable {
    public var packets: [ByteBuffer]
    /// When they are due in real time, in 90 kHz ticks on the timeline of the first repetition.
    public var ticks: Int64
  }

  public private(set) var stream: RTPStream
  /// Access units taken from the source.
  public private(set) var frameCount = 0

  /// What the distance from one repetition to the next is when the source has a single picture.
  private static let defaultInterval: Int64 = 3000

  private let configuration: Configuration
  private var source: any AccessUnitSource
  private var packetizer: any Packetizer
  private var repetitionsBegun = 1
  private var isEmptyRepetition = true
  private var offset: Int64 = 0
  private var lastTicks: Int64?
  private var interval = defaultInterval
  private var isFinished = false

  /// Opens the source.
  ///
  /// - Throws: ``SendError`` when it can not be opened.
  public init(_ configuration: Configuration) throws {
    self.configuration = configuration
    source = try configuration.recipe.make()
    packetizer = configuration.packetization.packetizer(
      for: source.codec, payloadLimit: configuration.payloadLimit,
      aggregates: configuration.aggregates)
    stream = RTPStream(configuration.stream)
  }

  /// The next packets, or `nil` at the end.
  ///
  /// - Throws: ``SendError`` when the source can not be read on.
  public mutating func next() throws -> Batch? {
    while !isFinished {
      guard frameCount < configuration.frameLimit ?? .max, var unit = try nextUnit() else {
        isFinished = true
        let packets = stream.packets(with: packetizer.finish())
        return packets.isEmpty ? nil : Batch(packets: packets, ticks: lastTicks ?? 0)
      }
      frameCount += 1
      if configuration.stripsParameterSets {
        let codec = source.codec
        unit.units.removeAll { codec.parameterSet($0) != nil }
      }
      if unit.isRandomAccess { stream.beginGroupOfPictures() }
      let packets = stream.packets(with: packetizer.packetize(unit))
      if !packets.isEmpty { return Batch(packets: packets, ticks: unit.decodingTicks) }
    }
    return nil
  }

  /// The next access unit, from a new repetition where one ends, on one timeline.
  private mutating func nextUnit() throws -> SourceAccessUnit? {
    while true {
      guard var unit = try source.next() else {
        let isLast = configuration.repetitions.map { repetitionsBegun >= $0 } ?? false
        guard !isLast, !isEmptyRepetition else { return nil }
        source = try configuration.recipe.make()
        repetitionsBegun += 1
        isEmptyRepetition = true
        continue
      }
      if isEmptyRepetition, let lastTicks {
        offset = lastTicks.addingSaturating(interval).subtractingSaturating(unit.decodingTicks)
      }
      isEmptyRepetition = false
      unit.decodingTicks = unit.decodingTicks.addingSaturating(offset)
      unit.presentationTicks = unit.presentationTicks.addingSaturating(offset)
      if let lastTicks, unit.decodingTicks > lastTicks {
        interval = unit.decodingTicks.subtractingSaturating(lastTicks)
      }
      lastTicks = unit.decodingTicks
      return unit
    }
  }
}
