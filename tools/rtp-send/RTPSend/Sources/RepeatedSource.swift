import NIOCore
import RTPWire

/// A source sent several times, on one continuous timeline.
final class RepeatedSource: AccessUnitSource {
  /// A source up to this many bytes is kept, so that repetitions need no reading and parsing.
  private static let memoryLimit = 64 << 20
  /// The distance from one repetition to the next where the source has a single picture.
  private static let defaultInterval: Int64 = 3000

  private let make: () throws -> any AccessUnitSource
  private let repetitions: Int?
  /// The ticks that so many repetitions take; otherwise each follows closely on the one before.
  private let offsetAfter: ((Int) -> Int64)?
  private var source: any AccessUnitSource
  private var begun = 1
  private var isAtStart = true
  private var offset: Int64 = 0
  private var lastTicks: Int64?
  private var interval = defaultInterval

  /// The part of the source read so far, or `nil` once it is too long.
  private var memory: [SourceAccessUnit]?
  private(set) var memoryLength = 0
  /// The place in the memory from the second repetition on.
  private var place: Int?

  /// Repeats `source`, the first that `make` made, this many times, or forever if `repetitions` is
  /// `nil`.
  ///
  /// `offset` gives the ticks that a number of repetitions takes, so that tracks of different
  /// lengths stay together.
  init(
    _ source: any AccessUnitSource, repetitions: Int?, offset: ((Int) -> Int64)? = nil,
    make: @escaping () throws -> any AccessUnitSource
  ) {
    self.source = source
    self.make = make
    self.repetitions = repetitions
    offsetAfter = offset
    memory = repetitions == 1 || !source.hasEnd ? nil : []
  }

  /// Repeats the source of `recipe`.
  convenience init(_ recipe: SourceRecipe, repetitions: Int?) throws {
    self.init(try recipe.make(), repetitions: repetitions) { try recipe.make() }
  }

  func next() throws -> Supply<SourceAccessUnit> {
    while true {
      let supply = try nextUnshifted()
      if case .nothingYet = supply { return .nothingYet }
      guard var unit = supply.element else {
        // An empty source would be repeated forever.
        guard !isAtStart, repetitions.map({ begun < $0 }) ?? true else { return .end }
        if memory == nil { source = try make() } else { place = 0 }
        begun += 1
        isAtStart = true
        continue
      }
      if isAtStart, let lastTicks {
        offset =
          offsetAfter?(begun - 1)
          ?? lastTicks.addingSaturating(interval).subtractingSaturating(unit.decodingTicks)
      }
      isAtStart = false
      unit.decodingTicks = unit.decodingTicks.addingSaturating(offset)
      unit.presentationTicks = unit.presentationTicks.addingSaturating(offset)
      if let lastTicks, unit.decodingTicks > lastTicks {
        interval = unit.decodingTicks.subtractingSaturating(lastTicks)
      }
      lastTicks = unit.decodingTicks
      return .next(unit)
    }
  }

  func requestKeyPicture() { source.requestKeyPicture() }

  /// For a source that is sent once.
  func seek(to ticks: Int64, in survey: FileSurvey) throws {
    try source.seek(to: ticks, in: survey)
    lastTicks = nil
  }

  var isLive: Bool { source.isLive }

  var hasEnd: Bool { repetitions != nil && source.hasEnd }

  func notify(_ wake: @escaping @Sendable () -> Void) { source.notify(wake) }

  func rejoin() { source.rejoin() }

  /// The next access unit of this repetition as the source gave it.
  private func nextUnshifted() throws -> Supply<SourceAccessUnit> {
    if let memory, let place {
      guard place < memory.count else { return .end }
      self.place = place + 1
      return .next(memory[place])
    }
    let supply = try source.next()
    if memory != nil, let unit = supply.element {
      memoryLength += unit.units.reduce(0) { $0 + $1.readableBytes }
      if memoryLength <= Self.memoryLimit { memory?.append(unit) } else { memory = nil }
    }
    return supply
  }
}
