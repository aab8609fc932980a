import Bitstream
import Defragment
import RTPWire

/// How far damage has spread: which pictures refer to something that is not as it was sent.
///
/// The bitstream says it by NAL unit types, temporal levels and recovery points; within these bounds
/// every picture counts as referring to all before it.
struct DamageTrail {
  /// The lowest temporal level at which something is wrong; pictures below refer to none of that.
  private typealias Level = UInt8

  private static let none: Level = .max

  /// For pictures behind a random-access point in output order.
  private var trailing: Level = 0
  /// For those that refer past the random-access point before them.
  private var skipped: Level = 0
  /// For leading pictures that do not (RADL).
  private var leading: Level = 0
  /// References to come before a recovery point's promise holds; `nil` where none was made.
  private var recovery: Int?
  /// When the picture is shown from which on a recovery point held; what is shown before it refers past
  /// it, whatever comes first.
  private var recoveredAt: MediaTime?

  /// No picture but such of B slices has come since.
  private var isRightBehindRecovery = false
  /// The time of the picture before, and whether one was ever below that of the picture before it.
  private var lastTime: MediaTime?
  private var timesGoBack = false
  /// Whether recovery points count whose sender promises about the right pictures, not exactly these.
  private let acceptsApproximation: Bool

  /// Nothing can be referred to: decoding begins.
  init(acceptsApproximation: Bool = false) { self.acceptsApproximation = acceptsApproximation }

  /// What the picture of `unit` will be like, from the packets that came and from those it refers to.
  mutating func condition(of unit: AccessUnit) -> RawFrame.Condition {
    if let lastTime, unit.time.ticks < lastTime.ticks { timesGoBack = true }
    lastTime = unit.time
    let dependency = dependency(of: unit)
    if unit.integrity != .whole || !unit.gaps.isEmpty {
      // Nobody knows what was in the packets that are missing.
      (trailing, skipped, leading) = (0, 0, 0)
      recovery = nil
    }
    // With a picture that refers to none a message says nothing new; taken for more, it would make right
    // the pictures that refer past it.
    if let point = unit.recoveryPoint, point.isExact || acceptsApproximation,
      unit.integrity != .damaged, dependency.references != .none
    {
      // It counts frames, of which each may come as two fields.
      let pictures = unit.format?.mayHaveFields == true ? 2 : 1
      recovery = min(recovery ?? .max, pictures * point.distance)
    }
    if !dependency.isBidirectional { isRightBehindRecovery = false }
    if let recovery, recovery <= 0 {
      (skipped, trailing, leading) = (trailing, Self.none, Self.none)
      self.recovery = nil
      (recoveredAt, isRightBehindRecovery) = (unit.time, true)
    }
    let isClean = refersToCleanPictures(dependency) && !mayLackParameterSets(unit, dependency)
    let condition: RawFrame.Condition =
      unit.integrity == .damaged ? .concealed : isClean ? .intact : .damaged
    if condition != .intact { spread(from: dependency) }
    if dependency.isReference, let recovery { self.recovery = recovery - 1 }
    return condition
  }

  /// The picture that refers to others as `dependency` says was decoded with an error, although its packets
  /// came.
  mutating func noteError(in dependency: PictureDependency) {
    recovery = nil
    spread(from: dependency)
  }

  /// Whether `unit` is a key picture whose parameter sets may have been among the packets before it.
  private func mayLackParameterSets(_ unit: AccessUnit, _ dependency: PictureDependency) -> Bool {
    unit.integrity == .afterLoss && dependency.references == .none
  }

  private func dependency(of unit: AccessUnit) -> PictureDependency {
    var dependency = unit.presumedDependency
    guard dependency.references == .earlier, let recoveredAt else { return dependency }
    // Some senders give pictures the times in the order in which they are decoded (`ffmpeg -c copy` from a
    // file without times); there only the slices tell.
    let isLeading =
      unit.time.ticks < recoveredAt.ticks
      || !timesGoBack && isRightBehindRecovery && dependency.isBidirectional
    if isLeading { dependency.references = .beforeRandomAccessPoint }
    return dependency
  }

  private mutating func refersToCleanPictures(_ dependency: PictureDependency) -> Bool {
    let level = dependency.temporalLevel
    switch dependency.references {
    case .none:
      (skipped, trailing, leading) = (trailing, Self.none, Self.none)
      (recovery, recoveredAt) = (nil, nil)
      return true
    case .lowerLevels:
      // What is wrong at this level and above is not referred to any more.
      if trailing >= level { trailing = Self.none }
      return trailing > level
    case .earlier: return trailing > level
    case .randomAccessPoint: return leading > level
    case .beforeRandomAccessPoint: return min(skipped, leading) > level
    }
  }

  private mutating func spread(from dependency: PictureDependency) {
    let level = dependency.temporalLevel + (dependency.isReference ? 0 : 1)
    switch dependency.references {
    case .none: (trailing, skipped, leading) = (0, 0, 0)
    case .earlier, .lowerLevels: trailing = min(trailing, level)
    case .randomAccessPoint: leading = min(leading, level)
    case .beforeRandomAccessPoint: skipped = min(skipped, level)
    }
  }
}

extension AccessUnit {
  /// What its picture refers to, also where nobody has looked.
  var presumedDependency: PictureDependency {
    dependency
      ?? PictureDependency(references: isRandomAccess && recoveryPoint == nil ? .none : .earlier)
  }
}
