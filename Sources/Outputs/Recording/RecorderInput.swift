import Defragment
import NIOCore
import RTPWire

/// What comes to be recorded: pictures and sound on one timeline, in the order of their times.
struct RecorderInput {
  /// How long a complete key picture is waited for before any other entry point will do.
  ///
  /// Streams that are refreshed bit by bit have none. After the same time without any picture,
  /// sound is alone.
  static let patience = Duration.seconds(2)
  /// The most units of sound that wait for a picture.
  private static let earlySoundLimit = 1024

  /// Whether sound makes files without pictures.
  private(set) var isSoundOnly = false
  /// Units of sound that no picture came for.
  private(set) var dropped = 0
  private(set) var track: SoundTrack
  private var interleaver = Interleaver()
  /// The time and arrival of the last picture of this connection.
  private var lastPicture: (time: Int64, arrival: Instant)?
  /// Whether a picture has come in this run.
  private var hasSeenPictures = false
  /// When the first sound of this connection came.
  private var firstSound: Instant?
  /// Sound that waits for a picture, without which it has no place.
  private var earlySound = CircularBuffer<SoundUnit>()

  init(for container: Container) {
    track = SoundTrack(for: container)
    if !container.holdsPictures { beginSoundAlone() }
  }

  // MARK: - What comes in

  /// Notes that there are pictures, whether or not they can be recorded yet.
  mutating func notePicture() { hasSeenPictures = true }

  mutating func append(_ unit: AccessUnit) {
    lastPicture = (unit.time.nanoseconds, unit.firstArrival)
    placeEarlySound()
    interleaver.append(unit)
  }

  mutating func append(_ unit: SoundUnit) {
    let first = firstSound ?? unit.firstArrival
    firstSound = first
    guard lastPicture == nil, !isSoundOnly else { return place(unit) }
    earlySound.append(unit)
    if earlySound.count > Self.earlySoundLimit {
      earlySound.removeFirst()
      dropped += 1
    }
    // Sound comes before the pictures with every connection, and they follow if they ever did.
    guard !hasSeenPictures, first.duration(to: unit.firstArrival) >= Self.patience else { return }
    beginSoundAlone()
  }

  /// Lets everything out that waits, because the connection has ended.
  ///
  /// - Parameter isContinued: whether what comes next belongs to the same file.
  mutating func interrupt(isContinued: Bool) {
    for sample in track.interrupt(isContinued: isContinued) { interleaver.append(sample) }
    dropEarlySound()
    interleaver.end()
  }

  /// Begins another connection, whose clocks may be others.
  mutating func reconnect() {
    interleaver = Interleaver()
    (lastPicture, firstSound) = (nil, nil)
    isSoundOnly = isSoundOnly && !hasSeenPictures
    if isSoundOnly { interleaver.expectNoPictures() }
  }

  /// Lets everything out that waits, because nothing more comes.
  mutating func finish() {
    if !hasSeenPictures, !isSoundOnly { beginSoundAlone() }
    dropEarlySound()
    for sample in track.finish() { interleaver.append(sample) }
    interleaver.end()
  }

  /// Lets out the sound that waits, which is still alone.
  mutating func flush() { interleaver.end() }

  /// The next picture is recorded, and sound beside it.
  mutating func endSoundAlone() {
    interleaver = Interleaver()
    isSoundOnly = false
  }

  // MARK: - What comes out

  /// What is next; `nil` until more has come.
  mutating func next() -> Interleaver.Element? { interleaver.next() }

  // MARK: - Sound

  private mutating func place(_ unit: SoundUnit) {
    for sample in track.take(unit, after: lastPicture, isAlone: isSoundOnly) {
      interleaver.append(sample)
    }
  }

  private mutating func placeEarlySound() {
    while var unit = earlySound.popFirst() {
      // A session that knows no pictures leaves sound its own time, which is none of theirs.
      if unit.alignedTime == unit.time { unit.alignedTime = nil }
      place(unit)
    }
  }

  private mutating func dropEarlySound() {
    dropped += earlySound.count
    earlySound.removeAll()
  }

  private mutating func beginSoundAlone() {
    isSoundOnly = true
    interleaver.expectNoPictures()
    placeEarlySound()
  }
}
