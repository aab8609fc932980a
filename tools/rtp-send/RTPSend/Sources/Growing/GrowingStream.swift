import NIOCore
import RTPWire

/// One file after the other of one writer, as one stream without a seam.
struct GrowingStream {
  /// Times of a container that go on farther than this belong to another timeline.
  private static let longestGap: Int64 = 10 * 90_000
  /// A pause of the writer that is longer than this is one of the stream too.
  private static let shortestPause: Int64 = 45_000

  /// The present file.
  private(set) var file: GrowingFile
  /// Pictures that could not be sent, because no parameter sets were known or decoding could not
  /// begin with them.
  private(set) var skipped = 0

  private let framesPerSecond: Double?
  private var known: KnownVideo?
  private var times: PictureTimes?
  private var hasBegun = false
  /// Whether the present file has, whose index may have sets that no picture repeats.
  private var hasBegunFile = false
  /// The parameter sets that hold for the present picture.
  private var sets: KnownVideo?
  private var lastDecoding: Int64?
  private var lastPresentation: Int64 = 0
  private var interval: Int64 = 3600
  /// From the last picture to what follows it.
  private var lastLength: Int64 = 3600
  /// How much later than its time a picture of the present file came, at most: those of a fragment
  /// come together, after the last of them.
  private var delay: Int64?
  /// From the container's times to those of the stream; `nil` before the first picture of a file.
  private var shift: Int64?
  private var lastShift: Int64?

  /// - Parameters:
  ///   - known: what another file of the writer says of the video.
  ///   - framesPerSecond: the rate of pictures without times; otherwise what the stream says.
  init(_ known: KnownVideo?, framesPerSecond: Double?) {
    self.known = known
    self.framesPerSecond = framesPerSecond
    file = GrowingFile(known)
  }

  /// The codec and the parameter sets, as far as they are known.
  var video: KnownVideo? { file.video ?? known }

  /// Goes on with another file, from its beginning; take the end of the present one before.
  mutating func beginFile() {
    // The sets of a closed file may have been learned meanwhile.
    if let video = file.video, video.isDecodable || known == nil { known = video }
    file = GrowingFile(known, isPatient: file.isPatient)
    (shift, sets, hasBegunFile) = (nil, nil, false)
  }

  /// Takes what the index of a file says that has been closed.
  mutating func learn(_ video: KnownVideo) { known = video }

  /// Takes bytes of the present file, from its ``GrowingFile/position`` on; pull with ``next(at:)``
  /// afterwards.
  mutating func take(_ bytes: ByteBuffer) throws(GrowingFault) { try file.take(bytes) }

  /// Takes what the header of the open box says now.
  mutating func reread(_ bytes: ByteBuffer) { file.reread(bytes) }

  /// The next picture that is whole, which came at `arrival`, in ticks of 90 kHz of any clock.
  mutating func next(at arrival: Int64) throws(GrowingFault) -> SourceAccessUnit? {
    while let picture = file.next() {
      if let unit = try unit(picture, arrival) { return unit }
    }
    return nil
  }

  /// The pictures at the end, after a pause in which nothing came, or with `isOver` when the writer
  /// has gone; call until there is none.
  mutating func settle(
    at arrival: Int64, isOver: Bool = false
  ) throws(GrowingFault) -> SourceAccessUnit? {
    while let picture = try file.settle(isOver: isOver) {
      if let unit = try unit(picture, arrival) { return unit }
    }
    return nil
  }

  /// The pictures at the end of the file, when nothing more will come; call until there is none.
  mutating func finishFile(at arrival: Int64) throws(GrowingFault) -> SourceAccessUnit? {
    while let picture = try file.finish() {
      if let unit = try unit(picture, arrival) { return unit }
    }
    return nil
  }

  /// `picture` as it is sent; `nil` when it cannot be.
  private mutating func unit(
    _ picture: GrowingPicture, _ arrival: Int64
  ) throws(GrowingFault) -> SourceAccessUnit? {
    guard let video = picture.video ?? file.video else { return nil }
    if let known, hasBegun, known.codec != video.codec {
      throw .codecChanged(to: video.codec.encodingName, from: known.codec.encodingName)
    }
    let time = place(picture, arrival)
    // An index may be that of later pictures.
    var sets = self.sets.flatMap { $0.isDecodable ? $0 : nil } ?? video
    for unit in picture.units { sets.take(unit) }
    self.sets = sets
    var units = picture.units
    if picture.isRandomAccess, !picture.isContinued {
      units = sets.completed(units, isFirst: picture.times != nil && !hasBegunFile)
      if sets.isDecodable { (hasBegun, hasBegunFile) = (true, true) }
    }
    guard hasBegun else {
      skipped += 1
      return nil
    }
    return SourceAccessUnit(
      units: units, presentationTicks: time.presentation, decodingTicks: time.decoding,
      isRandomAccess: picture.isRandomAccess && !picture.isContinued)
  }

  private mutating func place(
    _ picture: GrowingPicture, _ arrival: Int64
  ) -> GrowingPicture.Times {
    guard !picture.isContinued else {
      return GrowingPicture.Times(presentation: lastPresentation, decoding: lastDecoding ?? 0)
    }
    var time: GrowingPicture.Times
    if let read = picture.times {
      let shift = shift ?? seam(read.decoding, arrival)
      (self.shift, lastShift) = (shift, shift)
      time = GrowingPicture.Times(
        presentation: read.presentation.addingSaturating(shift),
        decoding: read.decoding.addingSaturating(shift))
    } else {
      if times == nil {
        times = PictureTimes(
          framesPerSecond: framesPerSecond ?? video?.framesPerSecond,
          isFixed: framesPerSecond != nil)
      }
      let placed = times?.place(picture.order, fields: picture.fields, at: arrival) ?? (0, 0)
      time = GrowingPicture.Times(presentation: placed.0, decoding: placed.1)
    }
    if let lastDecoding {
      time.decoding = max(time.decoding, lastDecoding)
      let step = time.decoding.subtractingSaturating(lastDecoding)
      if step > 0, step < Self.longestGap { interval = step }
    }
    // A writer that does not know how long its last picture lasts says next to nothing.
    let length = picture.times?.length ?? 0
    lastLength = (interval / 2..<Self.longestGap).contains(length) ? length : interval
    (lastDecoding, lastPresentation) = (time.decoding, time.presentation)
    let delay = arrival.subtractingSaturating(time.decoding)
    self.delay = max(self.delay ?? delay, delay)
    return time
  }

  /// What is to be added to the times of a file whose first picture has `decoding`.
  private mutating func seam(_ decoding: Int64, _ arrival: Int64) -> Int64 {
    defer { delay = nil }
    guard let lastDecoding else { return Int64(0).subtractingSaturating(decoding) }
    if let lastShift {
      // Some writers count on from file to file.
      let gap = decoding.addingSaturating(lastShift).subtractingSaturating(lastDecoding)
      if gap > 0, gap <= Self.longestGap { return lastShift }
    }
    var next = lastDecoding.addingSaturating(lastLength)
    // With the delay of the last file, the picture would have this time.
    let usual = arrival.subtractingSaturating(delay ?? 0)
    if delay != nil, usual.subtractingSaturating(next) > Self.shortestPause { next = usual }
    return next.subtractingSaturating(decoding)
  }
}
