import Decode
import Defragment
public import RTPWire

/// What the new pictures of a run have shown, in totals since its start: those that came out of the
/// decoder and repeat no other, or those of the access units where nothing is decoded.
public struct PictureStatistics: Counted, Hashable {
  /// The size of pictures in luma samples, as shown.
  public struct Size: Sendable, Hashable {
    public let width: Int
    public let height: Int
  }

  /// How many sizes are kept; a stream that changes more often is of no single size anyway.
  static let maximumSizes = 8

  public internal(set) var pictures: UInt64 = 0
  /// Of these, the ones at which decoding can begin.
  public internal(set) var keyPictures: UInt64 = 0
  /// Bytes as received, with four-byte start codes.
  public internal(set) var codedBytes: UInt64 = 0
  /// The sizes in the order in which they first came, at most 8.
  public internal(set) var sizes: [Size] = []
  /// The longest time from the arrival of one picture to that of the next, or to the end of a live
  /// run, in seconds.
  public internal(set) var longestGap = 0.0
  /// The longest presentation time between two key pictures that came one after the other, in
  /// seconds; `nil` before the second.
  public internal(set) var longestKeyInterval: Double?
  /// From the start of a live run to its first picture; `nil` before that.
  public internal(set) var firstPicture: Duration?

  private var earliest: MediaTime?
  private var latest: MediaTime?
  private var lastKey: MediaTime?
  /// When the last packet of the latest picture came.
  public private(set) var lastArrival: Instant?

  public static let counters: [Counter<PictureStatistics>] = [
    Counter(
      "pictures", .frames, \.pictures,
      metric: Metric("pictures", "New pictures: none that repeats another.")),
    Counter(
      "key_pictures", .frames, \.keyPictures,
      metric: Metric("key_frames", "Pictures at which decoding can begin.")),
    Counter(
      "coded_bytes", .bytes, \.codedBytes,
      metric: Metric("coded_bytes", "Bytes of the pictures as they were coded.")),
  ]

  /// Seconds of presentation time that the pictures fill, the last one for as long as the others;
  /// `nil` before the second picture.
  public var duration: Double? {
    guard let span = span, span > 0, pictures > 1 else { return nil }
    return span * Double(pictures) / Double(pictures - 1)
  }

  /// Pictures a second of presentation time; `nil` before the second picture.
  public var rate: Double? { duration.map { Double(pictures) / $0 } }

  /// Coded bits a second of presentation time; `nil` before the second picture.
  public var bitRate: Double? { duration.map { Double(codedBytes) * 8 / $0 } }

  /// Presentation time since the last key picture, in seconds; `nil` before the first.
  public var sinceKeyPicture: Double? {
    guard let lastKey, let latest else { return nil }
    return max(0, latest.seconds - lastKey.seconds)
  }

  private var span: Double? {
    guard let earliest, let latest else { return nil }
    return latest.seconds - earliest.seconds
  }

  mutating func note(_ frame: RawFrame) {
    note(
      frame.time, isKey: frame.isKeyFrame, bytes: frame.codedByteCount,
      size: Size(width: frame.width, height: frame.height), arrival: frame.lastArrival)
  }

  /// Notes the picture in `unit`, if it has one; a second field belongs to that of the first.
  mutating func note(_ unit: AccessUnit) {
    guard unit.dependency != nil else { return }
    guard unit.fields != .second else {
      codedBytes += UInt64(unit.bytes.readableBytes)
      lastArrival = max(lastArrival ?? unit.lastArrival, unit.lastArrival)
      return
    }
    note(
      unit.time, isKey: unit.isRandomAccess, bytes: unit.bytes.readableBytes,
      size: unit.format.map { Size(width: $0.width, height: $0.height) },
      arrival: unit.lastArrival)
  }

  /// Notes that nothing more will come, at `now`.
  mutating func end(at now: Instant) {
    guard let lastArrival else { return }
    longestGap = max(longestGap, lastArrival.duration(to: now).seconds)
  }

  private mutating func note(
    _ time: MediaTime, isKey: Bool, bytes: Int, size: Size?, arrival: Instant
  ) {
    pictures += 1
    codedBytes += UInt64(bytes)
    if let size, !sizes.contains(size), sizes.count < Self.maximumSizes { sizes.append(size) }
    if earliest.map({ time.seconds < $0.seconds }) ?? true { earliest = time }
    if latest.map({ time.seconds > $0.seconds }) ?? true { latest = time }
    // In output order a picture may come after one that arrived later.
    if let lastArrival {
      longestGap = max(longestGap, lastArrival.duration(to: arrival).seconds)
    }
    lastArrival = max(lastArrival ?? arrival, arrival)
    guard isKey else { return }
    keyPictures += 1
    if let lastKey {
      longestKeyInterval = max(longestKeyInterval ?? 0, time.seconds - lastKey.seconds)
    }
    lastKey = time
  }
}
