import Defragment

/// Puts the two fields of a frame together, which come in access units of their own.
///
/// A recording has them in one sample, with the time of the first, whether or not the second came
/// with a time of its own: that is when players show the frame. Two samples would say that there
/// are twice as many pictures, and that these are reordered twice as far.
struct FieldPairs {
  private var first: AccessUnit?

  /// Takes the next unit; the pictures that are complete with it, in order.
  mutating func take(_ unit: AccessUnit) -> [AccessUnit] {
    let former = finish()
    switch unit.fields {
    case .second: return [former?.joined(with: unit) ?? unit]
    case .first:
      first = unit
      return former.map { [$0] } ?? []
    case .both, nil: return former.map { [$0, unit] } ?? [unit]
    }
  }

  /// The field that still waits for the other one, because nothing more comes.
  mutating func finish() -> AccessUnit? { first.take() }
}
