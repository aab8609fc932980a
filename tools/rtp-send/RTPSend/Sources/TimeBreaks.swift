import CAVFormat
import CFFmpeg
import RTPWire

/// The breaks in the times of a file, where recordings were joined: they are closed, for all of its
/// tracks together, so that nobody waits for hours that nobody recorded.
///
/// A long gap of one track beside another that goes on is a pause, which is kept. So is any gap up
/// to ``longestGap``.
struct TimeBreaks {
  /// A step further back than this is a break; a smaller one is a flaw of the file's writer.
  private static let longestStepBack: Int64 = -1_000_000_000
  /// The step over a break: by so much may one track begin before another, and none overlaps what
  /// is there.
  private static let step: Int64 = 40_000_000
  private static let nanoseconds = AVRational(num: 1, den: 1_000_000_000)

  /// How long a gap, in nanoseconds, is waited for.
  private let longestGap: Int64
  private var tracks: [Int32: Track] = [:]
  /// The latest time of any track.
  private var newest: Int64?
  /// The sum of all breaks.
  private var shift: Int64 = 0

  private struct Track {
    /// What is added to its times; the other tracks may be across a break already.
    var shift: Int64
    /// The latest time, and when what has it is over.
    var last: Int64
    var end: Int64

    /// How far a time that is moved by `shift` is from where the track ends.
    func distance(to time: Int64, by shift: Int64) -> UInt64 {
      time.addingSaturating(shift).subtractingSaturating(end).magnitude
    }
  }

  /// Begins with the first packet of `input`, or anywhere behind a seek.
  ///
  /// Ten seconds without anything are a break where recordings can be joined by their bytes, as for
  /// FFmpeg. Files with an index say how long a gap is.
  init(of input: UnsafeMutablePointer<AVFormatContext>) {
    let name = unsafe input.pointee.iformat.map { unsafe String(cString: $0.pointee.name) } ?? ""
    let isSeekable = unsafe input.pointee.pb.map { unsafe $0.pointee.seekable != 0 } ?? false
    let hasIndex = isSeekable && ["mov,", "matroska,", "avi"].contains(where: name.hasPrefix)
    longestGap = (hasIndex ? 30 * 3600 : 10) * 1_000_000_000
  }

  /// Moves the times of `packet`, which `input` gave, to where they continue those before.
  ///
  /// It wants every packet of the file, in the file's order.
  mutating func close(
    _ packet: UnsafeMutablePointer<AVPacket>, of input: UnsafeMutablePointer<AVFormatContext>
  ) {
    let index = unsafe packet.pointee.stream_index
    guard let stream = unsafe input.pointee.streams[Int(index)],
      let type = unsafe stream.pointee.codecpar?.pointee.codec_type,
      type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO
    else { return }
    let timeBase = unsafe stream.pointee.time_base
    let (decoding, presentation) = unsafe (packet.pointee.dts, packet.pointee.pts)
    let length = unsafe av_rescale_q(max(0, packet.pointee.duration), timeBase, Self.nanoseconds)
    // Presentation times alone, as Matroska has them, go back and forth.
    let shift =
      decoding == cffmpeg_no_timestamp()
      ? tracks[index]?.shift ?? shift
      : shift(
        of: av_rescale_q(decoding, timeBase, Self.nanoseconds), lasting: length, track: index)
    guard shift != 0 else { return }
    let moved = av_rescale_q(shift, Self.nanoseconds, timeBase)
    if decoding != cffmpeg_no_timestamp() {
      unsafe packet.pointee.dts = decoding.addingSaturating(moved)
    }
    if presentation != cffmpeg_no_timestamp() {
      unsafe packet.pointee.pts = presentation.addingSaturating(moved)
    }
  }

  /// What to add to the time of a packet of a track, in nanoseconds.
  private mutating func shift(of time: Int64, lasting length: Int64, track index: Int32) -> Int64 {
    let known = tracks[index]
    var own = known?.shift ?? shift
    if !continues(known, at: time.addingSaturating(own)) {
      if !continues(known, at: time.addingSaturating(shift)) {
        let end = newest ?? time
        shift = end.addingSaturating(Self.step).subtractingSaturating(time)
      }
      own = shift
    } else if let known, own != shift, continues(known, at: time.addingSaturating(shift)) {
      // Another track is across a break already, which was a little longer for it.
      own =
        [own, shift].min { known.distance(to: time, by: $0) < known.distance(to: time, by: $1) }
        ?? own
    }
    let moved = time.addingSaturating(own)
    let end = moved.addingSaturating(length)
    tracks[index] = Track(
      shift: own, last: max(known?.last ?? moved, moved), end: max(known?.end ?? end, end))
    newest = max(newest ?? end, end)
    return own
  }

  private func continues(_ track: Track?, at time: Int64) -> Bool {
    let last = track?.last ?? time
    return last.subtractingSaturating(time) <= -Self.longestStepBack
      && time.subtractingSaturating(newest ?? time) <= longestGap
  }
}
