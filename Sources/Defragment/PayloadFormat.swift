/// How one codec travels in RTP: turns payloads into NAL units, and knows its own NAL unit types.
///
/// A format only unpacks. Boundaries of access units, limits and loss are ``VideoDefragmenter``'s,
/// the same for all formats.
public protocol PayloadFormat: Sendable {
  static var codec: VideoCodec { get }
}
