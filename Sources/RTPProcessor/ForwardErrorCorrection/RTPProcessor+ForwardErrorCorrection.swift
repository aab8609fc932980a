import NIOCore
import RTPWire

/// Forward error correction inside the processor.
///
/// Only the processor knows which source a packet belongs to and which numbers are missing, and
/// rebuilt packets must be in place before a gap is given up.
extension RTPProcessor {
  /// The longest wait for a correction packet.
  static let longestCorrection: Duration = .seconds(1)

  /// Uses `packet`, a correction packet with its own numbering.
  mutating func correct(
    with packet: RTPPacket, of format: CorrectionFormat, at arrival: Instant
  ) {
    // Without a source there is nothing to protect.
    guard let ssrc else { return }
    correction?.receive(
      flexfec: packet, isDraft: format == .flexfecDraft, of: ssrc,
      statistics: &statistics.errorCorrection)
    placeFindings(at: arrival)
  }

  /// Uses a datagram of SMPTE ST 2022-1.
  mutating func correct(withMatrix bytes: ByteBuffer, at arrival: Instant) {
    guard let ssrc else { return }
    correction?.receive(matrix: bytes, of: ssrc, statistics: &statistics.errorCorrection)
    placeFindings(at: arrival)
  }

  /// Uses `packet`, whose outcome was `outcome`.
  mutating func correct(with packet: RTPPacket, _ outcome: PacketOutcome, at arrival: Instant) {
    switch outcome {
    case .inOrder, .parked, .late: break
    // A correction packet that was already counted as lost is still useful.
    case .duplicate where configuration.correctionFormats[packet.payloadType] != nil: break
    // Packets on probation are added together with their source.
    default: return
    }
    note(packet)
    placeFindings(at: arrival)
  }

  /// The same for the packets of a source that is now validated.
  mutating func correct(with entries: [ReorderBuffer.Entry]) {
    for entry in entries { note(entry.packet) }
    if let last = entries.last { placeFindings(at: last.arrival) }
  }

  /// How long the gap before the first waiting packet may stay open for correction packets.
  ///
  /// The columns of a matrix come with the packets of the next one (SMPTE ST 2022-1), which takes
  /// longer than any reordering in a network.
  var correctionPatience: Duration {
    guard let source, let span = correction?.greatestSpan,
      source.highest - source.buffer.next <= 2 * span
    else { return .zero }
    return Self.longestCorrection
  }

  private mutating func note(_ packet: RTPPacket) {
    guard !configuration.correctionFormats.isEmpty || configuration.hasMatrixCorrection else {
      return
    }
    if correction == nil {
      correction = ForwardErrorCorrection(
        with: packet, payloadType: configuration.payloadType,
        clockRate: max(configuration.clockRate, 1),
        isMatrix: configuration.hasMatrixCorrection,
        mayHaveColumns: configuration.correctionFormats.values.contains { !$0.isNumberedWithMedia })
    }
    if configuration.correctionFormats[packet.payloadType] != nil {
      correction?.receive(ulpfec: packet, statistics: &statistics.errorCorrection)
    } else {
      correction?.receive(media: packet, statistics: &statistics.errorCorrection)
    }
  }

  private mutating func placeFindings(at arrival: Instant) {
    while let finding = correction?.next() {
      switch finding {
      case .rebuilt(let packet):
        // A correction packet of the source names its SSRC, so it needs no probation.
        guard source?.owns(packet) == true else { continue }
        _ = receiveRecovered(packet, .reconstruction, at: arrival) { _ in false }
      case .lostCorrection(let number):
        pass(number, at: arrival)
      }
    }
  }

  /// Closes the place of a lost correction packet.
  private mutating func pass(_ number: SequenceNumber, at arrival: Instant) {
    guard let sequence = source?.extend(number),
      source?.close(sequence, at: arrival, statistics: &statistics, ready: &ready) == true
    else { return }
    repair?.arrived(sequence, .reconstruction, at: arrival, statistics: &statistics.repair)
    repair?.close(before: source?.buffer.next ?? 0)
  }
}
