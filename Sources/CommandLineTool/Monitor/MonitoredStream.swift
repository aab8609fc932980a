import Bitstream
import BlockingIO
import Decode
import Defragment
import Glibc
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Synchronization
import Telemetry
import Transports

/// What the monitor knows of one stream, over all its runs.
final class MonitoredStream: Sendable {
  let name: String
  private let state = Mutex(State())
  private let ended: @Sendable () -> Void

  private struct State: Sendable {
    var source = ""
    var decodes = false
    var status: Receiver.Status?
    var elapsed = Duration.zero
    var history = MonitorHistory()
    var tally = UnitTally()
    var events: [MonitorModel.Event] = []
  }

  /// The latest matter most.
  private static let mostEvents = 200

  /// Knows nothing yet; `ended` is called when a run is over, before anything is said of that.
  init(_ name: String, ended: @escaping @Sendable () -> Void = {}) {
    (self.name, self.ended) = (name, ended)
  }

  /// Notes that a run of `source` begins.
  func begin(_ source: String, decodes: Bool) {
    state.withLock { state in
      (state.source, state.decodes) = (source, decodes)
      state.status = nil
      state.tally = UnitTally()
    }
  }

  /// Counts a unit, on the event loop.
  func take(_ unit: AccessUnit) { state.withLock { $0.tally.note(unit) } }

  /// Notes where the run stands.
  func note(_ status: Receiver.Status, at elapsed: Duration) {
    state.withLock { state in
      state.status = status
      state.elapsed = elapsed
      state.history.note(status, at: elapsed)
    }
  }

  /// Notes something that was said.
  func note(_ remark: Remark) {
    let event = MonitorModel.Event(remark, at: Self.time)
    state.withLock { state in
      if state.events.count >= Self.mostEvents { state.events.removeFirst() }
      state.events.append(event)
    }
  }

  /// Notes that a run is over.
  func end() {
    state.withLock { $0.status = nil }
    ended()
  }

  /// What there is to show.
  var model: MonitorModel {
    let state = state.withLock(\.self)
    var model = MonitorModel()
    model.name = name.isEmpty ? state.source : name
    model.events = state.events
    guard let status = state.status else {
      model.stateWords = "not running"
      return model
    }
    let last = state.history.samples.last ?? MonitorHistory.Sample()
    model.state = CameraState(of: status, at: .now)
    // The times of a recording are not of today.
    if model.state == .waiting, last.change.bytes > 0 { model.state = .playing }
    model.stateWords = Self.words(for: model.state, status.connection.phase)
    model.elapsed = state.elapsed.seconds
    model.contents = Self.contents(status)
    model.bitsPerSecond = last.change.bitsPerSecond
    model.picturesPerSecond = last.change.perSecond(Self.pictures(decodes: state.decodes))
    (model.lossPercentage, model.jitter) = (last.change.lossPercentage, last.jitter)
    model.lost = status.stream?.reception.lost ?? 0
    model.harm = Self.words(forHarm: state.history.harm(within: 10))
    model.graphs = Self.graphs(state.history, state.tally, decodes: state.decodes)
    model.facts = Self.facts(status, state.tally)
    return model
  }

  /// What counts as a picture: a frame or, where nothing is decoded, an access unit.
  private static func pictures(decodes: Bool) -> KeyPath<StreamTotals, UInt64> {
    decodes ? \.frames : \.accessUnits
  }

  // MARK: - Words

  private static func words(for state: CameraState, _ phase: ConnectionStatus.Phase) -> String {
    switch (state, phase) {
    case (.reconnecting, .waiting(let time)):
      "reconnecting in \(max(0, time.seconds).rounded(.up).formatted(digits: 0)) s"
    case (.waiting, _): "waiting for media"
    default: state.rawValue
    }
  }

  private static func words(
    forHarm harm: (lost: UInt64, damaged: UInt64, dropped: UInt64)
  ) -> String {
    [(harm.lost, "lost"), (harm.damaged, "damaged"), (harm.dropped, "dropped")]
      .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }

  private static func contents(_ status: Receiver.Status) -> String {
    var parts: [String] = []
    if let stream = status.stream {
      if case .receiving(let codec, _) = stream.phase { parts.append(codec.encodingName) }
      if let format = stream.format { parts.append(format.summary) }
      if let sound = stream.sound?.sound?.format {
        parts.append("\(sound.codec.name) \(sound.sampleRate) Hz")
      }
    }
    if let way = status.transport.carriage { parts.append("over \(way.rawValue)") }
    if status.transport.srtp != nil { parts.append("encrypted") }
    return parts.joined(separator: ", ")
  }

  private static func graphs(
    _ history: MonitorHistory, _ tally: UnitTally, decodes: Bool
  ) -> [MonitorModel.Graph] {
    let samples = history.samples
    let last = samples.last ?? MonitorHistory.Sample()
    let pictures = pictures(decodes: decodes)
    var graphs = [
      MonitorModel.Graph(
        label: "rate", value: rate(last.change.bitsPerSecond),
        samples: samples.map(\.change.bitsPerSecond)),
      // A thousandth is at half height, so that little loss is not drawn like much.
      MonitorModel.Graph(
        label: "loss", value: "\(last.change.lossPercentage.formatted(digits: 2)) %",
        samples: samples.map(\.change.lossPercentage), top: 1,
        tone: last.change.lost > 0 ? .bad : .plain),
      MonitorModel.Graph(
        label: "jitter", value: "\(last.jitter.formatted(digits: 1)) ms",
        samples: samples.map(\.jitter), top: 5),
      MonitorModel.Graph(
        label: decodes ? "frames" : "units",
        value: "\(last.change.perSecond(pictures).formatted(digits: 1))/s",
        samples: samples.map { $0.change.perSecond(pictures) }),
    ]
    if decodes {
      graphs.append(
        MonitorModel.Graph(
          label: "latency", value: "\(last.latency.formatted(digits: 1)) ms",
          samples: samples.map(\.latency), top: 5))
    }
    if let size = tally.sizes.last {
      graphs.append(
        MonitorModel.Graph(
          label: "sizes", value: "\((size / 1000).formatted(digits: 1)) kB", samples: tally.sizes))
    }
    return graphs
  }

  private static func facts(
    _ status: Receiver.Status, _ tally: UnitTally
  ) -> [MonitorModel.Fact] {
    var facts: [MonitorModel.Fact] = []
    if let reception = status.stream?.reception {
      let parts =
        ["\(reception.received) received", "\(reception.lost) lost"]
        + [
          (reception.reordered, "reordered"), (reception.duplicate, "duplicate"),
          (reception.late, "late"), (reception.repaired, "repaired"),
          (status.transport.lostLocally, "dropped by this machine"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
      facts.append(.init(label: "packets", words: parts.joined(separator: ", ")))
    }
    let kinds = UnitTally.PictureKind.allCases.compactMap { kind in
      tally.pictures[kind].map { pictures in
        let mean = Double(pictures.bytes) / Double(pictures.count) / 1000
        return "\(pictures.count) \(kind.rawValue) (\(mean.formatted(digits: 1)) kB)"
      }
    }
    if !kinds.isEmpty {
      facts.append(.init(label: "pictures", words: kinds.joined(separator: ", ")))
    }
    let types = tally.types.sorted { $0.name < $1.name }.map { "\($0.name) \($0.count)" }
    if !types.isEmpty {
      facts.append(.init(label: "NAL units", words: types.joined(separator: "  ")))
    }
    let delivery = status.delivery
    if delivery.decoderThreads > 0 {
      let isBusy = delivery.isDecoderAtLimit || delivery.droppedBeforeDecoder > 0
      var words =
        "\(UInt64(delivery.decoderThreads).counted("thread")), "
        + "\((delivery.decoderLoad * 100).formatted(digits: 0)) % busy, "
        + "\(delivery.notAsSent) of \(delivery.frames) frames not intact"
      if delivery.droppedBeforeDecoder > 0 {
        words += ", \(delivery.droppedBeforeDecoder) left out"
      }
      facts.append(.init(label: "decoder", words: words, tone: isBusy ? .warning : .plain))
    }
    let connection = status.connection.statistics
    if connection.attempts > 0 {
      facts.append(
        .init(
          label: "outages",
          words: "reconnected \(connection.recoveries.times), "
            + "\(connection.withoutMedia.seconds.formatted(digits: 1)) s missed"))
    }
    for output in status.outputs { facts.append(fact(of: output)) }
    return facts
  }

  private static func fact(of output: OutputStatus) -> MonitorModel.Fact {
    let counters = output.counters
    let name = output.name.shownPath
    var words = "\(name): \((Double(counters.bytes) / 1e6).formatted(digits: 1)) MB written"
    if counters.dropped > 0 { words += ", \(counters.dropped) dropped" }
    if let stall = output.stall {
      words += ", the disk has stalled for \(stall.seconds.formatted(digits: 0)) s"
    }
    if output.hasFailed { words += ", failed" }
    return MonitorModel.Fact(
      label: "output", words: words,
      tone: output.hasFailed
        ? .bad : output.stall != nil || counters.dropped > 0 ? .warning : .plain)
  }

  /// Bits a second, in words.
  static func rate(_ bits: Double) -> String {
    bits < 1e6
      ? "\((bits / 1e3).formatted(digits: 0)) kbit/s"
      : "\((bits / 1e6).formatted(digits: 2)) Mbit/s"
  }

  /// The time of day.
  static var time: String {
    var seconds = Glibc.time(nil)
    var parts = unsafe tm()
    unsafe localtime_r(&seconds, &parts)
    return unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
      .map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
  }
}

extension MonitorModel.Event {
  init(_ remark: Remark, at time: String) {
    let tone: Tone =
      switch remark.level {
      case .error: .bad
      case .warning: .warning
      case .notice: .plain
      }
    self.init(time: time, words: remark.text, tone: tone)
  }
}
