internal import NIOCore
public import RTPWire

/// Requests for lost packets: which numbers are missing, and which answers fill them.
extension RTPProcessor {
  /// When ``nextFeedback(at:)`` must be called even if nothing arrives.
  public var feedbackDeadline: Instant? {
    guard source != nil else { return nil }
    return [repair?.deadline, tailDeadline, keyPictureDeadline].compactMap(\.self).min()
  }

  /// A far end that has never answered, or answers no more, is not asked for what may not exist.
  private var tailDeadline: Instant? {
    guard let repair, !repair.isSilent else { return nil }
    return tail.deadline(timeout: repair.roundTrip.timeout)
  }

  /// Whoever has said goodbye may send a packet again, but codes no more pictures.
  private var keyPictureDeadline: Instant? {
    hasSaidGoodbye ? nil : keyPictures.deadline(roundTrip: roundTrip)
  }

  /// The next message to the sender at `now`; call it until it returns `nil`.
  public mutating func nextFeedback(at now: Instant) -> RTCPFeedback? {
    guard let ssrc, let feedbackDeadline, feedbackDeadline <= now else { return nil }
    if let missing = repair?.takeDue(at: now, statistics: &statistics.repair), !missing.isEmpty {
      return .genericNACK(media: ssrc, RTCPFeedback.entries(of: missing))
    }
    if let repair, let tailDeadline, tailDeadline <= now {
      statistics.repair.requests += 1
      statistics.repair.tailRequests += 1
      let numbers = tail.takeDue(at: now, timeout: repair.roundTrip.timeout)
      return .genericNACK(media: ssrc, RTCPFeedback.entries(of: numbers))
    }
    guard keyPictureDeadline != nil else { return nil }
    return keyPictures.take(
      at: now, of: ssrc, roundTrip: roundTrip, statistics: &statistics.repair)
  }

  /// Notes at `now` that decoding needs a key picture.
  public mutating func wantKeyPicture(at now: Instant) { keyPictures.want(at: now) }

  /// Requests for a key picture that has not come although each has had the time for an answer.
  public func unansweredKeyPictureRequests(at now: Instant) -> Int {
    keyPictures.unanswered(at: now, roundTrip: roundTrip)
  }

  /// Notes that a key picture came and decoding continues.
  public mutating func noteKeyPicture() { keyPictures.satisfy() }

  private var roundTrip: Duration { repair?.roundTrip.estimate ?? RoundTrip.initial }

  /// When the gap before the first waiting packet is given up.
  var gapDeadline: Instant? {
    guard let source, let oldest = source.buffer.oldestArrival else { return nil }
    let patience = configuration.reorderWindow > .zero ? correctionPatience : .zero
    let window = oldest.advanced(by: max(configuration.reorderWindow, patience))
    return repair?.patience(withGapAt: source.buffer.next).map { max($0, window) } ?? window
  }

  /// Whether `packet`, which came as media, is an original or a retransmission.
  ///
  /// Retransmissions without a payload type of their own look like the originals. A requested
  /// packet that comes counts as the retransmission.
  func way(of packet: RTPPacket) -> Source.Way {
    guard let repair, let source else { return .network }
    let sequence = source.extend(packet.sequenceNumber)
    let isAnswer =
      sequence > source.highest
      ? !repair.isAnsweredInOwnStream && tail.awaits(sequence, timestamp: packet.timestamp)
      : repair.awaits(sequence)
    return isAnswer ? .retransmission : .network
  }

  /// Whether `packet`, whose place may be filled already, may be a retransmission that looks like
  /// the original.
  func mayBeAnswer(_ packet: RTPPacket) -> Bool {
    guard let repair, let source else { return false }
    return repair.mayAnswer(source.extend(packet.sequenceNumber))
  }

  /// Notes the outcome of a packet of the source, whose highest number was `highest` before.
  mutating func noteRepair(
    of packet: RTPPacket, _ way: Source.Way, highest: Int64, at arrival: Instant
  ) {
    guard let source else { return }
    let sequence = source.extend(packet.sequenceNumber)
    if way == .retransmission, sequence > highest, let request = tail.request(for: sequence) {
      repair?.arrived(sequence, after: request, at: arrival, statistics: &statistics.repair)
    } else {
      repair?.arrived(sequence, way, at: arrival, statistics: &statistics.repair)
    }
    noticeGaps(behind: highest, at: arrival)
    guard sequence > highest, let overtaking = repair?.overtakingAllowance(at: arrival) else {
      return
    }
    // libwebrtc probes the network with packets of padding alone.
    let isMedia =
      packet.payload.readableBytes > 0
      && configuration.correctionFormats[packet.payloadType] == nil
      && configuration.payloadType ?? packet.payloadType == packet.payloadType
    tail.note(packet, at: sequence, isMedia: isMedia, way, overtaking: overtaking, now: arrival)
  }

  /// Notes which numbers after `highest` are missing, and which no longer are.
  mutating func noticeGaps(behind highest: Int64, at now: Instant) {
    guard repair != nil, let source else { return }
    let first = max(
      highest + 1, source.highest - Int64(RepairSchedule.maximumPlaces), source.buffer.next)
    if first < source.highest {
      for sequence in first..<source.highest where source.lacks(sequence) {
        repair?.notice(
          sequence, after: tail.request(for: sequence), at: now, statistics: &statistics.repair)
      }
    }
    repair?.close(before: source.buffer.next)
    statistics.repair.roundTrip = repair?.roundTrip.smoothed
  }

  /// Processes a datagram of the session for retransmissions (RFC 4588 §5.3).
  ///
  /// Its RTCP is ignored: it has the SSRC of the media, so its clock, packet counts and goodbye
  /// would be mistaken for the media's.
  mutating func receiveRetransmission(inSessionOfItsOwn datagram: Datagram) -> PacketOutcome {
    guard !datagram.isControl else {
      statistics.control += 1
      return .control
    }
    let packet: RTPPacket
    do {
      packet = try datagram.packet()
    } catch {
      statistics.malformed += 1
      return .malformed(error)
    }
    let formats = configuration.retransmissionSession
    guard let format = formats?.isEmpty == true ? .init() : formats?[packet.payloadType] else {
      statistics.noteIgnored(payloadType: packet.payloadType)
      return .ignoredPayloadType
    }
    return receiveRetransmission(packet, of: format, at: datagram.arrival)
  }

  /// Processes a packet that repeats another (RFC 4588 §4).
  ///
  /// It is known by its payload type or its session; its SSRC may be its own or the media's. Only
  /// packets that are missing, or were asked for, are taken from it.
  mutating func receiveRetransmission(
    _ packet: RTPPacket, of format: RetransmissionFormat, at arrival: Instant
  ) -> PacketOutcome {
    statistics.retransmission += 1
    guard let source else {
      statistics.repair.unneeded += 1
      return .retransmission
    }
    guard let payloadType = format.original ?? configuration.payloadType,
      var original = packet.original(payloadType: payloadType, ssrc: source.ssrc)
    else {
      statistics.repair.malformed += 1
      return .retransmission
    }
    if payloadType == configuration.redundancyPayloadType {
      original = original.primaryEncoding ?? original
    }
    // A packet that would not be accepted itself is not accepted as a repetition.
    let isOwn = configuration.payloadType.map { $0 == original.payloadType } ?? true
    let isNumbered =
      configuration.correctionFormats[original.payloadType]?.isNumberedWithMedia ?? false
    // Where several senders share a port, a repetition may be of another one's packet: it has
    // another SSRC, which is not known, but also other timestamps.
    guard isOwn || isNumbered, source.isNear(original.timestamp) else {
      statistics.repair.unneeded += 1
      return .retransmission
    }
    repair?.noteOwnStream()
    let sequence = source.extend(original.sequenceNumber)
    // Behind the newest packet, a wrong number cannot move the order farther than was asked for.
    if source.lacks(sequence), sequence < source.highest || tail.request(for: sequence) != nil {
      let outcome = receiveRecovered(original, .retransmission, at: arrival) { _ in false }
      // Correction needs the packet as it was, but padding and extensions may be left out here
      // (§4).
      if packet.paddingLength == 0, packet.extensionProfile == nil {
        correct(with: original, outcome, at: arrival)
      }
    } else if repair == nil {
      statistics.repair.unneeded += 1
    } else {
      repair?.arrived(sequence, .retransmission, at: arrival, statistics: &statistics.repair)
      statistics.repair.roundTrip = repair?.roundTrip.smoothed
    }
    return .retransmission
  }
}
