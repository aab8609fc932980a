import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire

/// `.y4m`: YUV4MPEG2, a header line, then `FRAME` and the planes for every picture.
///
/// The header is that of yuv4mpeg(5) with the extensions that FFmpeg reads and writes: more than 8
/// bits (`C420p10`) and the sample range (`XCOLORRANGE`).
struct Y4MOutput: Output {
  static let format = OutputFormat(name: "y4m", inputs: .frames, samples: .planes) {
    Y4MOutput()
  }

  /// A rate outside these limits, measured from two timestamps, means that the timestamps are
  /// wrong.
  private static let plausibleRates = 1.0...1000.0

  private static let frameHeader = ByteBuffer(string: "FRAME\n")

  private enum State {
    case empty
    /// The first frame of a stream without a rate waits for the second: their distance is the rate.
    case measuringRate(first: RawFrame)
    case running
  }

  /// The rate that FFmpeg assumes for an unknown one.
  private static let assumedRate = Rational(25, 1)

  private var state = State.empty
  private var assumption: OutputNote?
  /// The rate that the header names, in frames per second.
  private var headerRate: Double?
  private var pace = FramePace()

  /// A pipe gives its reader no other times than those of the header.
  var notes: [OutputNote] {
    let other = headerRate.flatMap { said in
      pace.rate(otherThan: said).map { OutputNote.otherFrameRate(said: said, shown: $0) }
    }
    return [assumption, other].compactMap(\.self)
  }

  mutating func record(for item: OutputItem) throws(OutputError) -> OutputRecord? {
    guard case .frame(let frame) = item else { return nil }
    pace.note(frame.time)
    switch state {
    case .running:
      return OutputRecord(pieces: Self.pieces(of: frame))
    case .empty:
      guard let rate = frame.frameRate else {
        _ = try Self.header(for: frame, rate: Self.assumedRate)
        state = .measuringRate(first: frame)
        return nil
      }
      state = .running
      headerRate = rate.value
      let header = try Self.header(for: frame, rate: rate)
      return OutputRecord(pieces: [.bytes(header)] + Self.pieces(of: frame))
    case .measuringRate(let first):
      state = .running
      let rate = Self.rate(from: first, to: frame) ?? assumeRate()
      headerRate = rate?.value
      let header = try Self.header(for: first, rate: rate)
      return OutputRecord(
        pieces: [.bytes(header)] + Self.pieces(of: first) + Self.pieces(of: frame), items: 2)
    }
  }

  mutating func finish() -> OutputRecord? {
    guard case .measuringRate(let first) = state,
      let header = try? Self.header(for: first, rate: assumeRate())
    else { return nil }
    state = .running
    return OutputRecord(pieces: [.bytes(header)] + Self.pieces(of: first))
  }

  /// The rate for a stream that neither names nor shows one; every header must name a rate.
  private mutating func assumeRate() -> Rational? {
    assumption = Self.assumedRate.map { .assumedFrameRate($0) }
    return Self.assumedRate
  }

  private static func pieces(of frame: RawFrame) -> [OutputRecord.Piece] {
    [.bytes(frameHeader), .planes(frame)]
  }

  private static func rate(from first: RawFrame, to second: RawFrame) -> Rational? {
    guard first.time.timescale == second.time.timescale,
      let ticks = UInt32(exactly: second.time.ticks.subtractingSaturating(first.time.ticks)),
      let rate = Rational(first.time.timescale, ticks), plausibleRates.contains(rate.value)
    else { return nil }
    return rate
  }

  /// The header line; an aspect ratio of 0:0 means unknown.
  private static func header(
    for frame: RawFrame, rate: Rational?
  ) throws(OutputError) -> ByteBuffer {
    guard let chroma = chromaTag(for: frame) else {
      throw .unsupportedPixelFormat(name: frame.pixelFormat.name)
    }
    let scan =
      switch frame.scan {
      case .progressive: "p"
      case .topFieldFirst: "t"
      case .bottomFieldFirst: "b"
      }
    var line = "YUV4MPEG2 W\(frame.width) H\(frame.height) F\(ratio(rate)) I\(scan)"
    line += " A\(ratio(frame.sampleAspectRatio)) \(chroma)"
    if frame.isRangeKnown {
      line += " XCOLORRANGE=" + (frame.colour.isFullRange ? "FULL" : "LIMITED")
    }
    return ByteBuffer(string: line + "\n")
  }

  private static func ratio(_ ratio: Rational?) -> String {
    guard let ratio else { return "0:0" }
    let divisor = greatestCommonDivisor(ratio.numerator, ratio.denominator)
    return "\(ratio.numerator / divisor):\(ratio.denominator / divisor)"
  }

  private static func greatestCommonDivisor(_ left: UInt32, _ right: UInt32) -> UInt32 {
    right == 0 ? left : greatestCommonDivisor(right, left % right)
  }

  /// The chroma tag, with the older `XYSCSS` tag that some readers use instead.
  private static func chromaTag(for frame: RawFrame) -> String? {
    let depth = frame.pixelFormat.bitDepth
    switch frame.pixelFormat.layout {
    case .gbr, .packed, .semiPlanar: return nil
    case .yuv(.monochrome): return depth == 8 ? "Cmono" : "Cmono\(depth)"
    case .yuv(.yuv420) where depth == 8:
      // FFmpeg names the centre for full range, whatever the stream says of its chroma.
      return switch frame.chromaLocation {
      case .left: "C420mpeg2 XYSCSS=420MPEG2"
      case .topLeft: "C420paldv XYSCSS=420PALDV"
      case .unspecified, .centre, .other: "C420jpeg XYSCSS=420JPEG"
      }
    case .yuv(.yuv420): return "C420p\(depth) XYSCSS=420P\(depth)"
    case .yuv(.yuv422): return depth == 8 ? "C422 XYSCSS=422" : "C422p\(depth) XYSCSS=422P\(depth)"
    case .yuv(.yuv444): return depth == 8 ? "C444 XYSCSS=444" : "C444p\(depth) XYSCSS=444P\(depth)"
    }
  }
}
