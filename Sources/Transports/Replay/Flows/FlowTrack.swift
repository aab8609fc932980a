internal import NIOCore
internal import RTPWire

/// A track to play: which packets of a recording belong to it.
struct FlowTrack: Sendable {
  let flow: Flow
  /// Its description, from a session description in the recording or from its payload type.
  let description: MediaDescription?
  /// The only source wanted; `nil` takes every source in the same place, as a receiver does.
  var ssrc: UInt32?
  /// The only payload type wanted, if there are several in the same place.
  var payloadType: UInt8?
  /// Those that its section lists beside it: the sender may go on with them (RFC 8866 §5.14).
  var otherTypes: Set<UInt8> = []
  /// Payload types that belong to it under any SSRC, such as FlexFEC.
  var auxiliaryTypes: Set<UInt8> = []
  /// Whether the place of its RTCP has its own RTP, so that RTCP there must look like RTCP.
  var hasNeighbour = false
  /// Whether the ports two and four above carry SMPTE ST 2022-1 correction packets.
  var takesCorrection = false
  /// The destination port of its retransmissions in a separate session.
  var retransmissionPort: UInt16?
  /// Where its RTCP is, unless something else was agreed upon the one after its own; `nil` in files
  /// without places.
  var controlPlace: FlowPlace?

  init(_ flow: Flow, description: MediaDescription?) {
    self.flow = flow
    self.description = description
    controlPlace = flow.place.next
  }

  /// The channel of `packet` in this track; `nil` if it does not belong to it.
  func channel(of packet: CarriedPacket) -> Datagram.Channel? {
    guard let channel = place(of: packet.carrier), admits(packet.bytes, on: channel) else {
      return nil
    }
    if channel == .control, hasNeighbour, !RTCPPacket.recognizes(packet.bytes) { return nil }
    return channel
  }

  private func place(of carrier: CarriedPacket.Carrier) -> Datagram.Channel? {
    switch (carrier, flow.place) {
    case (.udp(_, let destination), .port(let own)):
      guard destination.address == own.address else { return nil }
      if destination.port == own.port { return .media }
      if destination.port == retransmissionPort { return .retransmission }
      if FlowPlace(carrier) == controlPlace { return .control }
      let isAbove = destination.port == own.port &+ 2 || destination.port == own.port &+ 4
      return takesCorrection && isAbove ? .correction : nil
    case (
      .interleaved(let source, let destination, let channel),
      .channel(let ownSource, let ownDestination, let own)
    ):
      guard source == ownSource, destination == ownDestination else { return nil }
      if channel == own { return .media }
      return FlowPlace(carrier) == controlPlace ? .control : nil
    case (.file(let channel), .file): return channel
    default: return nil
    }
  }

  /// Whether RTP has the wanted source and payload type, and RTCP the wanted source.
  private func admits(_ bytes: ByteBuffer, on channel: Datagram.Channel) -> Bool {
    guard ssrc != nil || payloadType != nil, ![.correction, .retransmission].contains(channel)
    else {
      return true
    }
    let isControl = channel == .control || RTCPPacket.recognizes(bytes)
    let type = bytes.getInteger(at: bytes.readerIndex + 1, as: UInt8.self).map { $0 & 0x7F }
    if !isControl, let type, auxiliaryTypes.contains(type) { return true }
    if let ssrc {
      let own = bytes.getInteger(at: bytes.readerIndex + (isControl ? 4 : 8), as: UInt32.self)
      guard own == ssrc else { return false }
    }
    return isControl || type.map { admits($0) } ?? (payloadType == nil)
  }

  /// Whether media of `type` in its place belong to it.
  func admits(_ type: UInt8) -> Bool {
    payloadType.map { $0 == type } ?? true || otherTypes.contains(type)
  }

  /// Whether `bytes`, which are RTCP, come from its own source.
  func isSource(of bytes: ByteBuffer) -> Bool {
    bytes.getInteger(at: bytes.readerIndex + 4, as: UInt32.self) == flow.ssrc
  }
}
