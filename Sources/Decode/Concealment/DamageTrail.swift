import Bitstream
import Defragment
import RTPWire

/// How far damage has spread: which pictures refer to one that differs from what was sent.
///
/// NAL unit types, temporal levels and recovery points limit what a picture can refer to. Within
/// these limits, a picture is taken to refer to every picture before it.
struct DamageTrail {
  /// The lowest damaged temporal level; pictures at lower levels refer to none of the damage.
  private typealias Level = UInt8

  private static let none: Level = .max

  /// The damage for pictures that follow a random-access point in output order.
  private var trailing: Level = 0
  /// The damage for pictures that refer past the random-access point before them.
  private var skipped: Level = 0
  /// The damage for leading pictures that do not refer past it (RADL).
  private var leading: Level = 0
  /// How many reference pictures remain until a recovery point takes effect; `nil` without one.
  private var recovery: Int?
  /// When the first recovered picture is shown; pictures shown earlier refer past the recovery
  /// point, even if they arrive later.
  private var recoveredAt: MediaTime?

  /// Whether only B pictures have come since the recovery point took effect.
  private var isRightBehindRecovery = false
  /// The time of the previous picture, and whether any picture's time was ever below its
  /// predecessor's.
  private var lastTime: MediaTime?
  private var timesGoBack = false
  /// Whether a recovery point counts that promises approximate pictures (`exact_match_flag` 0).
  private let acceptsApproximation: Bool

  /// Starts without any picture to refer to.
  init(acceptsApproximation: Bool = false) { self.acceptsApproximation = acceptsApproximation }

  /// The condition of the picture in `unit`, from its own packets and from the pictures it refers
  /// to; `lacksReference` says that one of these was never sent (`PictureOrder`).
  mutating func condition(
    of unit: AccessUnit, lacksReference: Bool = false
  ) -> RawFrame.Condition {
    if let lastTime, unit.time.ticks < lastTime.ticks { timesGoBack = true }
    lastTime = unit.time
    let dependency = dependency(of: unit)
    if unit.integrity != .whole || !unit.gaps.isEmpty {
      // Nobody knows what was in the packets that are missing.
      (trailing, skipped, leading) = (0, 0, 0)
      recovery = nil
    } else if lacksReference {
      // It may have been of any level. That B pictures refer past a recovery point is guessed by
      // their times, and what is missing may have come behind it.
      for references in [unit.presumedDependency.references, dependency.references] {
        noteError(in: PictureDependency(references: references))
      }
    }
    // On a picture without references a recovery point adds nothing. If it counted, it would
    // declare pictures intact that refer past it.
    if let point = unit.recoveryPoint, point.isExact || acceptsApproximation,
      unit.integrity != .damaged, dependency.references != .none
    {
      // The distance counts frames, and each frame may come as two fields.
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

  /// Records that a picture with this dependency had a decoding error although its packets came.
  mutating func noteError(in dependency: PictureDependency) {
    recovery = nil
    spread(from: dependency)
  }

  /// Whether `unit` is a key picture whose parameter sets may have been among the packets before
  /// it.
  private func mayLackParameterSets(_ unit: AccessUnit, _ dependency: PictureDependency) -> Bool {
    unit.integrity == .afterLoss && dependency.references == .none
  }

  private func dependency(of unit: AccessUnit) -> PictureDependency {
    var dependency = unit.presumedDependency
    guard dependency.references == .earlier, let recoveredAt else { return dependency }
    // Some senders timestamp pictures in decoding order (`ffmpeg -c copy` from a file without
    // times). There only the slice types tell.
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
      // Damage at this level and above is no longer referred to.
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
  /// What the unit's picture refers to; a safe assumption where the slices were not read.
  var presumedDependency: PictureDependency {
    dependency
      ?? PictureDependency(references: isRandomAccess && recoveryPoint == nil ? .none : .earlier)
  }
}
