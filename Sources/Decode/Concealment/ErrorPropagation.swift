import Bitstream
import Defragment

/// How loss and errors spread from picture to picture: exactly, and for those who accept pictures
/// that are approximately correct.
struct ErrorPropagation {
  private var trail = DamageTrail()
  /// The same, but accepting approximately correct pictures.
  private var approximateTrail = DamageTrail(acceptsApproximation: true)
  /// Whether missing parts are filled.
  private let conceals: Bool

  /// Starts without any picture to refer to.
  init(conceals: Bool) { self.conceals = conceals }

  /// Decoding restarts.
  mutating func restart() { self = ErrorPropagation(conceals: conceals) }

  /// Notes that a picture with this dependency had a decoding error although its packets came.
  mutating func noteError(in dependency: PictureDependency) {
    trail.noteError(in: dependency)
    approximateTrail.noteError(in: dependency)
  }

  /// What is known of the picture in `unit` before it is decoded; `lacksKeyPicture` says that no
  /// random-access point has come so far.
  mutating func record(
    of unit: AccessUnit, at place: PictureOrder?, lacksKeyPicture: Bool
  ) -> UnitRecord {
    let lacksReference = place?.lacksReference ?? false
    var condition = trail.condition(of: unit, lacksReference: lacksReference)
    let cause: PictureDamage? =
      switch condition {
      case .intact: nil
      case .concealed: unit.damage
      default:
        lacksKeyPicture ? .noKeyPicture : unit.integrity == .whole ? .reference : .lostPackets
      }
    if condition == .concealed, !conceals { condition = .damaged }
    var record = UnitRecord(unit, condition: condition)
    record.damage = cause
    record.isGood =
      approximateTrail.condition(of: unit, lacksReference: lacksReference) == .intact
    return record
  }
}
