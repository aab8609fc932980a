import Bitstream
import BlockingIO
import Defragment
import Glibc
import NIOCore
import RTPWire

/// Decodes in a process of its own (``DecoderBox``), which is replaced when it fails; used by one
/// thread.
///
/// While it starts, this thread waits, and access units wait before it. Those that a process had
/// when it failed are lost, and so is what comes up to the next key picture.
final class BoxedDecoder: UnitDecoding {
  /// The access units that a process may keep: more than libavcodec's threads and the order of
  /// output can.
  private static let mostInside = 128

  private let box: DecoderBox
  private let configuration: VideoDecoder.Configuration
  private let gauge: DecoderGauge
  private let onFrame: @Sendable (RawFrame) -> Void
  private let onFailure: @Sendable (DecodeFailure) -> Void
  private let onEvent: @Sendable (DecoderBoxEvent) -> Void
  private let pool = FramePool()
  private var codec: VideoCodec
  /// For a process that begins in the middle of the stream: none that has ended another one.
  private var sets = LatestSets()
  /// Whether the last process that was to take them did not answer.
  private var wasSilentAtSets = false
  private var process: BoxProcess?
  private var session: BoxSession?
  private var pause: RestartPause
  private var hasSaidWhatIsMissing = false
  /// What decodes where there can be no other process.
  private var substitute: DecoderSuccession?
  private var isOver = false
  private var hasTriedAgain = false
  private var number: Int64 = 0
  /// Whether a process has had anything of a stream, which may be what ends it.
  private var hasGivenMedia = false
  /// What a process has that has no frame and no failure yet.
  private var inside: [Int64: UnitRecord] = [:]

  init(
    codec: VideoCodec, configuration: VideoDecoder.Configuration, box: DecoderBox,
    prepared: PreparedDecoderBox?, gauge: DecoderGauge,
    onFrame: @escaping @Sendable (RawFrame) -> Void,
    onFailure: @escaping @Sendable (DecodeFailure) -> Void,
    onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void
  ) {
    self.codec = codec
    self.configuration = configuration
    self.box = box
    pause = RestartPause(least: box.restartPause)
    self.gauge = gauge
    self.onFrame = onFrame
    self.onFailure = onFailure
    self.onEvent = onEvent
    process = prepared?.take()
    if process != nil { pause.noteStart(at: .now) }
  }

  func decode(_ unit: AccessUnit) {
    if unit.codec != codec {
      codec = unit.codec
      sets = LatestSets()
    }
    // A process that died in between is replaced before it gets the unit.
    for _ in 0..<2 {
      guard let session = openSession() else { break }
      do throws(BoxFault) {
        try giving { () throws(BoxFault) in try session.begin(unit, number: number + 1) }
      } catch {
        lose(error)
        continue
      }
      number += 1
      inside[number] = UnitRecord(unit, condition: .intact)
      if takeReports(of: session) { sets.take(unit) }
      return
    }
    if let substitute { return substitute.decode(unit) }
    // No process has had them.
    sets.take(unit)
    fail(unit, .decoderLost)
  }

  func flush() {
    if let substitute { return substitute.flush() }
    guard let session else { return }
    do throws(BoxFault) {
      try session.beginFlush()
    } catch { return lose(error) }
    takeReports(of: session)
  }

  func close() {
    if let substitute { return substitute.close() }
    failAll(.closed)
    process?.end()
    (process, session) = (nil, nil)
  }

  func fail(_ unit: AccessUnit, _ reason: DecodeFailure.Reason) {
    onFailure(UnitRecord(unit, condition: .damaged).failure(reason))
  }

  // MARK: - Reports

  /// Takes what the process says of what it was given last.
  ///
  /// - Returns: whether it has survived that.
  @discardableResult
  private func takeReports(of session: BoxSession) -> Bool {
    do throws(BoxFault) {
      let (threads, permille) = try session.reports { report throws(BoxFault) in
        try take(report, of: session)
      }
      gauge.note(threads: threads)
      gauge.note(share: Double(permille) / 1000, at: .now)
      guard inside.count <= Self.mostInside else { throw .breach("it keeps what it was given") }
      return true
    } catch {
      lose(error)
      return false
    }
  }

  private func take(_ report: BoxReport, of session: BoxSession) throws(BoxFault) {
    switch report {
    case .frame(let frame):
      var record = try record(of: frame.units)
      record.condition = frame.condition
      record.damage = frame.damage
      record.origin?.decodingTime = frame.decodingTime
      let raw = try session.frame(frame, of: record)
      forget(frame.units)
      pause.noteFrame()
      onFrame(raw)
    case .failure(let units, let reason):
      let record = try record(of: units)
      forget(units)
      onFailure(record.failure(reason.reason(codec: codec)))
    default: break
    }
  }

  /// What is known of the access unit that is done, or of those of both its fields.
  private func record(of units: ClosedRange<Int64>) throws(BoxFault) -> UnitRecord {
    guard var record = inside[units.lowerBound] else {
      throw .breach("a frame belongs to nothing that was given")
    }
    guard units.count > 1 else { return record }
    guard let second = inside[units.upperBound] else {
      throw .breach("a field belongs to nothing that was given")
    }
    record.complete(with: second)
    return record
  }

  private func forget(_ units: ClosedRange<Int64>) {
    inside[units.lowerBound] = nil
    inside[units.upperBound] = nil
  }

  // MARK: - Processes

  /// What decodes, which is started and opened if need be; `nil` if nothing can for now.
  private func openSession() -> BoxSession? {
    if let session { return session }
    guard !isOver, substitute == nil else { return nil }
    do throws(BoxFault) {
      guard let process = try startedProcess() else { return nil }
      let opened = try BoxSession(
        over: process.channel, of: box, codec: codec, configuration: configuration, pool: pool
      ) { walls throws(BoxFault) in try check(walls) }
      try repeatSets(to: opened)
      session = opened
      return opened
    } catch {
      guard mayTryAgain(after: error) else {
        failedToStart(error)
        return nil
      }
      return openSession()
    }
  }

  /// Hands over the parameter sets that came so far.
  private func repeatSets(to session: BoxSession) throws(BoxFault) {
    let known = sets.all
    guard !known.isEmpty else { return }
    do throws(BoxFault) {
      try giving { () throws(BoxFault) in try session.take(parameterSets: known) }
      _ = try session.reports { _ throws(BoxFault) in }
    } catch {
      switch error {
      case .notStarted: break
      // It may have had no time; twice in a row it is them.
      case .silent where !wasSilentAtSets: wasSilentAtSets = true
      // They would end each process that takes its place.
      case .silent, .ended, .breach, .refused:
        sets = LatestSets()
        wasSilentAtSets = false
      }
      throw error
    }
    wasSilentAtSets = false
  }

  /// Does `body`, which gives something of the stream to a process.
  private func giving(_ body: () throws(BoxFault) -> Void) throws(BoxFault) {
    do throws(BoxFault) {
      try body()
    } catch {
      // What there was no memory for was given to nobody.
      if case .notStarted = error {} else { hasGivenMedia = true }
      throw error
    }
    hasGivenMedia = true
  }

  /// Whether the first process may have been ended by chance, by somebody who was short of memory:
  /// what cannot be started fails twice.
  private func mayTryAgain(after fault: BoxFault) -> Bool {
    guard fault == .ended, !hasGivenMedia, !hasTriedAgain else { return false }
    hasTriedAgain = true
    process?.end()
    process = nil
    pause = RestartPause(least: box.restartPause)
    return true
  }

  private func startedProcess() throws(BoxFault) -> BoxProcess? {
    if let process { return process }
    guard pause.isOver(at: .now) else { return nil }
    pause.noteStart(at: .now)
    process = try BoxProcess(box.executable)
    return process
  }

  private func check(_ walls: BoxWalls) throws(BoxFault) {
    guard let lack = walls.lack else { return }
    if box.isRequired { throw .refused(.noBox(reason: lack)) }
    if !hasSaidWhatIsMissing { onEvent(.incomplete(reason: lack)) }
    hasSaidWhatIsMissing = true
  }

  private func failedToStart(_ fault: BoxFault) {
    let status = process?.end() ?? 0
    process = nil
    // Whoever has decoded in a box does not go on without one.
    guard !hasGivenMedia else {
      pause.noteLoss()
      return onEvent(.lost(cause: fault.words(status: status)))
    }
    switch fault {
    case .refused(let error):
      if case .noBox(let reason) = error, !box.isRequired { return substitute(reason) }
      isOver = true
      onEvent(.failed(error))
    case .silent:
      // It may have no time, and whoever takes the machine's time must not get the decoder out of
      // its box: another one is tried later.
      pause.noteLoss()
      onEvent(.lost(cause: fault.words(status: status)))
    default:
      let words = fault.words(status: status)
      guard box.isRequired else { return substitute("the decoder's process: \(words)") }
      isOver = true
      onEvent(.failed(.noBox(reason: "the decoder's process: \(words)")))
    }
  }

  /// Decodes in this process from now on.
  private func substitute(_ reason: String) {
    do throws(DecoderError) {
      try FFmpegLibraries.loadDecoding()
      substitute = try DecoderSuccession(
        codec: codec, configuration: configuration, gauge: gauge, onFrame: onFrame,
        onFailure: onFailure)
      onEvent(.absent(reason: reason))
    } catch {
      isOver = true
      onEvent(.failed(error))
    }
  }

  /// Ends the process, and what it had is lost.
  ///
  /// Another one starts at once unless the last ones came to nothing.
  private func lose(_ fault: BoxFault) {
    let status = process?.end() ?? 0
    (process, session) = (nil, nil)
    pause.noteLoss()
    failAll(.decoderLost)
    onEvent(.lost(cause: fault.words(status: status)))
    process = (try? startedProcess()) ?? nil
  }

  private func failAll(_ reason: DecodeFailure.Reason) {
    for (_, record) in inside.sorted(by: { $0.key < $1.key }) { onFailure(record.failure(reason)) }
    inside = [:]
  }
}
