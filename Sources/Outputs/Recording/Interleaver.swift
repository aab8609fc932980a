import Defragment
import NIOCore
import RTPWire

/// Brings pictures and sound, each of which comes in order, into the order of their times.
///
/// A file can then be cut at a picture, and every piece of sound lies in the file to which its time
/// belongs. What comes waits until the other has come as far, for a second of media at most.
struct Interleaver {
  enum Element {
    case picture(AccessUnit)
    case sound(SoundTrack.Sample)
  }

  /// How far one may be ahead of the other, in nanoseconds.
  private static let hold: Int64 = 1_000_000_000
  /// The most of either that waits.
  private static let limit = 512

  private typealias Line<Item> = CircularBuffer<(time: Int64, item: Item)>

  private var pictures = Line<AccessUnit>()
  private var sounds = Line<SoundTrack.Sample>()
  /// The latest time of either so far.
  private var latestPicture: Int64?
  private var latestSound: Int64?
  /// Whether there are pictures to wait for.
  private var hasPictures = true
  private var isEnding = false

  /// Adds a picture, whose time may be before that of the last one, which is decoded before it.
  mutating func append(_ unit: AccessUnit) {
    hasPictures = true
    let time = unit.time.nanoseconds
    if Self.isLeap(to: time, from: latestPicture) {
      Self.bring(&pictures, before: time)
      Self.bring(&sounds, before: time)
      latestPicture = nil
      latestSound = nil
    }
    let place = max(time, latestPicture ?? time)
    latestPicture = place
    pictures.append((place, unit))
  }

  mutating func append(_ sample: SoundTrack.Sample) {
    if Self.isLeap(to: sample.start, from: latestSound) {
      Self.bring(&sounds, before: sample.start)
      latestSound = nil
    }
    latestSound = max(sample.start, latestSound ?? sample.start)
    sounds.append((sample.start, sample))
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
      return isDue(picture, of: pictures.count, latest: latestPicture, other: latestSound)
        ? takePicture() : nil
    case (nil, let sound?):
      // Until a picture comes, nobody knows where the sound belongs.
      guard latestPicture != nil || !hasPictures || isEnding || sounds.count > Self.limit else {
        return nil
      }
      return isDue(sound, of: sounds.count, latest: latestSound, other: latestPicture)
        ? takeSound() : nil
    }
  }

  /// Whether nothing earlier than `time` can come from the other line any more, or is not waited
  /// for.
  private func isDue(_ time: Int64, of count: Int, latest: Int64?, other: Int64?) -> Bool {
    guard !isEnding, count <= Self.limit, let other, let latest else { return true }
    return other >= time || latest.subtractingSaturating(other) >= Self.hold
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

  private mutating func takePicture() -> Element? { pictures.popFirst().map { .picture($0.item) } }

  private mutating func takeSound() -> Element? { sounds.popFirst().map { .sound($0.item) } }
}
