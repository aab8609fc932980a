import Bitstream
import Defragment
import RTPWire

/// Where sound is missing: how much silence stands before each unit, so that it begins at its time.
struct SoundTimeline: Sendable {
  /// How far times and samples may differ without a loss: senders round their timestamps, or count
  /// them by their own clock.
  private static let tolerance: Duration = .milliseconds(40)
  /// How many seconds the times may move more than the arrivals did: networks hold packets back
  /// that long; a forged timestamp leaps further.
  private static let longestLead = 5.0
  /// In seconds; a longer pause is a new beginning and is not filled: nobody wants to hear it, and
  /// a file of hours would come of one packet.
  private static let longestSilence = 60.0
  /// Seconds of silence for one of sound, where time has not passed as well: what is sent faster
  /// than it is heard, such as a file, has its pauses too.
  private static let silencePerSound = 4.0
  /// Samples of all channels in one silence: a minute of 8 channels at 48 kHz.
  private static let mostSamples = 24_000_000

  private var anchor: MediaTime?
  private var sampleRate = 0
  /// Samples since the anchor.
  private var samples = 0
  /// Samples of silence that no loss called for, and which nothing has shown to be right yet: the
  /// time of one unit may have been wrong.
  private var doubtful = 0
  /// Samples since then whose times agree with it.
  private var agreeing = 0
  private var lastArrival: Instant?
  /// How many seconds of silence there may be yet: otherwise times that leap with every packet
  /// would fill a disk.
  private var credit = longestLead

  /// Samples of silence before `unit`; 0 where it follows the one before, or stands before its end.
  mutating func silence(before unit: SoundUnit) -> Int {
    let rate = unit.format.sampleRate
    let elapsed = max(0, lastArrival?.nanoseconds(to: unit.lastArrival) ?? 0)
    lastArrival = unit.lastArrival
    credit = min(credit, Self.longestLead) + Double(elapsed) / 1e9
    defer { credit += Self.silencePerSound * Double(unit.sampleCount) / Double(rate) }
    guard let anchor, anchor.timescale == unit.time.timescale, sampleRate == rate else {
      begin(at: unit)
      return 0
    }
    let ticks = unit.time.ticks.subtractingSaturating(anchor.ticks)
    let place = Double(ticks) / Double(anchor.timescale) * Double(rate)
    let lead = place - Double(samples)
    let isGap = unit.lostBefore > 0 || unit.isDiscontinuity
    let tolerated = Self.tolerance.seconds * Double(rate)
    guard isGap || lead.magnitude > tolerated else {
      samples += unit.sampleCount
      agreeing += unit.sampleCount
      // After a second, the sender means it.
      if agreeing >= rate { doubtful = 0 }
      return 0
    }
    if !isGap, lead < 0, -lead <= Double(doubtful) + tolerated {
      // The next time that is late finds its silence here.
      samples += unit.sampleCount
      agreeing = 0
      return 0
    }
    let longest = min(Self.longestSilence, credit) * Double(rate)
    guard lead > 0, lead <= min(longest, Double(Self.mostSamples / unit.format.channels)) else {
      begin(at: unit)
      return 0
    }
    credit -= lead / Double(rate)
    let silence = Int(lead.rounded())
    (doubtful, agreeing) = (isGap ? 0 : doubtful + silence, 0)
    samples += silence + unit.sampleCount
    return silence
  }

  private mutating func begin(at unit: SoundUnit) {
    anchor = unit.time
    sampleRate = unit.format.sampleRate
    samples = unit.sampleCount
    (doubtful, agreeing) = (0, 0)
  }
}
