import Bitstream
import BlockingIO
import Decode
import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// The receiver's status as JSON, for programs.
enum Statistics {
  /// All counters as one JSON object.
  static func line(
    of status: Receiver.Status, since former: IntervalCounters,
    elapsed: Duration, report: Receiver.Report?, expectations: ExpectationReport?
  ) -> JSONLine {
    var line = JSONLine()
    line.add("elapsed_s", elapsed.seconds)
    line.add("time", WallClock.system.time(of: .now).description)
    line.add("final", report != nil)
    if let report { line.add("end", report.reason.name) }
    line.add("transport", transport(status))
    line.add("connection", connection(status.connection))
    if let stream = status.stream {
      if case .receiving(let codec, let payloadType) = stream.phase {
        line.add("codec", codec.name)
        if let payloadType { line.add("payload_type", payloadType) }
      }
      if let format = stream.format { line.add("format", Self.format(format)) }
      line.add("rtp", reception(stream.reception, unrecognized: stream.unrecognizedDatagrams))
      line.add("tracks", stream.tracks.map(track))
      line.add("sound_aligned_by", stream.alignment.map { "\($0)" })
      if let statistics = stream.defragmentation {
        var object = JSONLine(countersOf: statistics)
        object.add("damaged_access_units", damages(statistics.damaged))
        line.add("payload", object)
      }
    }
    line.add("delivery", delivery(status.delivery))
    line.add("pictures", pictures(status.delivery.pictures))
    if let playout = status.playout { line.add("playout", Self.playout(playout)) }
    line.add("interval", IntervalCounters(status, at: elapsed).json(since: former))
    line.add(
      "outputs",
      status.outputs.enumerated().map { index, status in
        output(
          status, after: former.events(ofOutput: index),
          report: report.map { $0.outputs[index] })
      })
    if let expectations { line.add("expect", expectations.json) }
    return line
  }

  private static func playout(_ statistics: PlayoutClock.Statistics) -> JSONLine {
    var object = JSONLine()
    object.add("delay_ms", statistics.delay.seconds * 1000)
    object.add("drift_ppm", statistics.drift, digits: 1)
    object.add("late", statistics.late)
    object.add("restarts", statistics.restarts)
    return object
  }

  private static func track(_ track: TrackStatus) -> JSONLine {
    let reception = track.reception
    var object = JSONLine()
    object.add("kind", track.kind.rawValue)
    object.add("codec", track.codecName)
    object.add("payload_type", track.payloadType.map(Double.init), digits: 0)
    object.add("ssrc", track.ssrc.map(Double.init), digits: 0)
    object.add("chosen", track.isChosen)
    object.add("packets", reception.delivered)
    object.add("bytes", reception.receivedBytes)
    object.add("lost", reception.lost)
    object.add("loss_percent", reception.lossPercentage)
    object.add("late", reception.late)
    object.add("duplicate", reception.duplicate)
    object.add("jitter_ms", track.jitter * 1000)
    if let sound = track.sound { object.add("sound", Self.sound(sound)) }
    return object
  }

  private static func sound(_ sound: SoundStatus) -> JSONLine {
    var object = JSONLine(countersOf: sound.statistics)
    object.add("codec", sound.format?.codec.name)
    object.add("sample_rate", sound.format.map { Double($0.sampleRate) }, digits: 0)
    object.add("channels", sound.format.map { Double($0.channels) }, digits: 0)
    return object
  }

  private static func transport(_ status: Receiver.Status) -> JSONLine {
    let counters = status.transport
    var object = JSONLine()
    object.add("local_address", counters.localAddress)
    object.add("delivered", counters.delivered)
    object.add("delivered_bytes", counters.deliveredBytes)
    object.add("empty", counters.empty)
    object.add("delivery", counters.carriage?.rawValue)
    object.add(
      "diagnostics",
      counters.diagnostics.map { Remark($0.words, level: $0.isWarning ? .warning : .notice).text })
    // What this transport does not count is 0, so that the names are the same for all of them.
    let known = CommandLineTool.current.transports.counters
    let others = counters.own.keys.filter { !known.contains($0) }.sorted { $0.name < $1.name }
    let groups = Dictionary(grouping: known + others, by: \.group)
    for counter in groups[nil] ?? [] { object.add(counter.name, counters[counter]) }
    for (group, members) in groups.sorted(by: { $0.key ?? "" < $1.key ?? "" }) {
      guard let group else { continue }
      var nested = JSONLine()
      for counter in members { nested.add(counter.name, counters[counter]) }
      object.add(group, nested)
    }
    return object
  }

  private static func connection(_ status: ConnectionStatus) -> JSONLine {
    var object = JSONLine()
    let statistics = status.statistics
    object.add(countersOf: statistics)
    object.add("missed_s", statistics.withoutMedia.seconds)
    object.add(
      "gaps",
      statistics.outages.map { outage in
        var object = JSONLine()
        object.add("start_s", outage.start.seconds)
        object.add("start", outage.startTime.description)
        object.add("duration_s", outage.length.seconds)
        object.add("ended", outage.hasEnded)
        object.add("attempts", outage.attempts)
        object.add("reason", Verdict.words(for: outage.cause))
        return object
      })
    return object
  }

  private static func reception(_ reception: ReceptionStatistics, unrecognized: UInt64) -> JSONLine
  {
    var object = JSONLine()
    object.add(countersOf: reception)
    object.add("repaired", reception.repaired)
    object.add("loss_percent", reception.lossPercentage)
    object.add("loss_pattern", pattern(reception.lossPattern.settled))
    object.add("cumulative_lost", reception.cumulativeLost)
    object.add("unrecognized", unrecognized)
    object.add("jitter_ticks", reception.jitter, digits: 1)
    object.add("jitter_ms", reception.jitterSeconds * 1000)
    object.add("error_correction", JSONLine(countersOf: reception.errorCorrection))
    object.add("repair", repair(reception.repair))
    return object
  }

  private static func repair(_ statistics: RepairStatistics) -> JSONLine {
    var object = JSONLine()
    object.add(countersOf: statistics)
    object.add("round_trip_ms", statistics.roundTrip.map { $0 / .milliseconds(1) })
    return object
  }

  private static func pattern(_ pattern: LossPattern) -> JSONLine {
    var object = JSONLine()
    object.add("bursts", pattern.bursts)
    object.add("burst_density_percent", pattern.burstDensity)
    object.add("mean_burst_packets", pattern.meanBurst, digits: 1)
    object.add("mean_burst_ms", pattern.meanBurstDuration, digits: 1)
    object.add("greatest_burst_lost", pattern.greatestBurst)
    object.add("gap_density_percent", pattern.gapDensity)
    object.add("mean_gap_ms", pattern.meanGapDuration, digits: 1)
    return object
  }

  static func format(_ format: FormatDescription) -> JSONLine {
    var object = JSONLine()
    object.add("width", format.width)
    object.add("height", format.height)
    object.add("profile", format.profile)
    object.add("level", format.level)
    object.add("luma_bit_depth", format.lumaBitDepth)
    object.add("chroma_bit_depth", format.chromaBitDepth)
    object.add("chroma", "\(format.chroma)")
    object.add("frame_rate", format.frameRate?.value)
    return object
  }

  /// Every cause by its name.
  private static func damages(_ damages: [PictureDamage: UInt64]) -> JSONLine {
    var object = JSONLine()
    for cause in PictureDamage.allCases { object.add(cause.rawValue, damages[cause] ?? 0) }
    return object
  }

  private static func delivery(_ delivery: DeliveryStatistics) -> JSONLine {
    var object = JSONLine()
    object.add(countersOf: delivery)
    for condition in RawFrame.Condition.allCases {
      object.add("\(condition)", delivery.conditions[condition] ?? 0)
    }
    object.add("damage", damages(delivery.damages))
    object.add("freezes", delivery.freezes.count)
    object.add("frozen_s", delivery.freezes.seconds)
    object.add("longest_freeze_s", delivery.freezes.longest)
    object.add("latency_ms", delivery.latency / 1e6)
    object.add("greatest_latency_ms", Double(delivery.greatestLatency) / 1e6)
    object.add("decoder_threads", Double(delivery.decoderThreads), digits: 0)
    object.add("decoder_load", delivery.decoderLoad)
    var failures = JSONLine()
    for kind in DecodeFailure.Kind.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
      if let count = delivery.failures[kind] { failures.add(kind.rawValue, count) }
    }
    object.add("decode_failures", failures)
    return object
  }

  /// What `--expect` measures of the pictures.
  private static func pictures(_ pictures: PictureStatistics) -> JSONLine {
    var object = JSONLine(countersOf: pictures)
    object.add("sizes", pictures.sizes.map { "\($0.width)x\($0.height)" })
    object.add("duration_s", pictures.duration)
    object.add("frames_per_s", pictures.rate)
    object.add("bits_per_s", pictures.bitRate, digits: 0)
    object.add("longest_gap_s", pictures.longestGap)
    object.add("longest_key_interval_s", pictures.longestKeyInterval)
    object.add("first_picture_s", pictures.firstPicture?.seconds)
    return object
  }

  /// A complete file of a recording.
  private static func segment(_ file: RecordedFile) -> JSONLine {
    var object = JSONLine()
    object.add("path", file.path)
    object.add("start", file.start.description)
    object.add("duration_s", file.ending.duration)
    object.add(file.ending.isSoundOnly ? "pieces" : "frames", file.ending.frames)
    object.add("left_out", file.ending.leftOut)
    object.add("bytes", file.bytes)
    object.add("reason", file.ending.reason.rawValue)
    return object
  }

  /// An output, with what happened to its files after the first `events` events.
  private static func output(
    _ status: OutputStatus, after events: Int, report: OutputReport?
  ) -> JSONLine {
    var object = JSONLine()
    object.add("name", status.name)
    object.add(countersOf: status.counters)
    for figure in status.figures { object.add(figure.name, figure.value) }
    let files = status.events.after(events).compactMap { event in
      if case .fileEnded(let file) = event { segment(file) } else { nil }
    }
    if !files.isEmpty { object.add("segments", files) }
    if let change = status.events.soundChange {
      var sound = JSONLine()
      sound.add("from", change.from)
      sound.add("to", change.to)
      object.add("sound", sound)
    }
    if let report {
      object.add("files", report.files.last)
      object.add("file_count", report.files.count)
      object.add("error", report.error?.name)
    }
    return object
  }
}
