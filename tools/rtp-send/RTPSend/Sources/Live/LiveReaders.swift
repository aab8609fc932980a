/// One reader's place in a ``LiveStream``.
private final class LiveReader {
  let stream: LiveStream
  private let track: LiveStream.Track
  private let number: Int

  init(_ stream: LiveStream, _ track: LiveStream.Track) {
    self.stream = stream
    self.track = track
    number = stream.subscribe(to: track)
  }

  deinit { stream.unsubscribe(number, from: track) }

  func next() throws -> Supply<SourceAccessUnit> { try stream.next(for: number, of: track) }

  func notify(_ wake: @escaping @Sendable () -> Void) { stream.notify(number, of: track, wake) }

  func rejoin() { stream.rejoin(number, of: track) }
}

/// The pictures of a ``LiveStream``.
final class LiveVideo: VideoSource {
  let codec: Codec
  /// Its units have times.
  var frameRate: Double? { nil }
  private let reader: LiveReader

  /// - Throws: ``SendError`` when the stream has no video, or nothing has come yet.
  init(_ stream: LiveStream) throws(SendError) {
    guard let video = stream.knownContents?.video else { throw .noVideo(path: stream.name) }
    codec = video.codec
    reader = LiveReader(stream, .video)
  }

  func next() throws -> Supply<SourceAccessUnit> { try reader.next() }

  var isLive: Bool { reader.stream.isLive }

  func notify(_ wake: @escaping @Sendable () -> Void) { reader.notify(wake) }

  func rejoin() { reader.rejoin() }

  func requestKeyPicture() { reader.stream.requestKeyPicture() }
}

/// The sound of a ``LiveStream``.
final class LiveSound: SoundSource {
  let format: SoundFormat
  let frameLength: Int?
  let configuration: [UInt8]
  private let reader: LiveReader

  /// - Throws: ``SendError`` when the stream has no sound, or nothing has come yet.
  init(_ stream: LiveStream) throws(SendError) {
    guard let sound = stream.knownContents?.sound else { throw .noSound(path: stream.name) }
    (format, frameLength, configuration) = (sound.format, sound.frameLength, sound.configuration)
    reader = LiveReader(stream, .sound)
  }

  func next() throws -> Supply<SourceAccessUnit> { try reader.next() }

  var isLive: Bool { reader.stream.isLive }

  func notify(_ wake: @escaping @Sendable () -> Void) { reader.notify(wake) }

  func rejoin() { reader.rejoin() }
}
