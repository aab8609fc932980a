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
  /// Flows that are listed where the one asked for is not there.
  static let maximumListed = 10

  private let file: RecordingFile
  private let format: RecordingFormat
  private let wish: FlowSurvey.Wish
  private var reader: any RecordingReader
  private var dissection = Dissection()
  private var choice: FlowChoice?
  private var hasEnded = false
  /// The sender's address, made once for many packets.
  private var origin: (endpoint: IPEndpoint, address: SocketAddress?)?

  /// Opens a file and tells its format.
  ///
  /// - Throws: ``TransportError/fileUnreadable(path:reason:)`` or ``ReplayError``.
  init(path: String, configuration: ReplayConfiguration) throws {
    file = try RecordingFile(path: path)
    wish = configuration.wish
    if let framing = configuration.framing {
      format = RecordingFormat(framing)
    } else {
      let beginning = try file.read(atMost: RecordingFormat.signatureLength) ?? ByteBuffer()
      guard let format = RecordingFormat(beginning: beginning, name: path) else {
        throw ReplayError.unknownFormat
      }
      self.format = format
    }
    reader = format.makeReader()
  }

  // MARK: Survey

  /// Looks for the flow to play, and goes back to the beginning.
  ///
  /// - Returns: what the recording says about its media, if anything.
  /// - Throws: ``ReplayError``, or what reading fails with.
  func survey() throws -> MediaDescription? {
    let (survey, found) = try look()
    guard let choice = survey.choice(for: wish, describedBy: found.descriptions) else {
      throw missing(in: survey, found.statistics)
    }
    self.choice = choice
    self.choice?.noteControlChannels { found.controlChannels(between: $0, and: $1) }
    let others = survey.confirmed(atMost: .max).count - 1
    remarks = [
      "plays \(choice.flow)" + (others > 0 ? " (of \(others + 1) flows; --ssrc chooses)" : "")
    ]
    file.rewind()
    return choice.description
  }

  private func look() throws -> (FlowSurvey, Dissection) {
    file.rewind()
    var survey = FlowSurvey()
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
    found.finish { survey.observe($0) }
    return (survey, found)
  }

  /// Without any candidate the whole file is looked through.
  private func isEnough(_ survey: FlowSurvey, _ length: Int) -> Bool {
    guard length >= Self.surveyLength else { return false }
    return survey.hasVideo(for: wish)
      || length >= Self.longSurveyLength && survey.hasCandidate(for: wish)
  }

  private func missing(
    in survey: FlowSurvey, _ statistics: DissectionStatistics
  ) -> ReplayError {
    guard !wish.isOpen else { return .noRTP(contents: statistics.summary) }
    let all = survey.confirmed(atMost: .max)
    let listed = all.prefix(Self.maximumListed).map { "\($0)" }
    return .noSuchFlow(asked: "\(wish)", flows: listed, more: all.count - listed.count)
  }

  /// How the media that is played was carried, once that is chosen.
  var delivery: String? {
    switch choice?.flow.place {
    case .port: "udp"
    case .channel: "tcp"
    case .file, nil: nil
    }
  }

  /// What was chosen, and from how much, in words.
  private(set) var remarks: [String] = []

  // MARK: Playing

  /// The packets of the flow in the next read of the file; none for many reads in a row is possible.
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
    if case .ended = end, reader.unfinished > 0 {
      batch.diagnostics.append(
        "warning: the recording ends in the middle of a packet; what came before it was played")
    }
    return batch
  }

  private func take(_ packet: CarriedPacket, of choice: FlowChoice, into batch: inout Batch) {
    guard let channel = choice.channel(of: packet) else { return }
    batch.datagrams.append(
      Datagram(
        bytes: packet.bytes, arrival: Instant(nanoseconds: packet.time), channel: channel,
        origin: origin(of: packet.carrier)))
  }

  /// The sender of a datagram; what came in a connection has none, as with ``RTSPTransport``.
  private func origin(of carrier: CarriedPacket.Carrier) -> SocketAddress? {
    guard case .udp(let endpoint, _) = carrier else { return nil }
    if let origin, origin.endpoint == endpoint { return origin.address }
    let address = endpoint.socketAddress
    origin = (endpoint, address)
    return address
  }
}

extension FlowSurvey.Wish: CustomStringConvertible {
  var description: String {
    [
      ssrc.map { "SSRC 0x" + String($0, radix: 16) }, port.map { "port \($0)" },
      payloadType.map { "payload type \($0)" },
    ].compactMap(\.self).joined(separator: ", ")
  }
}

extension FlowChoice {
  /// Takes over which channel SETUP gave to RTCP.
  fileprivate mutating func noteControlChannels(
    _ channels: (IPEndpoint, IPEndpoint) -> [UInt8: UInt8]
  ) {
    guard case .channel(let source, let destination, let channel) = flow.place else { return }
    controlChannel = channels(source, destination)[channel] ?? controlChannel
  }
}
