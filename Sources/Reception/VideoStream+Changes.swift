import Bitstream
import Defragment
import RTPProcessor
import RTPWire

/// A sender that changes its codec or its payload type, where nothing was said of them.
extension VideoStream {
  /// Unpacks a packet, once it is known of what codec it is.
  ///
  /// Only behind a break in the numbering may it be another one: no sender changes it within its
  /// numbering.
  mutating func unpack(_ packet: OrderedPacket) {
    let isBreak = packet.isDiscontinuity || packet.lostBefore >= CodecTurn.leastLoss
    guard isBreak || turn != nil, configuration.media.encodingName == nil else {
      return push(packet)
    }
    if isBreak { endTurn() }
    var turn = self.turn ?? CodecTurn(configuration.formats)
    self.turn = nil
    let outcome = turn.keep(packet)
    self.turn = turn
    switch outcome {
    case .open: break
    case .recognized(let codec): endTurn(codec)
    case .unknown: endTurn()
    }
  }

  /// Unpacks what was kept behind a break; `codec` is what it was recognized as.
  mutating func endTurn(_ codec: VideoCodec? = nil) {
    guard let turn, let last = turn.packets.last else { return }
    self.turn = nil
    if let codec, case .receiving(let former, let payloadType) = phase, codec != former {
      change(to: codec, payloadType: payloadType, at: last.arrival)
    }
    for packet in turn.packets { push(packet) }
  }

  /// Goes on with the payload type of `datagram`, which is not the stream's, if the sender has.
  mutating func considerSuccession(by datagram: Datagram) {
    guard let packet = try? datagram.packet(),
      packet.payloadType != configuration.sound?.payloadType
    else { return }
    var successor = self.successor ?? Successor(configuration.formats, at: datagram.arrival)
    self.successor = nil
    successor.keep(datagram, packet)
    self.successor = successor
    if let silentFrom = processor.silentFrom, silentFrom <= datagram.arrival {
      goOnWithSuccessor(at: datagram.arrival)
    }
  }

  /// Goes on with another payload type if it certainly carries pictures, of the codec that was said
  /// if one was.
  mutating func goOnWithSuccessor(at now: Instant) {
    guard let (codec, payloadType) = successor?.result,
      case .receiving(let former, _) = phase,
      codec == former || configuration.media.encodingName == nil
    else { return }
    let datagrams = successor?.take(payloadType) ?? []
    successor = nil
    processor.change(payloadType: payloadType, receivingAgain: datagrams)
    while let packet = processor.next(at: now) { unpack(packet) }
    endTurn()
    if codec == former {
      phase = .receiving(codec, payloadType: payloadType)
    } else {
      change(to: codec, payloadType: payloadType, at: now)
    }
    for datagram in datagrams { process(datagram) }
  }

  /// Takes what comes next for `codec`; what came before leaves first.
  private mutating func change(to codec: VideoCodec, payloadType: UInt8?, at now: Instant) {
    defragmenter?.flush()
    while let unit = assembled(at: now) { formerUnits.append(unit) }
    formerTotals = defragmenter?.statistics
    var media = configuration.media
    media.encodingName = codec.encodingName
    media.payloadType = payloadType
    // A recognized codec is in the catalogue, so this does not throw.
    try? unpack(media)
    hasBegun = false
    mayHaveUnit = true
  }
}
