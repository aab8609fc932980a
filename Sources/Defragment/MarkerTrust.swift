import RTPWire

/// How far the markers of a stream are believed: each should end an access unit (RFC 6184 §5.1,
/// RFC 7798 §4.1).
///
/// live555's discrete framers set the marker at the end of every slice, which looks right while
/// pictures have one slice. So the first marker ends an access unit only once what follows shows
/// that the picture is over, or nothing has followed for a while. A slice that ends without a
/// marker shows at once that this sender does otherwise. Key pictures have more slices than others
/// where slices are limited in size, so others prove nothing for them.
struct MarkerTrust: Sendable {
  private enum Standing: Sendable {
    case unproven
    /// Pictures that are no key pictures have ended with their markers.
    case provenBesideKeyPictures
    case proven
    /// As long as the source sends: a picture has continued after its marker, or no marker can be
    /// right.
    case refuted
  }

  /// A marker behind a picture, until what follows is known.
  struct Mark: Sendable {
    let time: MediaTime
    let slices: AccessUnitDraft.Slices
    let isRandomAccess: Bool
    /// Whether it can prove anything: the picture had a beginning, and lacks nothing.
    ///
    /// False once there are other parameter sets.
    var isEvidence: Bool

    init(behind draft: AccessUnitDraft) {
      time = draft.time
      slices = draft.slices
      isRandomAccess = draft.isRandomAccess
      isEvidence = draft.hasBeginning && draft.damage == nil
    }
  }

  private var standing = Standing.unproven
  private var leavesSlicesUnmarked = false
  /// The last unit of the current packet so far is part of a picture.
  private var endsInSlice = false
  private(set) var mark: Mark?

  /// How many whole pictures may end without a marker before it counts as no longer set.
  private static let patience = 3
  /// How many whole pictures have ended since the last marker came, with the one behind which it
  /// was; `nil` before the first.
  private var picturesSinceMarker: Int?

  var isRefuted: Bool { standing == .refuted }

  /// Whether pictures have markers behind them, and none has continued after one.
  var areUsed: Bool {
    guard !isRefuted, let picturesSinceMarker else { return false }
    return picturesSinceMarker <= Self.patience
  }

  /// Notes that a picture has ended of which nothing is missing, so that no marker is either.
  mutating func noteWholePicture() { picturesSinceMarker? += 1 }

  mutating func noteUnit(isPicture: Bool) { endsInSlice = isPicture }

  /// Notes that a packet without a marker has ended, and with it a unit.
  mutating func noteUnmarkedEnd() {
    if endsInSlice { leavesSlicesUnmarked = true }
    endsInSlice = false
  }

  /// Notes the marker behind `draft`, which has a picture, and returns whether it is believed.
  mutating func noteMarker(behind draft: AccessUnitDraft) -> Bool {
    endsInSlice = false
    picturesSinceMarker = 0
    mark = Mark(behind: draft)
    if leavesSlicesUnmarked { standing = .proven }
    return switch standing {
    case .unproven, .refuted: false
    case .provenBesideKeyPictures: !draft.isRandomAccess
    case .proven: true
    }
  }

  /// Another picture follows the mark, or another time: it was right.
  mutating func confirm() {
    if let mark, mark.isEvidence, standing != .proven {
      standing = mark.isRandomAccess ? .proven : .provenBesideKeyPictures
    }
    mark = nil
  }

  /// What follows the mark will not be known.
  mutating func forgetMark() {
    mark = nil
    // The marker of a slice that was cut may be in what is missing.
    endsInSlice = false
  }

  /// No marker means anything from now on.
  mutating func refute() {
    standing = .refuted
    mark = nil
  }

  /// The sender may do otherwise from now on.
  mutating func doubt() {
    guard !isRefuted else { return }
    standing = .unproven
    leavesSlicesUnmarked = false
    mark?.isEvidence = false
  }
}
