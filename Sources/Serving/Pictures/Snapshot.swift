import Bitstream
import BlockingIO
import Decode
import Defragment
import Outputs
import RTPWire
import Synchronization

/// Makes a picture of the newest frame: decodes its group of pictures, for whoever asks.
enum Snapshot {
  /// Why there is none.
  enum Failure: Error, Sendable, CustomStringConvertible {
    /// No key picture has come, or none could be decoded.
    case noPicture
    /// The last key picture is larger than what is kept of the camera.
    case tooLarge
    case notDecoded(String)

    var description: String {
      switch self {
      case .noPicture: "no picture has come from which decoding can begin"
      case .tooLarge: "the last key picture is too large to be kept"
      case .notDecoded(let words): words
      }
    }
  }

  /// The last frame of `group` for who asks for it, if its last packet came `greatestAge` seconds
  /// ago at most.
  static func answer(
    of group: PictureGroup, in box: DecoderBox?, notOlderThan greatestAge: Double,
    onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void
  ) async -> Answer {
    func tooOld(_ age: Double) -> Answer {
      let age = age.formatted(digits: 1)
      return .unavailable(
        group.isCut
          ? "the newest picture that was kept is \(age) s old; "
            + "let the camera send key pictures more often"
          : "the newest picture is \(age) s old")
    }
    // What is too old already is not decoded.
    if let newest = group.units.last?.sent.lastArrival {
      let age = newest.duration(to: .now) / .seconds(1)
      if age > greatestAge { return tooOld(age) }
    }
    do throws(Failure) {
      // Decoding takes its time, and the last frame may be an earlier picture.
      let (picture, age) = try await last(
        of: group, in: box, notOlderThan: greatestAge, onEvent: onEvent)
      guard age <= greatestAge else { return tooOld(age) }
      var headers = [(name: "X-Picture-Age", value: age.formatted(digits: 3))]
      if let time = picture.captureTime { headers.append(("X-Capture-Time", "\(time)")) }
      if !picture.isIntact { headers.append(("X-Picture-Condition", "damaged")) }
      return Answer(contentType: "image/jpeg", body: picture.bytes, headers: headers)
    } catch { return .unavailable("\(error)") }
  }

  /// The last intact frame of `group`, or the last of all where that is older than asked, with its
  /// age.
  private static func last(
    of group: PictureGroup, in box: DecoderBox?, notOlderThan greatestAge: Double,
    onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void
  ) async throws(Failure) -> (JPEGPicture, age: Double) {
    guard let first = group.units.first else { throw group.isCut ? .tooLarge : .noPicture }
    let frames = Mutex<(intact: RawFrame?, newest: RawFrame?)>((nil, nil))
    let failure = Mutex<String?>(nil)
    let decoder: VideoDecoder
    do {
      decoder = try VideoDecoder(
        codec: first.sent.codec, configuration: configuration(in: box),
        onFrame: { frame in
          frames.withLock { frames in
            frames.newest = frame
            if frame.condition == .intact { frames.intact = frame }
          }
        },
        onFailure: { _ in },
        onEvent: { event in
          if case .failed(let error) = event { failure.withLock { $0 = "\(error)" } }
          onEvent(event)
        })
    } catch { throw .notDecoded("\(error)") }
    for unit in group.units { _ = decoder.submit(unit.unit) }
    await decoder.flush()
    await decoder.close()
    let (intact, newest) = frames.withLock { $0 }
    let now = Instant.now
    func age(of frame: RawFrame) -> Double { frame.lastArrival.duration(to: now) / .seconds(1) }
    let recent = intact.flatMap { age(of: $0) <= greatestAge ? $0 : nil }
    guard let frame = recent ?? newest else {
      throw failure.withLock { $0 }.map { .notDecoded($0) } ?? .noPicture
    }
    do {
      return (try JPEGPicture(frame, encodedBy: JPEGEncoder(size: nil)), age(of: frame))
    } catch { throw .notDecoded("\(error)") }
  }

  /// That of all decoders for the page: others have the processors first.
  static func configuration(in box: DecoderBox?) -> VideoDecoder.Configuration {
    var configuration = VideoDecoder.Configuration()
    configuration.queueLimits = QueueLimits(
      count: 2 * PictureGroup.limits.count, bytes: 2 * PictureGroup.limits.bytes)
    configuration.threads = .count(1)
    configuration.box = box
    return configuration
  }
}
