/// Why a file that is still being written cannot be followed, as one line for a person.
enum GrowingFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// It is neither Annex B nor MP4.
  case unknownFormat
  /// A box or a NAL unit is longer than any can be.
  case tooLong(bytes: UInt64, offset: UInt64)
  /// A plain `mdat` has no NAL unit here.
  case notVideo(offset: UInt64)
  /// It has tracks of sound and no index yet.
  case hasSound
  case noVideo
  case codec(String)
  /// A stream has one codec.
  case codecChanged(to: String, from: String)
  /// An index or a fragment breaks its own rules.
  case malformed(String)

  private static let advice =
    "record without sound, or in fragments: "
    + "ffmpeg … -movflags frag_every_frame+empty_moov+default_base_moof"

  var description: String {
    switch self {
    case .unknownFormat:
      "it is neither Annex B (.h264, .h265) nor MP4, which are what can be followed"
    case .tooLong(let bytes, let offset):
      "what begins at byte \(offset) claims to be \(bytes) bytes long"
    case .notVideo(let offset):
      "there is no NAL unit at byte \(offset) of an MP4 without its index; with sound among the "
        + "pictures nothing tells where these begin: \(Self.advice)"
    case .hasSound:
      "it has sound among the pictures, and without its index nothing tells where these begin: "
        + Self.advice
    case .noVideo: "it has no track of video"
    case .codec(let name): "its video is \(name), but only H.264 and H.265 can be sent"
    case .codecChanged(let new, let old): "its video is \(new) now, and was \(old)"
    case .malformed(let box): "its box '\(box)' is malformed"
    }
  }
}
