import Bitstream
import Defragment
import RTPProcessor
import RTPWire

/// A sender that changes its codec or its payload type, where nothing was said of them or several
/// are listed.
extension VideoStream {
  /// Unpacks a packet, once it is known of what codec it is.
  ///
  /// It may be another one behind a break in the numbering, or where an access unit begins.
  mutating func unpack(_ packet: OrderedPacket) {
    guard configuration.media.encodingName == nil else { return push(packet) }
    let isBreak = packet.isDiscontinuity || packet.lostBefore >= CodecTurn.leastLoss
    // What is empty begins nothing.
    let begins = packet.time != lastUnpacked && packet.packet.payload.readableBytes > 0
    if begins { lastUnpacked = packet.time }
    if isBreak || begins && turn?.cause == .beginning { endTurn() }
    if turn == nil, let codec = defragmenter?.codec,
      let cause = isBreak ? .discontinuity : begins ? cause(packet, in: codec) : nil
    {
      turn = CodecTurn(from: codec, cause, among: configuration.formats)
    }
    guard var turn else { return push(packet) }
    // So that its packets are not copied.
    self.turn = nil
    let outcome = turn.keep(packet)
    self.turn = turn
    switch outcome {
    case .open: break
    case .recognized(let codec): endTurn(codec)
    case .former: endTurn()
    }
  }

  /// Why `packet`, the first of an access unit, may not be of `codec`; `nil` if it is.
  private func cause(_ packet: OrderedPacket, in codec: VideoCodec) -> CodecTurn.Cause? {
    switch configuration.formats.fit(of: packet.packet.payload, to: codec) {
    case .own: nil
    case .foreign: .foreign
    // A picture does not wait for the next one.
    case .undecided: packet.packet.marker ? nil : .beginning
    }
  }

  /// Unpacks what was kept; `codec` is what it was recognized as.
  mutating func endTurn(_ codec: VideoCodec? = nil) {
    guard let turn, let last = turn.packets.last else { return }
    self.turn = nil
    if let codec, case .receiving(let former, let payloadType) = phase, codec != former {
      change(to: codec, payloadType: payloadType, at: last.arrival)
    }
    for packet in turn.packets { push(packet) }
  }

  /// Keeps `datagram`, whose payload type is not the stream's: the sender may go on with it.
  mutating func considerSuccession(by datagram: Datagram) {
    guard let packet = try? datagram.packet(),
      configuration.sound?.assigns(packet.payloadType) != true
    else { return }
    var successor = self.successor ?? Successor(configuration.formats, at: datagram.arrival)
    self.successor = nil
    successor.keep(datagram, packet)
    self.successor = successor
    goOnIfDue(at: datagram.arrival)
  }

  /// The listed format of `payloadType`, if its codec is known (RFC 8866 §5.14).
  func listedFormat(_ payloadType: UInt8) -> MediaDescription? {
    guard !media.otherFormats.isEmpty else { return nil }
    return ([media] + media.otherFormats).first {
      $0.payloadType == payloadType
        && $0.encodingName.flatMap(configuration.formats.codec(encodingName:)) != nil
    }
  }

  /// What the sender has certainly gone on with: of the codec that was said, if one was.
  ///
  /// What is listed needs no more than a source that has proved itself.
  private var succession: (codec: VideoCodec, payloadType: UInt8)? {
    if !media.otherFormats.isEmpty, case .receiving = phase {
      for type in successor?.provenTypes ?? [] {
        guard let name = listedFormat(type)?.encodingName,
          let codec = configuration.formats.codec(encodingName: name)
        else { continue }
        return (codec, type)
      }
    }
    guard let result = successor?.result, case .receiving(let former, _) = phase,
      result.codec == former || configuration.media.encodingName == nil
    else { return nil }
    return result
  }

  /// When the former payload type has paused for so long that another one takes over; if nothing
  /// of it has come, none waits longer than for what the network has put behind it.
  var successionDeadline: Instant? {
    guard let successor, succession != nil else { return nil }
    if processor.ssrc == nil, !media.otherFormats.isEmpty {
      return successor.beginning.advanced(by: configuration.reorderWindow)
    }
    return processor.silentFrom
  }

  /// Goes on with another payload type, if it is time.
  mutating func goOnIfDue(at now: Instant) {
    if successor != nil, let due = successionDeadline, due <= now { goOnWithSuccessor(at: now) }
  }

  /// Goes on with another payload type, if there is one.
  mutating func goOnWithSuccessor(at now: Instant) {
    guard let (codec, payloadType) = succession,
      let (datagrams, behind) = successor?.take(payloadType)
    else { return }
    successor = nil
    processor.change(payloadType: payloadType, receivingAgain: datagrams)
    while let packet = processor.next(at: now) { unpack(packet) }
    endTurn()
    // What still waited may have been of another codec too, and a listed format has parameters.
    if listedFormat(payloadType) == nil, case .receiving(codec, _) = phase {
      phase = .receiving(codec, payloadType: payloadType)
    } else {
      change(to: codec, payloadType: payloadType, at: now)
    }
    for datagram in datagrams { process(datagram) }
    // The sender may have changed once more meanwhile.
    for datagram in behind { considerSuccession(by: datagram) }
  }

  /// Takes what comes next for `codec`; what came before leaves first.
  private mutating func change(to codec: VideoCodec, payloadType: UInt8?, at now: Instant) {
    defragmenter?.flush()
    while let unit = assembled(at: now) { formerUnits.append(unit) }
    formerTotals = defragmenter?.statistics
    var media = configuration.media
    media.encodingName = codec.encodingName
    media.payloadType = payloadType
    if let listed = payloadType.flatMap({ listedFormat($0) }) {
      media.formatParameters = listed.formatParameters
    }
    // A recognized codec is in the catalogue, so this does not throw.
    try? setUp(media)
    hasBegun = false
    mayHaveUnit = true
  }
}
