internal import NIOCore
internal import RTPWire

/// Reads a recording on a thread that may block: surveys it, chooses a flow, and hands out its
/// packets a read at a time.
///
/// One call at a time: each is begun when the one before has ended, whatever the thread.
final class ReplayReader: @unchecked Sendable {
  /// Packets of one read of the file, and what is known at its end.
  struct Batch: Sendable {
    var datagrams: [Datagram]
    /// Set with the last batch.
    var end: End?
    var diagnostics: [String] = []
  }

  enum End: Sendable {
    case ended
    case failed(any Error)
  }

  /// Bytes of a file in which a flow that looks like video is looked for, and then any flow.
  static let surveyLength = 8 << 20
  static let longSurveyLength = 64 << 20

  private let file: RecordingFile
  private let format: RecordingFormat
  private let wish: FlowSurvey.Wish
  private var reader: any RecordingReader
  private var dissection = Dissection()
  private var choice: FlowChoice?
  private var hasEnded = false
  private var origins = FlowOrigins()

  /// Opens a file and tells its format.
  ///
  /// - Throws: ``ReplayError``, or what reading fails with.
  init(path: String, configuration: ReplayConfiguration) throws {
    file = try RecordingFile(path: path)
    wish = configuration.wish
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

  /// Looks for the flow to play, and goes back to the beginning.
  ///
  /// - Returns: what the recording says about its media; empty where it says nothing.
  /// - Throws: ``ReplayError``, or what reading fails with.
  func survey() throws -> [MediaDescription] {
    let (survey, found) = try look { isEnough($0, $1) }
    guard let choice = FlowChoice(from: survey, for: wish, in: found) else {
      throw survey.missing(for: wish, in: found.statistics)
    }
    self.choice = choice
    remarks = [choice.remark(among: survey)]
    file.rewind()
    return choice.descriptions
  }

  /// Looks through the whole file for every flow there is.
  ///
  /// - Throws: ``ReplayError``, or what reading fails with.
  func listing() throws -> StreamListing {
    let (survey, found) = try look(keepingSamples: true) { _, _ in false }
    guard !survey.confirmed(atMost: 1).isEmpty else {
      throw survey.missing(for: FlowSurvey.Wish(), in: found.statistics)
    }
    return StreamListing(survey, in: found)
  }

  private func look(
    keepingSamples: Bool = false, until isEnough: (FlowSurvey, Int) -> Bool
  ) throws -> (FlowSurvey, Dissection) {
    file.rewind()
    var survey = FlowSurvey(keepsSamples: keepingSamples)
    var found = Dissection()
    var reader = format.makeReader()
    var length = 0
    do {
      while let bytes = try file.read() {
        length += bytes.readableBytes
        reader.append(bytes)
        while let recording = try reader.next() {
          found.receive(recording) { survey.observe($0) }
        }
        if isEnough(survey, length) { return (survey, found) }
      }
    } catch let damage as DamagedRecording {
      // What is damaged at its first record is no recording at all.
      guard found.statistics.packets > 0 else { throw ReplayError.damaged("\(damage)") }
    }
    guard found.statistics.packets > 0 || reader.unfinished == 0 else {
      throw ReplayError.endsInHeader
    }
    found.finish { survey.observe($0) }
    return (survey, found)
  }

  /// Without any candidate the whole file is looked through.
  private func isEnough(_ survey: FlowSurvey, _ length: Int) -> Bool {
    guard length >= Self.surveyLength else { return false }
    return survey.hasVideo(for: wish)
      || length >= Self.longSurveyLength && survey.hasCandidate(for: wish)
  }

  /// How the media that is played was carried, once that is chosen.
  var delivery: String? { choice?.delivery }

  /// What was chosen, and from how much, in words.
  private(set) var remarks: [String] = []

  // MARK: Playing

  /// The packets of the flow in the next read of the file; none for many reads in a row is
  /// possible.
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
    batch.diagnostics = dissection.statistics.losses + reader.oddities.map { "warning: \($0)" }
    if case .ended = end, reader.unfinished > 0 || file.endsInsideMember {
      batch.diagnostics.append(
        "warning: the recording ends in the middle of a packet; what came before it was played")
    }
    return batch
  }

  private func take(_ packet: CarriedPacket, of choice: FlowChoice, into batch: inout Batch) {
    let arrival = Instant(nanoseconds: packet.time)
    guard let datagram = origins.datagram(of: packet, in: choice, at: arrival) else { return }
    batch.datagrams.append(datagram)
  }
}
