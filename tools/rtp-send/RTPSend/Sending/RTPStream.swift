public import NIOCore
public import RTPWire

/// Writes RTP headers (RFC 3550 §5.1): one source's numbering, with the faults of real ones.
public struct RTPStream: Sendable {
  public struct Configuration: Sendable, Hashable {
    /// 0 … 127; larger values lose their highest bit.
    public var payloadType: UInt8 = 96
    public var ssrc: UInt32
    public var initialSequence: UInt16
    /// The RTP timestamp of media time 0.
    public var initialTimestamp: UInt32
    public var sequenceJump: SequenceJump?
    public var sourceChange: SourceChange?
    public var correction: Correction?

    public init(ssrc: UInt32, initialSequence: UInt16, initialTimestamp: UInt32) {
      self.ssrc = ssrc
      self.initialSequence = initialSequence
      self.initialTimestamp = initialTimestamp
    }
  }

  /// Correction packets among the others: ULPFEC with common numbering, like libwebrtc and
  /// GStreamer, or FlexFEC in a separate source.
  public struct Correction: Sendable, Hashable {
    public var format: CorrectionFormat
    /// 0 … 127, not that of the media.
    public var payloadType: UInt8
    /// How many packets each correction packet follows: 1 … 48.
    public var interval: Int
    /// That of RED packets (RFC 2198), in which everything of this source then is, as libwebrtc and
    /// GStreamer send it.
    public var redundancyPayloadType: UInt8?

    /// All that are not of the media.
    public var payloadTypes: [UInt8] {
      [payloadType] + (redundancyPayloadType.map { [$0] } ?? [])
    }

    public init(_ format: CorrectionFormat = .ulpfec, payloadType: UInt8, interval: Int) {
      self.format = format
      self.payloadType = payloadType
      self.interval = interval
    }
  }

  /// Once `packets` packets are sent, the sequence number goes `places` further than it should.
  public struct SequenceJump: Sendable, Hashable {
    public var packets: Int
    /// May be negative.
    public var places: Int

    public init(after packets: Int, by places: Int) {
      self.packets = packets
      self.places = places
    }
  }

  /// When the source changes its SSRC; sequence numbers and timestamps continue.
  public enum SourceChange: Sendable, Hashable {
    case afterPackets(Int)
    /// With each picture at which decoding can begin, but for the first, as Uniview cameras do.
    case everyGroupOfPictures
  }

  public private(set) var ssrc: UInt32

  private let configuration: Configuration
  private var sequence: SequenceNumber
  /// The RTP timestamp of media time 0.
  private var firstTimestamp: UInt32
  private var total = 0
  private var changes: SplitMix64
  private var parity: ParityEncoder?
  private var lastTicks: Int64 = 0
  /// Of the source that FlexFEC packets have to themselves.
  private let correctionSSRC: UInt32
  private var correctionSequence: SequenceNumber

  public init(_ configuration: Configuration) {
    self.configuration = configuration
    ssrc = configuration.ssrc
    sequence = SequenceNumber(configuration.initialSequence)
    firstTimestamp = configuration.initialTimestamp
    changes = SplitMix64(seed: UInt64(configuration.ssrc))
    parity = configuration.correction.map { ParityEncoder($0.format, interval: $0.interval) }
    var dice = SplitMix64(seed: UInt64(configuration.ssrc) << 32)
    correctionSSRC = UInt32(truncatingIfNeeded: dice.next())
    correctionSequence = SequenceNumber(UInt16(truncatingIfNeeded: dice.next()))
  }

  /// Continues with a sequence number that is `places` too high.
  public mutating func leap(places: Int) {
    sequence = sequence.advanced(by: places)
    // One mask does not reach across.
    parity = configuration.correction.map { ParityEncoder($0.format, interval: $0.interval) }
  }

  /// Continues with timestamps that are `ticks` too high.
  public mutating func leap(ticks: Int64) {
    firstTimestamp &+= UInt32(truncatingIfNeeded: ticks)
  }

  /// Begins anew with another SSRC, sequence number and timestamp, as a sender that restarts.
  public mutating func restart() {
    changeSource()
    sequence = SequenceNumber(UInt16(truncatingIfNeeded: changes.next()))
    firstTimestamp = UInt32(truncatingIfNeeded: changes.next())
  }

  /// To be called before the packets of an access unit at which decoding can begin.
  ///
  /// - Parameter changesSource: whether the SSRC changes, whatever the configuration says.
  public mutating func beginGroupOfPictures(changesSource: Bool = false) {
    let changesSource = changesSource || configuration.sourceChange == .everyGroupOfPictures
    if changesSource, total > 0 { changeSource() }
  }

  /// The RTP timestamp of a media time in 90 kHz ticks.
  public func timestamp(of ticks: Int64) -> UInt32 {
    firstTimestamp &+ UInt32(truncatingIfNeeded: ticks)
  }

  /// The next packets, one per payload, without CSRC, extension and padding, and with correction
  /// packets if requested.
  ///
  /// Headers go into the room before the payloads, which are not copied unless others reference
  /// them.
  public mutating func packets(with payloads: consuming [RTPPayload]) -> [ByteBuffer] {
    var packets: [ByteBuffer] = []
    packets.reserveCapacity(payloads.count)
    for index in payloads.indices {
      var packet = ByteBuffer()
      swap(&packet, &payloads[index].bytes)
      lastTicks = payloads[index].ticks
      goOn()
      let marker: UInt8 = payloads[index].marker ? 0x80 : 0
      writeHeader(ticks: lastTicks, type: configuration.payloadType & 0x7F | marker, to: &packet)
      // What is protected is the packet inside (RFC 5109 §14.2).
      let payload = parity?.add(packet)
      packets.append(enclosed(packet))
      if let payload { packets += correction(with: payload) }
    }
    return packets
  }

  /// The payload bytes of one of its packets as sender reports count them (RFC 3550 §6.4.1); `nil`
  /// for correction packets with a source of their own.
  public func octets(of packet: ByteBuffer) -> UInt32? {
    guard packet.rtpSSRC != correctionSSRC else { return nil }
    return UInt32(clamping: packet.readableBytes - RTPPacket.minimumLength)
  }

  /// Gives the numbers again of the last packets, which were never sent.
  mutating func takeBack(_ packets: [ByteBuffer]) {
    let own = packets.filter { $0.rtpSSRC == ssrc }
    guard let first = own.first?.rtpSequence else { return }
    sequence = SequenceNumber(first)
    for packet in own {
      let isEnclosed = configuration.correction?.redundancyPayloadType != nil
      let place = packet.readerIndex + (isEnclosed ? RTPPacket.minimumLength : 1)
      let type = packet.getInteger(at: place, as: UInt8.self) ?? 0
      if type & 0x7F == configuration.payloadType & 0x7F { total -= 1 }
    }
    parity = configuration.correction.map { ParityEncoder($0.format, interval: $0.interval) }
  }

  /// The correction packet for what is not protected yet, at the end of the stream.
  public mutating func finish() -> [ByteBuffer] { correction(with: parity?.finish()) }

  private mutating func correction(with payload: ByteBuffer?) -> [ByteBuffer] {
    guard let correction = configuration.correction, var packet = payload else { return [] }
    if correction.format.isNumberedWithMedia {
      writeHeader(ticks: lastTicks, type: correction.payloadType & 0x7F, to: &packet)
      return [enclosed(packet)]
    }
    // RFC 8627 §4.2.1 names the source that is protected in the CSRC list; the draft does
    // elsewhere.
    let isDraft = correction.format == .flexfecDraft
    var repair = ByteBuffer()
    repair.writeMultipleIntegers(
      UInt8(isDraft ? 0x80 : 0x81), correction.payloadType & 0x7F, correctionSequence.rawValue,
      timestamp(of: lastTicks), correctionSSRC)
    if !isDraft { repair.writeInteger(ssrc) }
    repair.writeImmutableBuffer(packet)
    correctionSequence = correctionSequence.next
    return [repair]
  }

  /// The packet as the only encoding in a RED packet (RFC 2198 §3), if there are such.
  private mutating func enclosed(_ packet: ByteBuffer) -> ByteBuffer {
    var rest = packet
    guard let type = configuration.correction?.redundancyPayloadType,
      var enclosing = rest.readSlice(length: RTPPacket.minimumLength),
      let own = enclosing.getInteger(at: enclosing.readerIndex + 1, as: UInt8.self)
    else { return packet }
    enclosing.setInteger(type & 0x7F | own & 0x80, at: enclosing.readerIndex + 1)
    enclosing.writeInteger(own & 0x7F)
    enclosing.writeImmutableBuffer(rest)
    return enclosing
  }

  /// Jumps, and changes the source, where that is due.
  private mutating func goOn() {
    if let jump = configuration.sequenceJump, jump.packets == total {
      leap(places: jump.places)
    }
    if configuration.sourceChange == .afterPackets(total) { changeSource() }
    total += 1
  }

  private mutating func writeHeader(ticks: Int64, type: UInt8, to packet: inout ByteBuffer) {
    let length = packet.readableBytes
    if packet.readerIndex < RTPPacket.minimumLength {
      var copy = RTPPayload.buffer(capacity: length)
      copy.writeImmutableBuffer(packet)
      packet = copy
    }
    let start = packet.readerIndex - RTPPacket.minimumLength
    packet.moveReaderIndex(to: start)
    packet.setInteger(UInt8(0x80), at: start)
    packet.setInteger(type, at: start + 1)
    packet.setInteger(sequence.rawValue, at: start + 2)
    packet.setInteger(timestamp(of: ticks), at: start + 4)
    packet.setInteger(ssrc, at: start + 8)

    sequence = sequence.next
  }

  private mutating func changeSource() {
    ssrc = UInt32(truncatingIfNeeded: changes.next())
    parity = configuration.correction.map { ParityEncoder($0.format, interval: $0.interval) }
  }
}
