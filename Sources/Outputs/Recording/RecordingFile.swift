import Bitstream
import Defragment
import NIOCore
import RTPWire

/// One file of a recording while it is made: pictures, sound, or both.
struct RecordingFile {
  /// The pictures of a file.
  struct Pictures {
    let codec: VideoCodec
    /// The parameter sets that it began with, in its header or in its first picture, or those that
    /// a key picture has replaced since.
    fileprivate(set) var sets: StreamSets
    /// Whether they were replaced, so that a reader who begins later has to find them there.
    fileprivate var repeatsSets = false
    let timescale: UInt32
    /// How far they may be reordered.
    let depth: Int
    fileprivate var form: RecordedTrack.SampleForm
    /// The stream's time at which the file begins.
    fileprivate var base: Int64
    fileprivate var times: DecodingTimes
  }

  private(set) var pictures: Pictures?
  /// The sound in it; `nil` without.
  let sound: SoundDescription?
  /// How much UTC was ahead of the clock of arrivals when it began, in nanoseconds.
  let clockOffset: Int64
  /// When its first picture or sound came.
  let wallClock: WallClockTime
  /// Pictures or, without them, pieces of sound.
  private(set) var frames = 0
  /// Pictures at its start that were left out.
  var leftOut = 0

  private let container: Container
  private let canSeek: Bool
  private let muxer: Muxer
  /// The time of its beginning on the timeline of pictures and sound, in nanoseconds.
  private var start: Int64
  /// From its beginning to the end of the last picture or sound, in nanoseconds.
  private var length: Int64 = 0
  /// The decoding time of the last piece of sound, in samples.
  private var lastSound = Int64.min
  /// The time of the last piece of sound, in nanoseconds.
  private var latestSound = Int64.min
  /// Items that the muxer has and nobody took.
  private var pending = 0
  private var header: MovieHeader?
  private var waveHeader: WaveHeader?
  /// The tracks of which the fragment that is being made is known to have something.
  private var begunTracks: Set<Int> = []
  /// Whether the muxer has to be told again that fragments have times of their own.
  private var forgetsTimes = true
  /// The last picture in the form that the container has.
  private var converted = ByteBuffer()
  /// Bytes that wait for the header.
  private var unheaded = 0
  /// How long it was when something was last taken from the muxer, in nanoseconds.
  private var lengthTaken: Int64 = 0

  /// How far sound may begin before the end of the sound before, in nanoseconds.
  private static let greatestOverlap: Int64 = 250_000_000
  /// After this many nanoseconds, the header is written even if a track has nothing yet.
  private static let longestHeader: Int64 = 1_500_000_000
  /// The same for so many bytes, whose times may stand still.
  private static let largestHeader = 16 << 20
  /// The least that a fragment is completed for, in nanoseconds.
  private static let shortestFragment: Int64 = 400_000_000
  /// Pictures a second, where only one has come.
  private static let assumedRate: UInt32 = 25

  /// Begins a file with pictures, which are then written one by one.
  ///
  /// - Parameters:
  ///   - opening: the first ones.
  ///   - depth: how far pictures are reordered.
  ///   - rate: how many there are in a second, if they show it.
  ///   - sound: what is recorded beside them, if anything.
  ///   - setup: what all files of the recording have in common.
  /// - Throws: ``RecordingError``.
  init(
    _ opening: RecordingOpening, depth: Int, rate: Rational?, beside sound: SoundDescription?,
    _ setup: Recorder.Configuration
  ) throws(RecordingError) {
    let key = opening.first
    guard let format = key.format else { throw .noFormat }
    let presentations = opening.units.map(\.time.ticks)
    let timescale = key.time.timescale
    let base = key.time.ticks
    // The first pictures of a pyramid are further apart than those that follow, and decoding times
    // that begin too early make the file longer than it is.
    let regular = (rate ?? format.frameRate).flatMap {
      Int64(exactly: (Double(timescale) / $0.value).rounded())
    }
    let interval =
      [DecodingTimes.interval(of: presentations), regular].compactMap(\.self).min()
      ?? Int64(timescale / Self.assumedRate)
    let times = DecodingTimes(
      depth: depth, interval: interval, first: presentations.map { $0.subtractingSaturating(base) })
    let track = RecordedTrack(
      key.codec, sets: opening.header, format: format, timescale: timescale, rate: rate,
      in: setup.container)
    pictures = Pictures(
      codec: key.codec, sets: opening.sets, timescale: timescale, depth: depth, form: track.form,
      base: base, times: times)
    (container, canSeek) = (setup.container, setup.canSeek)
    clockOffset = opening.clockOffset
    wallClock = WallClockTime(nanoseconds: key.firstArrival.nanoseconds)
      .advanced(byNanoseconds: clockOffset)
    start = key.time.nanoseconds
    self.sound = sound
    muxer = try Muxer(
      setup.container, tracks: [track] + (sound.map { [RecordedTrack($0)] } ?? []),
      start: wallClock, canSeek: setup.canSeek)
  }

  /// Begins a file of sound alone with `first`.
  ///
  /// - Throws: ``RecordingError``.
  init(
    first: SoundTrack.Sample, _ setup: Recorder.Configuration
  ) throws(RecordingError) {
    (container, canSeek) = (setup.container, setup.canSeek)
    clockOffset = setup.clock.offset()
    wallClock = setup.clock.time(of: first.arrival)
    start = first.start
    sound = first.sound
    muxer = try Muxer(
      setup.container, tracks: [RecordedTrack(first.sound)], start: wallClock,
      canSeek: setup.canSeek)
  }

  /// How long it plays, in seconds.
  var duration: Double { Double(length) / 1e9 }

  /// Whether the stream reorders pictures further than the file allows.
  var needsMoreDepth: Bool { pictures.map { $0.times.moved > 0 } ?? false }

  /// From the start of the file to `time` on the timeline, in nanoseconds.
  func age(at time: Int64) -> Int64 { time.subtractingSaturating(start) }

  /// Whether `unit` can be in the file; one at its start that cannot be decoded is counted.
  mutating func takes(_ unit: AccessUnit) -> Bool {
    guard let pictures, unit.codec == pictures.codec, unit.time.timescale == pictures.timescale
    else { return false }
    guard unit.leads(MediaTime(ticks: pictures.base, timescale: pictures.timescale)) else {
      return true
    }
    leftOut += 1
    return false
  }

  /// Whether `sample` can be in the file: sound of another format or before its first picture is
  /// left out, and so is what comes again after the sound's clock leapt back.
  func takes(_ sample: SoundTrack.Sample) -> Bool {
    guard sound == sample.sound, sample.canBegin(at: start) else { return false }
    return sample.start >= latestSound.subtractingSaturating(Self.greatestOverlap)
  }

  /// Continues after a leap of the sender's clock: the next picture or, without pictures, the next
  /// piece of sound, of time `time`, follows what there is.
  mutating func resume(at time: MediaTime) {
    if var pictures {
      let end = MediaTime(ticks: 0, timescale: pictures.timescale)
        .advanced(byNanoseconds: length).ticks
      pictures.base = time.ticks.subtractingSaturating(end)
      self.pictures = pictures
    }
    let former = start
    start = time.nanoseconds.subtractingSaturating(length)
    latestSound = latestSound.addingSaturating(start.subtractingSaturating(former))
  }

  /// A key picture brings `own`; if these are not known, all `latest` ones count from here on.
  mutating func replaceSets(by latest: StreamSets, for own: StreamSets) {
    guard var pictures, !pictures.sets.contains(own) else { return }
    (pictures.sets, pictures.repeatsSets) = (latest, true)
    self.pictures = pictures
  }

  /// What the file begins with before its first sample, if anything.
  mutating func begin() -> OutputRecord? { take(until: 0) }

  /// Adds `unit`.
  ///
  /// - Parameters:
  ///   - unit: the picture.
  ///   - isKey: whether a reader can begin with it.
  ///   - next: the time of the picture with which another file begins, if it is known; a last
  ///     picture is otherwise taken to last as long as the one before.
  /// - Returns: the bytes that are complete by now, if any.
  /// - Throws: ``RecordingError`` when the muxer refuses it; the file can go on without it.
  mutating func write(
    _ unit: AccessUnit, isKey: Bool, before next: MediaTime?
  ) throws(RecordingError) -> OutputRecord? {
    guard var pictures else { return nil }
    var place = pictures.times.place(unit.time.ticks.subtractingSaturating(pictures.base))
    if case .lengths(let header?) = pictures.form, !header.contains(StreamSets(in: unit)) {
      // What is not in the header is between the pictures, and so is what replaces it later.
      pictures.form = .lengths(without: nil)
    }
    self.pictures = pictures
    let sets = frames == 0 || isKey && pictures.repeatsSets ? pictures.sets : nil
    let following = next.flatMap { next in
      next.timescale == pictures.timescale
        ? next.ticks.subtractingSaturating(pictures.base) : nil
    }
    if let following { place.duration = pictures.times.length(until: following) ?? place.duration }
    try mux(
      Muxer.Sample(
        bytes: bytes(of: unit, in: pictures.form, with: sets),
        presentation: place.presentation, decoding: place.decoding,
        duration: place.duration, isKey: isKey))
    frames += 1
    let end = MediaTime(
      ticks: max(place.presentation.addingSaturating(place.duration), following ?? 0),
      timescale: pictures.timescale)
    return take(adding: unit.accessUnitCount, until: end)
  }

  private mutating func bytes(
    of unit: AccessUnit, in form: RecordedTrack.SampleForm, with sets: StreamSets?
  ) -> ByteBuffer {
    switch form {
    case .startCodes:
      return sets.map { unit.bytes(with: $0) } ?? unit.bytes
    case .lengths(let header):
      converted.clear(minimumCapacity: unit.bytes.readableBytes)
      unit.write(lengthPrefixed: &converted, with: sets, without: header)
      return converted
    }
  }

  /// Adds `sample`, as above.
  mutating func write(_ sample: SoundTrack.Sample) throws(RecordingError) -> OutputRecord? {
    guard let sound else { return nil }
    let rate = UInt32(clamping: sound.format.sampleRate)
    let exact = Double(age(at: sample.start)) * Double(rate) / 1e9
    guard let place = Int64(exactly: exact.rounded()) else { return nil }
    let decoding = max(place, lastSound.addingSaturating(1), 0)
    // Where sound catches up, its units follow each other sooner than they are long.
    let distance = decoding.subtractingSaturating(lastSound)
    let count = Int64(sample.count)
    let isCatchingUp = (count / 2..<count).contains(distance)
    try mux(
      Muxer.Sample(
        track: pictures == nil ? 0 : 1, bytes: sample.bytes, presentation: decoding,
        decoding: decoding, duration: isCatchingUp ? distance : count, isKey: true))
    lastSound = decoding
    latestSound = sample.start
    if pictures == nil { frames += 1 }
    let end = MediaTime(ticks: decoding.addingSaturating(Int64(sample.count)), timescale: rate)
    return take(adding: sample.items, until: end)
  }

  /// Completes the fragment that is being made, if it is long enough.
  mutating func completeFragment() -> OutputRecord? {
    guard !container.isImmediate, header != nil || !container.hasMovieHeader,
      length.subtractingSaturating(lengthTaken) >= Self.shortestFragment
    else { return nil }
    // What cannot be completed now leaves with what follows.
    try? muxer.flush()
    return take(until: length)
  }

  /// Ends the file; what is left of it, and what it has become.
  mutating func finish(because reason: FileReason) -> (last: OutputRecord?, ending: FileEnding) {
    // What cannot be completed is left out: the file ends on a whole fragment.
    try? muxer.finish()
    var last = take(until: length)
    if canSeek, let header {
      last = last ?? OutputRecord(pieces: [], items: 0)
      last?.patches.append(header.patch(duration: duration))
      last?.length = .movie(header, duration: duration)
    }
    return (
      last,
      FileEnding(
        reason: reason, duration: duration, frames: frames, isSoundOnly: pictures == nil,
        leftOut: leftOut)
    )
  }

  private mutating func mux(_ sample: Muxer.Sample) throws(RecordingError) {
    if forgetsTimes, header != nil {
      muxer.keepTimesOfFragment()
      forgetsTimes = false
    }
    try muxer.write(sample)
    unheaded += header == nil ? sample.bytes.readableBytes : 0
    // The first sample of a track in a fragment uses up what was said.
    if begunTracks.insert(sample.track).inserted { forgetsTimes = true }
  }

  /// What is complete after a sample of `items`, which lasts until `end`.
  private mutating func take(adding items: Int, until end: MediaTime) -> OutputRecord? {
    // A fragment leaves with the first sample of the next one.
    var taken = length
    length = max(length, end.nanoseconds)
    // libavformat waits for all tracks with the header, and with everything behind it.
    if container.hasMovieHeader, header == nil,
      length > Self.longestHeader || unheaded > Self.largestHeader
    {
      try? muxer.flush()
      taken = length
    }
    if container.isImmediate { pending += items }
    defer { if !container.isImmediate { pending += items } }
    return take(until: taken)
  }

  /// What the muxer has written, with which the file lasts until `end`, in nanoseconds.
  private mutating func take(until end: Int64) -> OutputRecord? {
    guard var record = muxer.take() else { return nil }
    // The last sample may have begun another fragment.
    begunTracks = []
    lengthTaken = length
    record.items = pending
    pending = 0
    if header == nil, waveHeader == nil, case .bytes(let bytes)? = record.pieces.first {
      if container.hasMovieHeader { header = MovieHeader(in: bytes) }
      // It comes before all samples.
      if frames == 0 { waveHeader = WaveHeader(in: bytes) }
    }
    guard canSeek else { return record }
    record.length =
      header.map { FileLength.movie($0, duration: Double(end) / 1e9) }
      ?? waveHeader.map { FileLength.wave($0) }
    return record
  }
}
