import RTPWire

/// What happens to a stream, and when: times are nanoseconds since its first packet.
public struct Plan: Sendable, Hashable {
  /// What holds where no entry says otherwise.
  public var base: Impairments
  /// The quirks that the sender has all the time.
  public var quirks: Set<Quirk> = []
  /// In the order of the text: a later one overrules an earlier one.
  public var entries: [Entry] = []
  /// The time after which the entries begin again; `nil` means never.
  public var period: Int64?

  /// One line of a plan.
  public struct Entry: Sendable, Hashable {
    public var from: Int64
    /// Not included; `.max` means to the end.
    public var to: Int64
    public var clause: Clause

    public init(_ clause: Clause, from: Int64, to: Int64 = .max) {
      self.from = from
      self.to = to
      self.clause = clause
    }
  }

  /// What an entry says.
  public enum Clause: Sendable, Hashable {
    case network(NetworkClause)
    /// Happens once, at the beginning of the entry.
    case event(Event)
    /// The size of the pictures while the entry holds.
    case size(width: Int, height: Int)
    /// What the packets are like while the entry holds.
    case quirk(Quirk)
  }

  /// Something that happens to the numbers of a stream at one moment.
  public enum Event: Sendable, Hashable {
    /// The sender starts again: another SSRC, sequence number and timestamp.
    case restart
    /// The sequence number goes so much further than it should.
    case sequenceJump(Int)
    /// The timestamp does, in ticks of its clock.
    case timestampJump(Int64)
    /// The wall clock of the sender reports does, in nanoseconds.
    case clockJump(Int64)
    /// The pictures continue with other parameter sets of the same numbers.
    case parameterSets
  }

  /// Nothing happens but for `base`.
  public init(_ base: Impairments = Impairments()) { self.base = base }

  /// What holds at a time, and for which times around it that is so.
  func impairments(at time: Int64) -> (Impairments, Range<Int64>) {
    let (position, offset) = position(of: time)
    var impairments = base
    var span = 0..<(period ?? .max)
    for entry in entries {
      guard case .network(let clause) = entry.clause, entry.from < entry.to else { continue }
      if entry.to <= position {
        span = max(span.lowerBound, entry.to)..<span.upperBound
      } else if entry.from > position {
        span = span.lowerBound..<min(span.upperBound, entry.from)
      } else {
        clause.apply(to: &impairments)
        span = max(span.lowerBound, entry.from)..<min(span.upperBound, entry.to)
      }
    }
    let end = span.upperBound.addingReportingOverflow(offset)
    return (impairments, span.lowerBound + offset..<(end.overflow ? .max : end.partialValue))
  }

  /// What happens from one time up to another, which is not included, in the order of times.
  public func events(in span: Range<Int64>) -> [Event] {
    guard !span.isEmpty else { return [] }
    let entries = entries.filter { if case .event = $0.clause { true } else { false } }
    guard !entries.isEmpty else { return [] }
    var found: [(time: Int64, event: Event)] = []
    let length = period ?? .max
    for round in span.lowerBound / length...(span.upperBound - 1) / length {
      // Nobody sleeps through a thousand rounds.
      if round - span.lowerBound / length > Self.mostRounds { break }
      for entry in entries where entry.from < length {
        let time = entry.from + round * (period ?? 0)
        if case .event(let event) = entry.clause, span.contains(time) {
          found.append((time, event))
        }
      }
    }
    return found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
      .map(\.element.event)
  }

  private static let mostRounds = 1000

  /// How far the wall clock has jumped until a time, in nanoseconds.
  public func clockJumps(until time: Int64) -> Int64 {
    entries.reduce(0) { sum, entry in
      guard case .event(.clockJump(let jump)) = entry.clause else { return sum }
      let count = beginnings(of: entry, until: time)
      let (product, overflow) = jump.multipliedReportingOverflow(by: count)
      return sum.addingSaturating(overflow ? (jump < 0 ? .min : .max) : product)
    }
  }

  /// How often the parameter sets have changed until a time.
  public func parameterSetChanges(until time: Int64) -> Int64 {
    entries.reduce(0) { sum, entry in
      guard case .event(.parameterSets) = entry.clause else { return sum }
      return sum.addingSaturating(beginnings(of: entry, until: time))
    }
  }

  /// How often an entry has begun until a time, which is included.
  private func beginnings(of entry: Entry, until time: Int64) -> Int64 {
    guard entry.from <= time else { return 0 }
    guard let period, period > 0 else { return 1 }
    return entry.from < period ? (time - entry.from) / period + 1 : 0
  }

  /// The size of the pictures at a time, if the plan says it.
  public func size(at time: Int64) -> (width: Int, height: Int)? {
    let position = position(of: time).position
    for entry in entries.reversed() where entry.from <= position && position < entry.to {
      if case .size(let width, let height) = entry.clause { return (width, height) }
    }
    return nil
  }

  /// The quirks of a time.
  public func quirks(at time: Int64) -> Set<Quirk> {
    var quirks = quirks
    guard !entries.isEmpty else { return quirks }
    let position = position(of: time).position
    for entry in entries where entry.from <= position && position < entry.to {
      if case .quirk(let quirk) = entry.clause { quirks.insert(quirk) }
    }
    return quirks
  }

  /// All quirks that the plan has at some time.
  public var quirksEver: Set<Quirk> {
    entries.reduce(into: quirks) { quirks, entry in
      if case .quirk(let quirk) = entry.clause { quirks.insert(quirk) }
    }
  }

  /// The same plan for somebody whose time runs `factor` times as fast.
  public func stretched(by factor: Double) -> Plan {
    func stretch(_ time: Int64) -> Int64 {
      time == .max ? .max : Int64(min(Double(time) * factor, 9e18))
    }
    var plan = self
    plan.period = period.map { max(1, stretch($0)) }
    for index in entries.indices {
      plan.entries[index].from = stretch(entries[index].from)
      plan.entries[index].to = stretch(entries[index].to)
    }
    return plan
  }

  /// Whether the plan changes pictures, which only somebody who encodes can do.
  public var changesPictures: Bool {
    entries.contains { entry in
      switch entry.clause {
      case .event(.parameterSets), .size: true
      case .network, .event, .quirk: false
      }
    }
  }

  private func position(of time: Int64) -> (position: Int64, offset: Int64) {
    let time = max(0, time)
    guard let period, period > 0 else { return (time, 0) }
    return (time % period, time - time % period)
  }
}

/// A change of the impairments while an entry holds.
public enum NetworkClause: Sendable, Hashable {
  case silence
  case rate(Impairments.RateLimit)
  case loss(Double)
  case burstLoss(GilbertElliott)
  case blockLoss(Impairments.BlockLoss)
  case corruption(Double)
  case truncation(Double)
  case oversize(Double)
  case duplication(Double)
  case delay(Delay)
  case reordering(Impairments.Reordering)
  case garbage(Double)

  func apply(to impairments: inout Impairments) {
    switch self {
    case .silence: impairments.isSilent = true
    case .rate(let limit): impairments.rate = limit
    case .loss(let share): impairments.loss = share
    case .burstLoss(let model): impairments.burstLoss = model
    case .blockLoss(let model): impairments.blockLoss = model
    case .corruption(let share): impairments.corruption = share
    case .truncation(let share): impairments.truncation = share
    case .oversize(let share): impairments.oversize = share
    case .duplication(let share): impairments.duplication = share
    case .delay(let delay): impairments.delay = delay
    case .reordering(let reordering): impairments.reordering = reordering
    case .garbage(let share): impairments.garbage = share
    }
  }
}
