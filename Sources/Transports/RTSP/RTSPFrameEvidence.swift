internal import NIOCore
internal import RTPWire

/// The header of an interleaved frame (RFC 2326 §10.12): `$`, the channel and a 16-bit length.
struct RTSPFrameHeader: Sendable, Hashable {
  static let length = 4

  let channel: UInt8
  /// Bytes of the packet after the header, 0 … 65,535.
  let packetLength: Int
  /// The packet's first byte; `nil` when there is none, or none yet.
  let first: UInt8?

  /// Bytes of the header and the packet.
  var frameLength: Int { Self.length + packetLength }

  /// Reads the header at `index`, if there is a whole one.
  init?(at index: Int, of bytes: ByteBuffer) {
    guard
      let (sign, channel, length) = bytes.getMultipleIntegers(
        at: index, as: (UInt8, UInt8, UInt16).self), sign == UInt8(ascii: "$")
    else { return nil }
    self.channel = channel
    packetLength = Int(length)
    first = bytes.getInteger(at: index + Self.length)
  }
}

/// What is known about a connection's frames; it tells frames from garbage.
struct RTSPFrameEvidence: Sendable {
  enum Judgement: Sendable, Hashable {
    case yes, no
    /// More bytes are needed.
    case undecided
  }

  /// The channels on which frames are expected.
  var assignedChannels: [UInt8] = []
  /// The payload types seen so far, one bit for each.
  private var payloadTypes: (UInt64, UInt64) = (0, 0)

  /// The source on each channel.
  private var sources = [Source?](repeating: nil, count: 256)

  /// Who sends RTP on a channel, and the number of its latest packet.
  private struct Source: Sendable {
    let identifier: UInt32
    let number: UInt16
  }

  /// Learns from a packet that was accepted.
  mutating func learn(from packet: ByteBuffer, on channel: UInt8) {
    guard
      let (_, second, number, _, identifier) = packet.getMultipleIntegers(
        at: packet.readerIndex, as: (UInt8, UInt8, UInt16, UInt32, UInt32).self),
      !Self.controlTypes.contains(second)
    else { return }
    sources[Int(channel)] = Source(identifier: identifier, number: number)
    let type = second & 0x7F
    if type < 64 {
      payloadTypes.0 |= 1 << UInt64(type)
    } else {
      payloadTypes.1 |= 1 << UInt64(type - 64)
    }
  }

  /// Whether the bytes at `index`, directly after an element, are a frame with this header.
  ///
  /// On a channel that was set up, they are a frame if they can hold RTP or RTCP; on another
  /// channel, if an element follows them.
  func judgeInOrder(_ header: RTSPFrameHeader, at index: Int, of bytes: ByteBuffer) -> Judgement {
    let isAssigned = assignedChannels.contains(header.channel)
    if header.packetLength == 0, isAssigned { return .yes }
    guard let first = header.first ?? (header.packetLength == 0 ? 0 : nil) else {
      return .undecided
    }
    let hasVersion = first >> 6 == 2
    if hasVersion, isAssigned { return .yes }
    let next = index + header.frameLength
    guard header.packetLength >= RTPPacket.minimumLength else {
      return Self.beginsElement(at: next, of: bytes)
    }
    // H264DVR recorders send on channels that were never set up.
    return hasVersion ? Self.endsOrBeginsElement(at: next, of: bytes) : .no
  }

  /// Whether the bytes at `index`, directly after garbage, are a frame with this header.
  ///
  /// After garbage everything about a frame must fit: an element follows it, or it continues what
  /// came on its channel, since garbage may follow every frame.
  func judge(_ header: RTSPFrameHeader, at index: Int, of bytes: ByteBuffer) -> Judgement {
    let judgement = fits(header, at: index, of: bytes)
    guard judgement == .yes else { return judgement }
    let continuation = continues(header, at: index, of: bytes)
    return continuation == .no
      ? Self.endsOrBeginsElement(at: index + header.frameLength, of: bytes) : continuation
  }

  /// Whether a frame that fits is of a known source: the next RTP on its channel, or so nearly that
  /// only loss lies between, or RTCP of the source of any channel.
  private func continues(
    _ header: RTSPFrameHeader, at index: Int, of bytes: ByteBuffer
  ) -> Judgement {
    let start = index + RTSPFrameHeader.length
    guard
      let (_, second, number) = bytes.getMultipleIntegers(
        at: start, as: (UInt8, UInt8, UInt16).self)
    else { return .undecided }
    let isControl = Self.controlTypes.contains(second)
    guard let identifier = bytes.getInteger(at: start + (isControl ? 4 : 8), as: UInt32.self) else {
      return .undecided
    }
    if isControl { return sources.contains { $0?.identifier == identifier } ? .yes : .no }
    guard let source = sources[Int(header.channel)], source.identifier == identifier else {
      return .no
    }
    return (1..<Self.maximumStep).contains(number &- source.number) ? .yes : .no
  }

  /// Whether a frame is on a channel that was set up and holds RTP or RTCP of a known kind; its
  /// first bytes suffice to tell.
  func fits(_ header: RTSPFrameHeader, at index: Int, of bytes: ByteBuffer) -> Judgement {
    guard assignedChannels.contains(header.channel), header.packetLength >= Self.minimumLength
    else { return .no }
    guard
      let (first, second, words) = bytes.getMultipleIntegers(
        at: index + RTSPFrameHeader.length, as: (UInt8, UInt8, UInt16).self)
    else { return .undecided }
    guard first >> 6 == 2 else { return .no }
    if Self.controlTypes.contains(second) {
      return 4 * (Int(words) + 1) <= header.packetLength ? .yes : .no
    }
    return header.packetLength >= RTPPacket.minimumLength && knows(payloadType: second & 0x7F)
      ? .yes : .no
  }

  /// Whether the bytes at `index` look like the beginning of an element.
  static func beginsElement(at index: Int, of bytes: ByteBuffer) -> Judgement {
    switch bytes.getInteger(at: index, as: UInt8.self) {
    case nil: .undecided
    case UInt8(ascii: "$"), 0x0D, 0x0A: .yes
    default: RTSPMessageReader.begins(in: bytes, at: index)
    }
  }

  /// The same, or whether the bytes end at `index`.
  private static func endsOrBeginsElement(at index: Int, of bytes: ByteBuffer) -> Judgement {
    index == bytes.writerIndex ? .yes : beginsElement(at: index, of: bytes)
  }

  /// Whether frames had this payload type before; true for all types before the first frame.
  private func knows(payloadType: UInt8) -> Bool {
    if payloadTypes == (0, 0) { return true }
    let half = payloadType < 64 ? payloadTypes.0 : payloadTypes.1
    return half & 1 << UInt64(payloadType & 63) != 0
  }

  /// The largest step of sequence numbers by which a source continues (RFC 3550 A.1).
  private static let maximumStep: UInt16 = 3000
  /// The RTCP packet types in use: fewer than `RTCPPacket.recognizes` takes for RTCP, because each
  /// one more lets more garbage pass for a frame.
  private static let controlTypes =
    RTCPPacketType.senderReport.rawValue...RTCPPacketType.extendedReport.rawValue
  /// The length in bytes of the shortest RTCP packet that names its sender.
  private static let minimumLength = 8
}
