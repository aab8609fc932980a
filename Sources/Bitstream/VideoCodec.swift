/// A video coding standard, and the names under which the rest of the world knows it.
///
/// Each payload format's folder declares its own, so that nothing else has to switch over codecs.
public struct VideoCodec: Sendable, Hashable {
  /// The name on the command line and the ending of an elementary-stream file: `h264`, `h265`.
  public let name: String
  /// The encoding name in SDP (`a=rtpmap`): `H264`, `H265`.
  public let encodingName: String
  /// libavcodec's name of the decoder: `h264`, `hevc`.
  public let decoderName: String
  /// Other endings of an elementary-stream file, such as `264` and `hevc`.
  public let otherFileEndings: [String]

  public init(
    name: String, encodingName: String, decoderName: String, otherFileEndings: [String]
  ) {
    self.name = name
    self.encodingName = encodingName
    self.decoderName = decoderName
    self.otherFileEndings = otherFileEndings
  }
}
