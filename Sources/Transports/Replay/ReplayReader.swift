internal import NIOCore
internal import RTPWire

/// Reads a recording on a thread that may block: surveys it, chooses a flow, and hands out its
/// packets one read at a time.
///
/// Only one call at a time may run, on any thread.
final class ReplayReader: @unchecked Sendable {
  /// The packets of one read, and the end of the file if it was reached.
  struct Batch: Sendable {
    var datagrams: [Datagram]
    /// Set on the last batch.
    var end: End?
    var diagnostics: [TransportDiagnostic] = []
    /// Whether the file, by its last batch, lacks something that came.
    var isIncomplete = false
  }

  enum End: Sendable {
    case ended
    case failed(any Error)
  }

  /// How many bytes of a file are searched for a flow that looks like video, and then for any flow.
  static let surveyLength = 8 << 20
  static let longSurveyLength = 64 << 20

  private let file: ReplayFile
  private let format: RecordingFormat
  private let wish: FlowSurvey.Wish
  private let said: SessionDescription?
  private var reader: any RecordingReader
  private var dissection = Dissection()
  private var choice: FlowChoice?
  private var hasEnded = false
  private var origins = FlowOrigins()

  /// Opens a file and recognizes its format; a pipe, where `mayBePipe`, can only be listed.
  ///
  /// - Throws: ``ReplayError``, or an error from reading.
  init(path: String, configuration: ReplayConfiguration, mayBePipe: Bool = false) throws {
    file = try ReplayFile(path: path, mayBePipe: mayBePipe)
    (wish, said) = (configuration.wish, configuration.description)
    guard file.beginning.readableBytes > 0 else { throw ReplayError.empty }
    if let framing = configuration.framing {
      format = RecordingFormat(framing)
    } else if let format = RecordingFormat(beginning: file.beginning, name: path) {
      self.format = format
    } else {
      throw ForeignContent(beginning: file.beginning).map { ReplayError.foreign($0) }
        ?? .unknownFormat
    }
    reader = format.makeReader()
  }

  // MARK: Survey

  /// Chooses the flow to play, and returns to the beginning of the file.
  ///
  /// - Returns: the recording's descriptions of its media; empty if there are none.
  /// - Throws: ``ReplayError``, or an error from reading.
  func survey() throws -> [MediaDescription] {
    let (survey, found, isCut) = try look { isEnough($0, $1) }
    guard let choice = FlowChoice(from: survey, for: wish, in: found) else {
      throw survey.missing(for: wish, in: found.statistics, isCut: isCut)
    }
    self.choice = choice
    remarks = [choice.remark(among: survey, for: wish)]
    file.rewind()
    return choice.descriptions
  }

  /// Searches the whole file for the flows that are wished for.
  ///
  /// - Throws: ``ReplayError``, or an error from reading.
  func listing() throws -> StreamListing {
    let (survey, found, isCut) = try look(keepingSamples: true) { _, _ in false }
    let listing = StreamListing(survey, in: found, for: wish)
    guard !listing.streams.isEmpty else {
      throw survey.missing(for: wish, in: found.statistics, isCut: isCut)
    }
    return listing
  }

  private func look(
    keepingSamples: Bool = false, until isEnough: (FlowSurvey, Int) -> Bool
  ) throws -> (FlowSurvey, Dissection, isCut: Bool) {
    file.rewind()
    var survey = FlowSurvey(keepsSamples: keepingSamples)
    var found = Dissection(said: said)
    var reader = format.makeReader()
    var length = 0
    do {
      while let bytes = try file.read() {
        length += bytes.readableBytes
        reader.append(bytes)
        while let recording = try reader.next() {
          found.receive(recording, { survey.observe($0) }, cut: { survey.noteCut($0) })
        }
        if isEnough(survey, length) { return (survey, found, isCut: false) }
      }
    } catch let damage as DamagedRecording {
      // A file damaged at its first record is not a recording.
      guard found.statistics.packets > 0 else { throw ReplayError.damaged("\(damage)") }
    }
    guard found.statistics.packets > 0 || reader.unfinished == 0 else {
      throw ReplayError.endsInHeader
    }
    found.finish { survey.observe($0) }
    return (survey, found, isCut: reader.unfinished > 0 || file.endsInsideMember)
  }

  /// Whether to stop searching; without a candidate the whole file is searched.
  private func isEnough(_ survey: FlowSurvey, _ length: Int) -> Bool {
    guard length >= Self.surveyLength else { return false }
    return survey.hasVideo(for: wish)
      || length >= Self.longSurveyLength && survey.hasCandidate(for: wish)
  }

  /// How the media that is played was carried, once that is chosen.
  var carriage: TransportCounters.Carriage? { choice?.carriage }

  /// What was chosen, and from how much, in words.
  private(set) var remarks: [TransportDiagnostic] = []

  // MARK: Playing

  /// The packets of the flow in the next read of the file; many reads in a row may have none.
  func nextBatch() -> Batch {
    var batch = Batch(datagrams: [])
    guard !hasEnded, let choice else { return Batch(datagrams: [], end: .ended) }
    do {
      guard let bytes = try file.read() else {
        dissection.finish { take($0, of: choice, into: &batch) }
        return end(&batch, with: .ended)
      }
      reader.append(bytes)
      while let recording = try reader.next() {
        dissection.receive(recording) { take($0, of: choice, into: &batch) }
      }
      return batch
    } catch let damage as DamagedRecording {
      dissection.finish { take($0, of: choice, into: &batch) }
      return end(&batch, with: .failed(ReplayError.damaged("\(damage)")))
    } catch {
      return end(&batch, with: .failed(error))
    }
  }

  private func end(_ batch: inout Batch, with end: End) -> Batch {
    hasEnded = true
    batch.end = end
    batch.diagnostics =
      dissection.statistics.losses + origins.order.remarks
      + reader.oddities.map { .warning("\($0)") }
    batch.isIncomplete = dissection.statistics.isIncomplete
    if case .ended = end, reader.unfinished > 0 || file.endsInsideMember {
      batch.diagnostics.append(
        .warning("the recording ends in the middle of a packet; what came before it was played"))
    }
    return batch
  }

  private func take(_ packet: CarriedPacket, of choice: FlowChoice, into batch: inout Batch) {
    let arrival = Instant(nanoseconds: packet.time)
    guard let datagram = origins.datagram(of: packet, in: choice, at: arrival) else { return }
    batch.datagrams.append(datagram)
  }
}
