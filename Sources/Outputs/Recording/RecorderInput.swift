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
  /// The most units of sound that wait for a picture, in number and bytes.
  private static let earlySoundLimit = 1024
  private static let earlySoundByteLimit = 8 << 20

  /// Whether sound makes files without pictures.
  private(set) var isSoundOnly = false
  /// Units of sound that no picture came for.
  private(set) var dropped = 0
  private(set) var track: SoundTrack
  private var interleaver = Interleaver()
  private var fields = FieldPairs()
  private var strays = StrayTimes()
  /// Whether a picture of this connection has come.
  private var hasPictures = false
  /// Whether a picture has come in this run.
  private var hasSeenPictures = false
  /// When the first sound of this connection came.
  private var firstSound: Instant?
  /// Sound that waits for a picture, without which it has no place.
  private var earlySound = CircularBuffer<SoundUnit>()
  private var earlySoundBytes = 0

  init(for container: Container) {
    track = SoundTrack(for: container)
    if !container.holdsPictures { beginSoundAlone() }
  }

  // MARK: - What comes in

  /// Notes that there are pictures, whether or not they can be recorded yet.
  mutating func notePicture() { hasSeenPictures = true }

  mutating func append(_ unit: AccessUnit) {
    hasPictures = true
    placeEarlySound()
    for picture in fields.take(unit) { place(picture) }
    guard interleaver.soundHasStopped else { return }
    // What the encoder still has is from before the pause, and may belong to a file that ends.
    for sample in track.finish() { interleaver.append(sample) }
  }

  mutating func append(_ unit: SoundUnit) {
    let first = firstSound ?? unit.firstArrival
    firstSound = first
    guard !hasPictures, !isSoundOnly else { return place(unit) }
    earlySound.append(unit)
    earlySoundBytes += unit.bytes.readableBytes
    while earlySound.count > Self.earlySoundLimit || earlySoundBytes > Self.earlySoundByteLimit,
      takeEarlySound() != nil
    {
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
    appendRest()
    for sample in track.interrupt(isContinued: isContinued) { interleaver.append(sample) }
    dropEarlySound()
    interleaver.end()
  }

  /// Begins another connection, whose clocks may be others.
  ///
  /// - Parameter isContinued: whether what comes next belongs to the same file.
  mutating func reconnect(isContinued: Bool) {
    if !isContinued { track.reconnect() }
    (interleaver, strays) = (Interleaver(), StrayTimes())
    (hasPictures, firstSound) = (false, nil)
    isSoundOnly = isSoundOnly && !hasSeenPictures
    if isSoundOnly { interleaver.expectNoPictures() }
  }

  /// Lets everything out that waits, because nothing more comes.
  mutating func finish() {
    if !hasSeenPictures, !isSoundOnly { beginSoundAlone() }
    dropEarlySound()
    appendRest()
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

  private mutating func place(_ picture: AccessUnit) {
    for picture in strays.take(picture) { interleaver.append(picture) }
  }

  /// Appends what waits for the next picture.
  private mutating func appendRest() {
    if let field = fields.finish() { place(field) }
    if let picture = strays.finish() { interleaver.append(picture) }
  }

  // MARK: - What comes out

  /// What is next; `nil` until more has come.
  mutating func next() -> Interleaver.Element? { interleaver.next() }

  // MARK: - Sound

  private mutating func place(_ unit: SoundUnit) {
    for sample in track.take(unit, isAlone: isSoundOnly) { interleaver.append(sample) }
    guard track.failure == nil, let time = unit.alignedTime else { return }
    interleaver.noteSound(of: time.nanoseconds, arrival: unit.lastArrival)
  }

  private mutating func placeEarlySound() {
    while let unit = takeEarlySound() {
      // A session that knows no pictures leaves sound its own time, which is none of theirs. It has
      // waited for them in vain, and what came before all pictures is in no file.
      guard isSoundOnly || unit.alignedTime != unit.time else {
        dropped += 1
        continue
      }
      place(unit)
    }
  }

  private mutating func takeEarlySound() -> SoundUnit? {
    guard let unit = earlySound.popFirst() else { return nil }
    earlySoundBytes -= unit.bytes.readableBytes
    return unit
  }

  private mutating func dropEarlySound() {
    while takeEarlySound() != nil { dropped += 1 }
  }

  private mutating func beginSoundAlone() {
    isSoundOnly = true
    interleaver.expectNoPictures()
    placeEarlySound()
  }
}
