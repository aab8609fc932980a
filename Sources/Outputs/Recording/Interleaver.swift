import Bitstream
import Defragment
import NIOCore
import RTPWire

/// Brings pictures and sound, each of which comes in order, into the order of their times.
///
/// A file can then be cut at a picture, and every piece of sound lies in the file to which its time
/// belongs. What comes waits until the other has come as far: as long as that comes at all, and is
/// five seconds behind at most. Where it has stopped, a second of media waits for it.
struct Interleaver {
  enum Element {
    case picture(AccessUnit)
    case sound(SoundTrack.Sample)
  }

  /// How far one may be ahead of the other if that has stopped, in nanoseconds, and how long ago
  /// anything of it came then.
  private static let hold: Int64 = 1_000_000_000
  /// How far one may be ahead of the other: as far as sender reports may be from the arrivals.
  private static let longestHold: Int64 = 5_000_000_000
  /// The most of either that waits, and of both in bytes.
  private static let limit = 512
  private static let byteLimit = 16 << 20

  private typealias Line<Item> = CircularBuffer<(time: Int64, item: Item)>

  /// How far a line has come.
  private struct Front {
    var time: Int64
    /// When that came.
    var arrival: Instant
  }

  private var pictures = Line<AccessUnit>()
  private var sounds = Line<SoundTrack.Sample>()
  private var latestPicture: Front?
  private var recentPictures = RecentTimes()
  private var latestSound: Front?
  /// The same of the sound that an encoder may still have.
  private var incomingSound: Front?
  /// Of all that waits.
  private var bytes = 0
  /// Whether there are pictures to wait for.
  private var hasPictures = true
  private var isEnding = false

  /// Adds a picture, whose time may be before that of the last one, which is decoded before it.
  mutating func append(_ unit: AccessUnit) {
    hasPictures = true
    let time = unit.time.nanoseconds
    if Self.isLeap(to: time, from: latestPicture?.time), recentPictures.areAll(after: time) {
      Self.bring(&pictures, before: time)
      Self.bring(&sounds, before: time)
      latestPicture = nil
      latestSound = nil
      incomingSound = nil
      recentPictures.restart(at: time)
    } else {
      recentPictures.append(time, depth: unit.format?.reorderDepth)
    }
    let front = Front(time: time, arrival: unit.lastArrival)
    let latest = Self.later(of: front, and: latestPicture)
    latestPicture = latest
    pictures.append((latest.time, unit))
    bytes += unit.bytes.readableBytes
  }

  mutating func append(_ sample: SoundTrack.Sample) {
    if Self.isLeap(to: sample.start, from: latestSound?.time) {
      Self.bring(&sounds, before: sample.start)
      latestSound = nil
    }
    let front = Front(time: sample.start, arrival: sample.arrival)
    latestSound = Self.later(of: front, and: latestSound)
    sounds.append((sample.start, sample))
    bytes += sample.bytes.readableBytes
  }

  /// Notes that sound of that time has come, which is appended sooner or later.
  mutating func noteSound(of time: Int64, arrival: Instant) {
    incomingSound = Front(time: time, arrival: arrival)
  }

  /// Whether the sound has stopped, as far as the last picture shows.
  var soundHasStopped: Bool {
    guard let latestPicture, let sound = incomingSound ?? latestSound else { return false }
    return Self.hasStopped(sound, as: latestPicture)
  }

  /// There are no pictures, as far as is known.
  mutating func expectNoPictures() { hasPictures = false }

  /// Lets everything out that waits.
  mutating func end() { isEnding = true }

  /// The next element; `nil` until more has come.
  mutating func next() -> Element? {
    switch (pictures.first?.time, sounds.first?.time) {
    case (nil, nil): return nil
    case (let picture?, let sound?):
      return picture <= sound ? takePicture() : takeSound()
    case (let picture?, nil):
      return isDue(
        picture, of: pictures.count, latest: latestPicture, other: latestSound,
        coming: incomingSound ?? latestSound) ? takePicture() : nil
    case (nil, let sound?):
      // Until a picture comes, nobody knows where the sound belongs.
      guard
        latestPicture != nil || !hasPictures || isEnding || sounds.count > Self.limit
          || bytes > Self.byteLimit
      else { return nil }
      return isDue(
        sound, of: sounds.count, latest: latestSound, other: latestPicture, coming: latestPicture)
        ? takeSound() : nil
    }
  }

  /// Whether nothing earlier than `time` can come from the other line any more, or is not waited
  /// for.
  ///
  /// - Parameters:
  ///   - time: of what is to leave.
  ///   - count: how much of its own line waits.
  ///   - latest: how far that has come.
  ///   - other: how far the other line has come.
  ///   - coming: the same with what is not appended yet.
  /// - Returns: whether it leaves.
  private func isDue(
    _ time: Int64, of count: Int, latest: Front?, other: Front?, coming: Front?
  ) -> Bool {
    guard !isEnding, count <= Self.limit, bytes <= Self.byteLimit, let other, let coming,
      let latest
    else { return true }
    return other.time >= time || Self.hasStopped(coming, as: latest)
      || latest.time.subtractingSaturating(coming.time) >= Self.longestHold
  }

  /// Whether `other` has stopped, as far as `latest` shows; what only comes late has not.
  private static func hasStopped(_ other: Front, as latest: Front) -> Bool {
    latest.time.subtractingSaturating(other.time) >= hold
      && other.arrival.nanoseconds(to: latest.arrival) >= hold
  }

  private static func later(of one: Front, and other: Front?) -> Front {
    guard let other else { return one }
    return Front(time: max(one.time, other.time), arrival: max(one.arrival, other.arrival))
  }

  /// Whether the sender's clock leapt back, or earlier times were wrong.
  private static func isLeap(to time: Int64, from latest: Int64?) -> Bool {
    latest.map { time < $0.subtractingSaturating(hold) } ?? false
  }

  /// Gives what waits in `line` since before a leap to `time` an earlier place than that.
  private static func bring<Item>(_ line: inout Line<Item>, before time: Int64) {
    for index in line.indices where isLeap(to: time, from: line[index].time) {
      line[index].time = time.subtractingSaturating(1)
    }
  }

  private mutating func takePicture() -> Element? {
    guard let unit = pictures.popFirst()?.item else { return nil }
    bytes -= unit.bytes.readableBytes
    return .picture(unit)
  }

  private mutating func takeSound() -> Element? {
    guard let sample = sounds.popFirst()?.item else { return nil }
    bytes -= sample.bytes.readableBytes
    return .sound(sample)
  }
}
