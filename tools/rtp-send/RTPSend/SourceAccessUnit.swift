public import NIOCore

/// One picture's NAL units in decoding order, or one frame of sound, and when it is to be decoded
/// and shown.
public struct SourceAccessUnit: Sendable, Equatable {
  /// Without start codes or lengths.
  public var units: [ByteBuffer]
  /// When it is shown, in ticks of the track's clock from the start of the source, which for video
  /// has 90 kHz; the RTP timestamp.
  public var presentationTicks: Int64
  /// When it is sent in real time, in the same ticks; never decreases within a source.
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

extension SourceAccessUnit {
  /// When it is shown, if decoding can begin here.
  var key: Int64? { isRandomAccess ? presentationTicks : nil }
}

/// What a source, or a stage behind it, has to give.
public enum Supply<Element> {
  case next(Element)
  /// The source is still being made; ``AccessUnitSource/notify(_:)`` says when to ask again.
  case nothingYet
  case end

  /// The element, if there is one now.
  public var element: Element? { if case .next(let element) = self { element } else { nil } }
}

extension Supply: Sendable where Element: Sendable {}

/// Where access units come from: a file, the test pattern, or something that goes on.
///
/// Sources wrap C state, so they belong to one thread; they are made by a ``SourceRecipe`` there.
public protocol AccessUnitSource: AnyObject {
  /// The next access unit in decoding order.
  ///
  /// - Throws: ``SendError`` when the source cannot be read on.
  func next() throws -> Supply<SourceAccessUnit>

  /// Makes the next picture one at which decoding can begin, where pictures are still to be made;
  /// what is in a file stays as it is.
  func requestKeyPicture()

  /// Goes on at the last unit at or before `ticks` at which decoding can begin, in a file; other
  /// sources have nothing behind them.
  func seek(to ticks: Int64, in survey: FileSurvey) throws

  /// Whether its units are sent as they come, whatever their times say.
  var isLive: Bool { get }

  /// Whether it ends by itself, so that it can be repeated.
  var hasEnd: Bool { get }

  /// Has `wake` called, on any thread, each time there is something again after ``next()`` gave
  /// nothing yet.
  func notify(_ wake: @escaping @Sendable () -> Void)

  /// Leaves out what came since nobody took any units, up to the newest key picture.
  func rejoin()
}

extension AccessUnitSource {
  public func requestKeyPicture() {}
  public func seek(to ticks: Int64, in survey: FileSurvey) throws {}
  public var isLive: Bool { false }
  public var hasEnd: Bool { true }
  /// What is always ready wakes nobody.
  public func notify(_ wake: @escaping @Sendable () -> Void) {}
  /// What nobody takes is not made.
  public func rejoin() {}
}

/// A source of coded pictures.
public protocol VideoSource: AccessUnitSource {
  var codec: Codec { get }
  /// Pictures a second, where that is known.
  var frameRate: Double? { get }
}

/// How to make a source, as often as it is needed: once for every client and every loop.
public enum SourceRecipe: Sendable {
  /// Any file that libavformat reads, or an elementary stream; the rate overrides what the file
  /// says.
  case file(path: String, framesPerSecond: Double? = nil)
  case pattern(PatternConfiguration)
  /// Something that goes on; its ``LiveStream/contents()`` must be known before it is made.
  case live(LiveStream)

  /// How long the best video and the best sound of a file last together, in nanoseconds: after
  /// that, both may begin again.
  ///
  /// The whole file is read.
  ///
  /// - Throws: ``SendError`` when the file cannot be opened.
  public static func duration(ofFile path: String) throws(SendError) -> Int64 {
    try MediaFile.duration(ofPath: path)
  }

  /// Opens the source at its beginning.
  public func make() throws -> any VideoSource {
    switch self {
    case .file(let path, let rate): try MediaFile.open(path: path, framesPerSecond: rate)
    case .pattern(let configuration): try PatternSource(configuration)
    case .live(let stream): try LiveVideo(stream)
    }
  }
}

/// What kept something from being sent, as one line for a person.
public enum SendError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file does not exist, cannot be read, or is of no known format.
  case cannotOpen(path: String, reason: String)
  /// Whether it has sound, which can be sent alone.
  case noVideo(path: String, hasSound: Bool = false)
  case noSound(path: String)
  /// The file's video is neither H.264 nor H.265.
  case unsupportedCodec(path: String, codec: String)
  /// The file's sound is coded in a way that has no payload format here.
  case unsupportedSound(path: String, codec: String)
  case unreadable(path: String, reason: String)
  case encoder(reason: String)
  /// The option's value does not fit.
  case invalid(option: String, reason: String)
  /// An address that cannot be resolved, bound or sent to.
  case network(address: String, reason: String)

  public var description: String {
    switch self {
    case .cannotOpen(let path, let reason): "cannot open \(path): \(reason)"
    case .noVideo(let path, let hasSound):
      "there is no video in \(path)"
        + (hasSound ? "; --audio copy --no-video sends its sound alone" : "")
    case .noSound(let path): "there is no sound in \(path)"
    case .unsupportedCodec(let path, let codec):
      "the video in \(path) is \(codec), but only H.264 and H.265 can be sent; "
        + "convert it first: ffmpeg -i \(path) -c:v libx264 converted.mp4"
    case .unsupportedSound(let path, let codec):
      "the sound in \(path) is \(codec), which cannot be sent; "
        + "convert it first: ffmpeg -i \(path) -c:v copy -c:a aac converted.mp4"
    case .unreadable(let path, let reason): "cannot read on in \(path): \(reason)"
    case .encoder(let reason): "cannot encode the test pattern: \(reason)"
    case .invalid(let option, let reason): "\(option) \(reason)"
    case .network(let address, let reason): "\(address): \(reason)"
    }
  }
}
