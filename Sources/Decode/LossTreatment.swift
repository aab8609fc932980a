/// What becomes of pictures that are not intact.
public enum LossTreatment: String, Sendable, Hashable, CaseIterable {
  /// What is missing looks as it probably would.
  case conceal
  /// The last intact picture comes again in their place.
  case freeze
  /// They do not come out.
  case skip
  /// They come as libavcodec gives them, with its own concealment.
  case corrupt

  /// Whether pictures that are not intact are shown.
  var showsDamage: Bool { self == .conceal || self == .corrupt }
}
