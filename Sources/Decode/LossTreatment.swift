/// What to do with pictures that are not intact.
public enum LossTreatment: String, Sendable, Hashable, CaseIterable {
  /// Missing parts are filled with a prediction.
  case conceal
  /// The last intact picture is repeated instead.
  case freeze
  /// They are left out.
  case skip
  /// They are shown as libavcodec produces them, with its own concealment.
  case corrupt

  /// Whether pictures that are not intact are shown.
  var showsDamage: Bool { self == .conceal || self == .corrupt }
}
