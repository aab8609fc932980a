import Bitstream
import Decode
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// The live line of a terminal.
extension Summary {
  /// Its fields; `outputs` are those that were asked for, and `decodes` says whether frames come
  /// out.
  static func live(
    _ status: Receiver.Status, rates: Rates, outputs: [OutputRequest], decodes: Bool,
    hints: SourceHints
  ) -> [LiveField] {
    if case .waiting(let rest) = status.connection.phase {
      let seconds = max(0, rest.seconds).rounded(.up).formatted(digits: 0)
      return [LiveField(text: "reconnecting in \(seconds) s", importance: 0, tone: .warning)]
    }
    guard let stream = status.stream, stream.reception.delivered > 0 else {
      if let sound = status.stream?.sound, status.delivery.soundUnits > 0 {
        return live(sound, status.delivery)
      }
      let deed = hints.first(.waiting, status).map { "; \($0)" } ?? ""
      return [LiveField(text: "waiting for media" + deed, importance: 0)]
    }
    if let sound = stream.sound, !outputs.isEmpty,
      outputs.allSatisfy({ $0.format.inputs == .sound })
    {
      return live(sound, status.delivery)
    }
    let reception = stream.reception
    return progress(of: stream, status.delivery, rates, decodes: decodes)
      // Frames are many bytes, which nobody asks about.
      + (decodes ? [] : written(by: status.outputs))
      + [lost(in: reception, tone: rates.change.lost > 0 ? .bad : .plain)]
      + damage(in: status.delivery, rates)
      + lag(of: status.delivery)
      + [
        LiveField(text: "reordered \(reception.reordered)", importance: 1),
        jitter(reception.jitterSeconds),
      ]
      + (decodes ? [latency(of: status.delivery)] : [])
  }

  /// The same for sound by itself.
  private static func live(_ sound: TrackStatus, _ delivery: DeliveryStatistics) -> [LiveField] {
    [
      LiveField(text: words(for: sound.sound?.format), importance: 3),
      LiveField(text: "\(delivery.soundSeconds.formatted(digits: 0)) s", importance: 8),
      lost(in: sound.reception),
      jitter(sound.jitter),
    ]
  }

  /// What has come, and how fast it does.
  private static func progress(
    of stream: StreamStatus, _ delivery: DeliveryStatistics, _ rates: Rates, decodes: Bool
  ) -> [LiveField] {
    func rate(_ count: KeyPath<StreamTotals, UInt64>) -> String {
      rates.change.perSecond(count).formatted(digits: 1)
    }
    var fields = [LiveField(text: rates.clock, importance: 5)]
    if let format = stream.format {
      fields.append(LiveField(text: "\(format.width)x\(format.height)", importance: 3))
    }
    let megabits = (rates.change.bitsPerSecond / 1e6).formatted(digits: 2)
    return fields + [
      LiveField(
        text: decodes
          ? delivery.frames.counted("frame") : delivery.accessUnits.counted("access unit"),
        importance: 8),
      LiveField(
        text: decodes ? "\(rate(\.frames)) fps" : "\(rate(\.accessUnits))/s", importance: 6),
      LiveField(text: "\(megabits) Mbit/s", importance: 4),
    ]
  }

  private static func written(by outputs: [OutputStatus]) -> [LiveField] {
    let bytes = outputs.reduce(0) { $0 + $1.counters.bytes }
    guard bytes > 0 else { return [] }
    let size = (Double(bytes) / 1e6).formatted(digits: 1)
    return [LiveField(text: "\(size) MB written", importance: 5)]
  }

  private static func lost(
    in reception: ReceptionStatistics, tone: LiveField.Tone = .plain
  ) -> LiveField {
    LiveField(
      text: "lost \(reception.lost) (\(reception.lossPercentage.formatted(digits: 2)) %)",
      importance: 9, tone: tone)
  }

  private static func damage(in delivery: DeliveryStatistics, _ rates: Rates) -> [LiveField] {
    guard delivery.notAsSent > 0 else { return [] }
    return [
      LiveField(
        text: "\(delivery.notAsSent) not intact", importance: 10,
        tone: rates.change.damaged > 0 ? .bad : .plain)
    ]
  }

  /// Whether the decoder keeps up; empty if it does.
  private static func lag(of delivery: DeliveryStatistics) -> [LiveField] {
    if delivery.droppedBeforeDecoder > 0 {
      return [
        LiveField(
          text: "decoder too slow: \(delivery.droppedBeforeDecoder) left out", importance: 11,
          tone: .warning)
      ]
    }
    guard delivery.isDecoderAtLimit else { return [] }
    return [LiveField(text: "decoder at its limit", importance: 11, tone: .warning)]
  }

  private static func jitter(_ seconds: Double) -> LiveField {
    LiveField(text: "jitter \((seconds * 1000).formatted(digits: 1)) ms", importance: 2)
  }

  private static func latency(of delivery: DeliveryStatistics) -> LiveField {
    LiveField(text: "latency \((delivery.latency / 1e6).formatted(digits: 1)) ms", importance: 7)
  }
}
