import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire

/// `.jsonl`: what became of each picture, one JSON object a line.
///
/// Every key is in every line, with `null` for what is not known. Times are nanoseconds.
struct PictureLinesOutput: Output {
  static let format = OutputFormat(
    name: "jsonl", inputs: .reports, makeWithClock: { PictureLinesOutput(clock: $0) })

  /// In nanoseconds.
  private static let greatestDrift: UInt64 = 1_000_000_000

  private let clock: WallClock
  /// Presentation times are counted from the first picture.
  private var origin: MediaTime?
  private var clockOffset: Int64?

  init(clock: WallClock) { self.clock = clock }

  mutating func record(for item: OutputItem) -> OutputRecord? {
    guard case .report(let report) = item else { return nil }
    return OutputRecord(pieces: [.bytes(ByteBuffer(string: line(of: report).text + "\n"))])
  }

  private mutating func line(of report: PictureReport) -> JSONLine {
    let packets = report.origin?.packets
    var line = JSONLine()
    line.add("number", report.number)
    line.add("time_ns", presentationTime(of: report))
    line.add("rtp_timestamp", packets?.timestamp)
    line.add("capture_time_ns", report.captureTime?.nanoseconds)
    line.add("first_arrival_ns", universalTime(of: report.firstArrival))
    line.add("last_arrival_ns", universalTime(of: report.lastArrival))
    line.add("first_sequence", packets?.firstSequence)
    line.add("last_sequence", packets?.lastSequence)
    line.add("lost", report.origin?.lostPackets)
    line.add("late", packets?.late)
    line.add("duplicate", packets?.duplicates)
    line.add("repaired", packets?.repaired)
    line.add("bytes", report.codedByteCount)
    line.add(
      "nal_units",
      report.origin.map { origin in origin.unitTypes.map { origin.codec.name(ofUnitType: $0) } }
        ?? [])
    line.add("key", report.isKeyFrame)
    line.add("condition", report.condition.map { "\($0)" } ?? "left_out")
    line.add("reason", report.reason)
    line.add("decoding_time_ns", report.origin?.decodingTime)
    line.add("width", report.geometry?.width)
    line.add("height", report.geometry?.height)
    line.add("pixel_format", report.geometry?.pixelFormat.name)
    line.add("md5", report.frame?.messageDigest())
    return line
  }

  private mutating func presentationTime(of report: PictureReport) -> Int64 {
    let first = origin ?? report.time
    origin = first
    return report.time.nanoseconds(since: first)
  }

  /// `arrival` in UTC.
  private mutating func universalTime(of arrival: Instant) -> Int64 {
    // Kept, so that the differences are those of the arrivals, until the clock is set.
    let now = clock.offset()
    let offset = clockOffset ?? now
    let isSet = now.subtractingSaturating(offset).magnitude > Self.greatestDrift
    clockOffset = isSet ? now : offset
    return arrival.nanoseconds.addingSaturating(isSet ? now : offset)
  }
}
