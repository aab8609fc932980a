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
  private struct Sample: Sendable {
    var time: Duration
    var bytes: UInt64
    var units: UInt64
    var damaged: UInt64
    var delivered: UInt64
    var lost: UInt64
    var sound: UInt64
  }

  private var last: Sample?
  /// What was looked at longer ago is no former look.
  private static let longestGap = Duration.seconds(4)

  /// What `status` shows at `time` since the run began.
  mutating func figures(of status: Receiver.Status, at time: Duration) -> Figures {
    let stream = status.stream
    let reception = stream?.reception
    let now = Sample(
      time: time, bytes: status.transport.deliveredBytes, units: status.delivery.accessUnits,
      damaged: status.delivery.damagedAccessUnits, delivered: reception?.delivered ?? 0,
      lost: reception?.lost ?? 0, sound: status.delivery.soundUnits)
    // While nobody watches, nobody asks: what came meanwhile is of no second.
    let former = last.flatMap { now.time - $0.time < Self.longestGap ? $0 : nil }
    last = now
    func gain(_ count: KeyPath<Sample, UInt64>) -> Double {
      max(0, Double(now[keyPath: count]) - Double((former ?? now)[keyPath: count]))
    }
    func rate(_ count: KeyPath<Sample, UInt64>) -> Double? {
      let seconds = former.map { (now.time - $0.time).seconds } ?? 0
      return seconds > 0 ? gain(count) / seconds : nil
    }
    let (lost, delivered) = (gain(\.lost), gain(\.delivered))
    let comes =
      former.map { now.units != $0.units || now.sound != $0.sound }
      ?? (CameraState(of: status, at: .now) == .playing)
    return Figures(
      state: Self.state(of: status, comes: comes), isUp: status.connection.isOpen && comes,
      numbers: [
        ("bits_per_s", rate(\.bytes).map { $0 * 8 }), ("pictures_per_s", rate(\.units)),
        ("loss", lost == 0 ? 0 : lost / (lost + delivered)),
        ("jitter_s", reception?.jitterSeconds), ("lost", Double(now.lost)),
        ("received", Double(reception?.received ?? 0)),
        ("reordered", Double(reception?.reordered ?? 0)),
        ("repaired", Double(reception?.repaired ?? 0)), ("damaged", Double(now.damaged)),
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
