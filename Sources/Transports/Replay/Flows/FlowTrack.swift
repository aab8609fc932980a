internal import NIOCore
internal import RTPWire

/// One of the media that are played: which packets of a recording belong to it.
struct FlowTrack: Sendable {
  let flow: Flow
  /// What is said about it, by a session description in the recording or by its payload type.
  let description: MediaDescription?
  /// The one source that is wanted; `nil` takes every source in the same place, as a receiver does.
  var ssrc: UInt32?
  /// The one payload type that is wanted where there are several in the same place.
  var payloadType: UInt8?
  /// The payload types of what belongs to it under whatever SSRC, such as FlexFEC.
  var auxiliaryTypes: Set<UInt8> = []
  /// Whether the next port has RTP of its own, so that RTCP there has to look like it.
  var hasNeighbour = false
  /// Whether what went by the ports two and four above is correction packets of SMPTE ST 2022-1.
  var takesCorrection = false
  /// The destination's port of what repeats it in a session of its own.
  var retransmissionPort: UInt16?
  /// The channel of its RTCP, for interleaved RTP.
  var controlChannel: UInt8?

  init(_ flow: Flow, description: MediaDescription?) {
    self.flow = flow
    self.description = description
    if case .channel(_, _, let channel) = flow.place { controlChannel = channel &+ 1 }
  }

  /// What `packet` comes on as part of this flow; `nil` when it is none.
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
      if destination.port == own.port &+ 1 { return .control }
      let isAbove = destination.port == own.port &+ 2 || destination.port == own.port &+ 4
      return takesCorrection && isAbove ? .correction : nil
    case (
      .interleaved(let source, let destination, let channel),
      .channel(let ownSource, let ownDestination, let own)
    ):
      guard source == ownSource, destination == ownDestination else { return nil }
      if channel == own { return .media }
      return channel == controlChannel ? .control : nil
    case (.file(let channel), .file): return channel
    default: return nil
    }
  }

  /// Whether RTP is of the source and payload type that are wanted, and RTCP of that source.
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
    guard let payloadType, !isControl else { return true }
    return type == payloadType
  }

  /// Whether its own source sent `bytes`, which are RTCP.
  func isSource(of bytes: ByteBuffer) -> Bool {
    bytes.getInteger(at: bytes.readerIndex + 4, as: UInt32.self) == flow.ssrc
  }
}
