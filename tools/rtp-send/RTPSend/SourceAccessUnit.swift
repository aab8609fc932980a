public import NIOCore

/// One picture's NAL units in decoding order, and when it is to be decoded and shown.
public struct SourceAccessUnit: Sendable, Equatable {
  /// Without start codes or lengths.
  public var units: [ByteBuffer]
  /// When the picture is shown, in 90 kHz ticks from the start of the source; the RTP timestamp.
  public var presentationTicks: Int64
  /// When the picture is sent in real time, in 90 kHz ticks; never decreases within a source.
  public var decodingTicks: Int64
  /// Whether decoding can begin here.
  public var isRandomAccess: Bool

  public init(
    units: [ByteBuffer], presentationTicks: Int64, decodingTicks: Int64, isRandomAccess: Bool
  ) {
    self.units = units
    self.presentationTicks = presentationTicks
    self.decodingTicks = decodingTicks
    self.isRandomAccess = isRandomAccess
  }
}

/// Where access units come from: a file or the test pattern.
///
/// Sources wrap C state, so they belong to one thread; they are made by a ``SourceRecipe`` there.
public protocol AccessUnitSource: AnyObject {
  var codec: Codec { get }

  /// The next access unit in decoding order, or `nil` at the end of the source.
  ///
  /// - Throws: ``SendError`` when the source cannot be read on.
  func next() throws -> SourceAccessUnit?

  /// Makes the next picture one at which decoding can begin, where pictures are still to be made;
  /// what is in a file stays as it is.
  func requestKeyPicture()
}

extension AccessUnitSource {
  public func requestKeyPicture() {}
}

/// How to make a source, as often as it is needed: once for every client and every loop.
public enum SourceRecipe: Sendable {
  /// Any file that libavformat reads, or an elementary stream; the rate overrides what the file
  /// says.
  case file(path: String, framesPerSecond: Double? = nil)
  case pattern(PatternConfiguration)

  /// Opens the source at its beginning.
  public func make() throws -> any AccessUnitSource {
    switch self {
    case .file(let path, let rate): try MediaFile.open(path: path, framesPerSecond: rate)
    case .pattern(let configuration): try PatternSource(configuration)
    }
  }
}

/// What kept something from being sent, as one line for a person.
public enum SendError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file does not exist, cannot be read, or is of no known format.
  case cannotOpen(path: String, reason: String)
  case noVideo(path: String)
  /// The file's video is neither H.264 nor H.265.
  case unsupportedCodec(path: String, codec: String)
  case unreadable(path: String, reason: String)
  case encoder(reason: String)
  /// The option's value does not fit.
  case invalid(option: String, reason: String)
  /// An address that cannot be resolved, bound or sent to.
  case network(address: String, reason: String)

  public var description: String {
    switch self {
    case .cannotOpen(let path, let reason): "cannot open \(path): \(reason)"
    case .noVideo(let path): "there is no video in \(path)"
    case .unsupportedCodec(let path, let codec):
      "the video in \(path) is \(codec), but only H.264 and H.265 can be sent; "
        + "convert it first: ffmpeg -i \(path) -c:v libx264 converted.mp4"
    case .unreadable(let path, let reason): "cannot read on in \(path): \(reason)"
    case .encoder(let reason): "cannot encode the test pattern: \(reason)"
    case .invalid(let option, let reason): "\(option) \(reason)"
    case .network(let address, let reason): "\(address): \(reason)"
    }
  }
}
