import Bitstream
import BlockingIO
import Defragment
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Serving
import Telemetry
import Transports

/// The figures of a camera on the page, each from one look to the next.
struct ShownFigures: Sendable {
  private var last: StreamTotals?
  /// What was looked at longer ago is no former look; in seconds.
  private static let longestGap = 4.0

  /// What `status` shows at `time` since the run began.
  mutating func figures(of status: Receiver.Status, at time: Duration) -> Figures {
    let stream = status.stream
    let reception = stream?.reception
    let now = StreamTotals(status, at: time)
    // While nobody watches, nobody asks: what came meanwhile is of no second.
    let change = last.map(now.since).flatMap { $0.seconds < Self.longestGap ? $0 : nil }
    last = now
    let comes =
      change.map { $0.accessUnits > 0 || $0.soundUnits > 0 }
      ?? (CameraState(of: status, at: .now) == .playing)
    return Figures(
      state: Self.state(of: status, comes: comes), isUp: status.connection.isOpen && comes,
      numbers: [
        ("bits_per_s", change?.bitsPerSecond), ("pictures_per_s", change?.perSecond(\.accessUnits)),
        ("loss", (change?.lossPercentage ?? 0) / 100),
        ("jitter_s", reception?.jitterSeconds), ("lost", Double(reception?.lost ?? 0)),
        ("received", Double(reception?.received ?? 0)),
        ("reordered", Double(reception?.reordered ?? 0)),
        ("repaired", Double(reception?.repaired ?? 0)),
        ("damaged", Double(status.delivery.damagedAccessUnits)),
        ("reconnects", Double(status.connection.statistics.recoveries)),
      ],
      words: [
        ("codec", Self.codec(of: stream)), ("format", stream?.format?.summary),
        ("sound", stream?.sound?.sound?.format.map(Self.words)),
        ("transport", status.transport.carriage?.rawValue),
      ])
  }

  private static func state(of status: Receiver.Status, comes: Bool) -> String {
    let failure = status.connection.failure.map(Verdict.words)
    if case .waiting = status.connection.phase {
      return "\(failure ?? "the connection ended"); connecting again"
    }
    guard status.connection.isOpen else { return failure ?? "connecting" }
    if comes { return "receiving" }
    return status.transport.delivered == 0 ? "waiting for media" : "no media comes"
  }

  private static func codec(of stream: StreamStatus?) -> String? {
    guard case .receiving(let codec, _)? = stream?.phase else { return nil }
    return codec.encodingName
  }

  private static func words(for format: SoundFormat) -> String {
    "\(format.codec.name), \(format.sampleRate) Hz"
      + (format.channels > 1 ? ", \(format.channels) channels" : "")
  }
}
