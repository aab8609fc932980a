import Bitstream
import Decode
import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// The figures of a receiver, derived from its counters.
extension Receiver.Status {
  /// The figures at a moment; `clock` turns arrivals into Unix time.
  func readings(by clock: WallClock) -> [Reading] {
    connectionReadings + streamReadings(by: clock) + deliveryReadings(by: clock) + outputReadings
  }

  private var connectionReadings: [Reading] {
    let statistics = connection.statistics
    var readings = Tables.connection.readings(statistics)
    for kind in ConnectionFault.Kind.allCases {
      readings.append(
        Reading(.connectionFailures, count: statistics.failures[kind] ?? 0, "reason", kind.rawValue)
      )
    }
    readings += [
      Reading(.outages, seconds: statistics.withoutMedia / .seconds(1)),
      Reading(.datagrams, count: transport.delivered),
      Reading(.datagramBytes, count: transport.deliveredBytes),
    ]
    for (counter, count) in transport.own.sorted(by: { $0.key.name < $1.key.name }) {
      readings.append(counter.reading(count))
    }
    return readings
  }

  private func streamReadings(by clock: WallClock) -> [Reading] {
    guard let stream else { return [] }
    var readings = Self.readings(stream.reception, of: "video")
    readings.append(
      Reading(.jitter, now: stream.reception.jitterSeconds, "media", "video"))
    readings.append(Reading(.unrecognized, count: stream.unrecognizedDatagrams))
    if let time = stream.lastMedia {
      readings.append(Reading(.lastMedia, now: clock.time(of: time).seconds))
    }
    if let payload = stream.defragmentation {
      readings += Tables.payload.readings(payload, [Reading.Label("media", "video")])
    }
    if let sound = stream.sound {
      readings += Self.readings(sound.reception, of: "audio")
      readings.append(Reading(.jitter, now: sound.jitter, "media", "audio"))
      if let statistics = sound.sound?.statistics {
        readings += Tables.sound.readings(statistics, [Reading.Label("media", "audio")])
      }
    }
    readings.append(info(of: stream))
    return readings
  }

  private static func readings(_ reception: ReceptionStatistics, of media: String) -> [Reading] {
    let labels = [Reading.Label("media", media)]
    var readings =
      Tables.reception.readings(reception, labels)
      + Tables.repair.readings(reception.repair, labels)
      + Tables.correction.readings(reception.errorCorrection, labels)
    if let time = reception.repair.roundTrip {
      readings.append(Reading(.roundTrip, now: time / .seconds(1), "media", media))
    }
    return readings
  }

  /// What comes; of each there is one at a time.
  ///
  /// What is not known is empty: some backends want the same labels every time.
  private func info(of stream: StreamStatus) -> Reading {
    var codec = ""
    if case .receiving(let known, _) = stream.phase { codec = known.name }
    return Reading(
      family: .stream,
      labels: [
        .init("codec", codec),
        .init("width", stream.format.map { "\($0.width)" } ?? ""),
        .init("height", stream.format.map { "\($0.height)" } ?? ""),
        .init("sound", stream.sound?.sound?.format?.codec.name ?? ""),
        .init("transport", transport.carriage?.rawValue ?? ""),
        .init("encrypted", transport.srtp == nil ? "false" : "true"),
      ], value: .now(1))
  }

  private func deliveryReadings(by clock: WallClock) -> [Reading] {
    var readings = Tables.delivery.readings(delivery) + Tables.pictures.readings(delivery.pictures)
    for condition in RawFrame.Condition.allCases {
      readings.append(
        Reading(.frames, count: delivery.conditions[condition] ?? 0, "result", "\(condition)"))
    }
    for cause in PictureDamage.allCases {
      readings.append(
        Reading(.framesDamaged, count: delivery.damages[cause] ?? 0, "cause", cause.rawValue))
    }
    for kind in DecodeFailure.Kind.allCases {
      readings.append(
        Reading(.framesFailed, count: delivery.failures[kind] ?? 0, "reason", kind.rawValue))
    }
    readings += [
      Reading(.freezes, count: delivery.freezes.count),
      Reading(.frozen, seconds: delivery.freezes.seconds),
      Reading(.latency, seconds: delivery.latencySum / 1e9),
      Reading(.soundLength, seconds: delivery.soundSeconds),
      Reading(.decoderThreads, now: Double(delivery.decoderThreads)),
      Reading(.decoderLoad, now: delivery.decoderLoad),
      Reading(.decoderLimit, now: delivery.isDecoderAtLimit ? 1 : 0),
    ]
    if let interval = delivery.pictures.longestKeyInterval {
      readings.append(Reading(.longestKeyInterval, now: interval))
    }
    if let time = delivery.pictures.lastArrival {
      readings.append(Reading(.lastFrame, now: clock.time(of: time).seconds))
    }
    return readings
  }

  /// By format, because names of files have no end; outputs of one format are added up.
  private var outputReadings: [Reading] {
    var totals: [(format: String, status: OutputTotals)] = []
    for output in outputs {
      let index = totals.firstIndex { $0.format == output.format }
      if let index {
        totals[index].status.add(output)
      } else {
        totals.append((output.format, OutputTotals(output)))
      }
    }
    return totals.flatMap { format, total in
      let labels = [Reading.Label("output", format)]
      var readings = Tables.output.readings(total.counters, labels)
      readings += Tables.files.readings(total.files, labels)
      for reason in FileReason.allCases {
        readings.append(
          Reading(
            family: .segments, labels: labels + [.init("reason", reason.rawValue)],
            value: .count(total.files.ended[reason] ?? 0)))
      }
      readings += [
        Reading(family: .outputWaiting, labels: labels, value: .now(total.waiting)),
        Reading(family: .outputStall, labels: labels, value: .now(total.stall)),
      ]
      return readings + total.figures.compactMap { $0.reading(labels) }
    }
  }
}

/// The tables of counters.
private enum Tables {
  static let reception = CounterFamilies<ReceptionStatistics>()
  static let repair = CounterFamilies<RepairStatistics>()
  static let correction = CounterFamilies<ForwardErrorCorrectionStatistics>()
  static let payload = CounterFamilies<DefragmentStatistics>()
  static let sound = CounterFamilies<SoundStatistics>()
  static let delivery = CounterFamilies<DeliveryStatistics>()
  static let pictures = CounterFamilies<PictureStatistics>()
  static let output = CounterFamilies<OutputCounters>()
  static let files = CounterFamilies<FileStatistics>()
  static let connection = CounterFamilies<ReconnectionStatistics>()
}

/// The outputs of one format, together.
private struct OutputTotals {
  var counters: OutputCounters
  var files: FileStatistics
  var stall: Double
  var figures: [OutputFigure]

  init(_ output: OutputStatus) {
    counters = output.counters
    files = output.events.files
    stall = output.stall.map { $0 / .seconds(1) } ?? 0
    figures = output.figures
  }

  /// Those that have been given and are not dealt with.
  var waiting: Double {
    let done = counters.written &+ counters.dropped &+ counters.skipped &+ counters.discarded
    return counters.offered > done ? Double(counters.offered - done) : 0
  }

  mutating func add(_ output: OutputStatus) {
    counters.add(output.counters)
    files.merge(output.events.files)
    stall = max(stall, output.stall.map { $0 / .seconds(1) } ?? 0)
    figures = zip(figures, output.figures).map { own, other in
      OutputFigure(own.name, own.value &+ other.value, metric: own.metric, isTotal: own.isTotal)
    }
  }
}

extension Reading {
  init(_ family: MetricFamily, count: UInt64, _ label: String? = nil, _ value: String = "") {
    self.init(family, .count(count), label, value)
  }

  init(_ family: MetricFamily, seconds: Double, _ label: String? = nil, _ value: String = "") {
    self.init(family, .seconds(seconds), label, value)
  }

  init(_ family: MetricFamily, now: Double, _ label: String? = nil, _ value: String = "") {
    self.init(family, .now(now), label, value)
  }

  private init(_ family: MetricFamily, _ value: Value, _ label: String?, _ text: String) {
    self.init(family: family, labels: label.map { [Label($0, text)] } ?? [], value: value)
  }
}

extension WallClockTime {
  /// Unix time.
  var seconds: Double { Double(nanoseconds) / 1e9 }
}
