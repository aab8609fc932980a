import NIOCore

/// AAC behind AU headers: several frames in a packet, interleaved if wanted, or a fragment of one
/// (RFC 3640 §3.3.5, §3.3.6).
struct MPEG4GenericPacketizer: Packetizer {
  enum Mode: Sendable {
    /// AAC-lbr: an AU header is a byte, 6 bits of size and 2 of index.
    case lowRate
    /// AAC-hbr: two bytes, 13 bits of size and 3 of index.
    case highRate

    var indexBits: Int { self == .lowRate ? 2 : 3 }
    var headerLength: Int { self == .lowRate ? 1 : 2 }
    /// The most packets that can share frames, by the largest difference of indices.
    var longestInterleaving: Int { 1 << indexBits }
  }

  private struct Frame {
    var bytes: ByteBuffer
    var ticks: Int64
  }

  private let mode: Mode
  private let frameLength: Int64
  private let groupLength: Int
  private let interleaving: Int
  private let payloadLimit: Int
  private var held: [Frame] = []

  /// `interleaving` packets with `framesPerPacket` frames each make a group: the first one has the
  /// first frame and each that many further on, the second one the second frame, and so on.
  init(
    _ mode: Mode, frameLength: Int, framesPerPacket: Int, interleaving: Int, payloadLimit: Int
  ) {
    self.mode = mode
    self.frameLength = Int64(frameLength)
    self.interleaving = min(max(1, interleaving), mode.longestInterleaving)
    groupLength = max(1, framesPerPacket) * self.interleaving
    self.payloadLimit = max(payloadLimit, RTPPayload.minimumLimit)
  }

  mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    var payloads: [RTPPayload] = []
    // Receivers count on from the first frame of a packet, so none is behind a gap.
    if let last = held.last,
      abs(unit.presentationTicks - last.ticks - frameLength) > frameLength / 2
    {
      payloads = finish()
    }
    held += unit.units.map { Frame(bytes: $0, ticks: unit.presentationTicks) }
    if held.count >= groupLength { payloads += finish() }
    return payloads
  }

  mutating func finish() -> [RTPPayload] {
    var rest = held[...]
    held = []
    var payloads: [RTPPayload] = []
    while let first = rest.first {
      let (packets, count) = group(from: rest)
      if packets.contains(where: { length(of: $0) > payloadLimit }), mode == .highRate {
        payloads += fragments(of: first)
        rest = rest.dropFirst()
      } else {
        payloads += packets.map(payload)
        rest = rest.dropFirst(count)
      }
    }
    return payloads
  }

  /// The frames of the packets of the next group, which is as large as fits, and how many it takes;
  /// a smaller group keeps the packets in the order of their times, which a divided packet would
  /// not.
  private func group(from frames: ArraySlice<Frame>) -> (packets: [[Frame]], count: Int) {
    var framesPerPacket = groupLength / interleaving
    while framesPerPacket > 1 {
      let packets = packets(of: frames.prefix(framesPerPacket * interleaving))
      if packets.allSatisfy({ length(of: $0) <= payloadLimit }) {
        return (packets, min(frames.count, framesPerPacket * interleaving))
      }
      framesPerPacket -= 1
    }
    return (packets(of: frames.prefix(1)), 1)
  }

  private func packets(of group: ArraySlice<Frame>) -> [[Frame]] {
    (0..<min(interleaving, group.count)).map { first in
      stride(from: group.startIndex + first, to: group.endIndex, by: interleaving).map { group[$0] }
    }
  }

  private func length(of packet: [Frame]) -> Int {
    packet.reduce(2) { $0 + mode.headerLength + $1.bytes.readableBytes }
  }

  private func payload(_ frames: [Frame]) -> RTPPayload {
    var bytes = RTPPayload.buffer(capacity: length(of: frames))
    bytes.writeInteger(UInt16(clamping: frames.count * mode.headerLength * 8))
    for (place, frame) in frames.enumerated() {
      // The first index is 0 in each packet; the timestamp says where the frame belongs.
      write(size: frame.bytes.readableBytes, index: place == 0 ? 0 : interleaving - 1, to: &bytes)
    }
    for frame in frames { bytes.writeImmutableBuffer(frame.bytes) }
    return RTPPayload(bytes: bytes, ticks: frames.first?.ticks ?? 0, marker: true)
  }

  /// Each fragment's AU header has the size of the whole frame; the last one has the marker.
  private func fragments(of frame: Frame) -> [RTPPayload] {
    var rest = frame.bytes
    var payloads: [RTPPayload] = []
    let room = payloadLimit - 2 - mode.headerLength
    while rest.readableBytes > 0, let slice = rest.readSlice(length: min(room, rest.readableBytes))
    {
      var bytes = RTPPayload.buffer(capacity: payloadLimit)
      bytes.writeInteger(UInt16(mode.headerLength * 8))
      write(size: frame.bytes.readableBytes, index: 0, to: &bytes)
      bytes.writeImmutableBuffer(slice)
      payloads.append(
        RTPPayload(bytes: bytes, ticks: frame.ticks, marker: rest.readableBytes == 0))
    }
    return payloads
  }

  private func write(size: Int, index: Int, to bytes: inout ByteBuffer) {
    let header = UInt16(truncatingIfNeeded: size << mode.indexBits | index)
    switch mode {
    case .lowRate: bytes.writeInteger(UInt8(truncatingIfNeeded: header))
    case .highRate: bytes.writeInteger(header)
    }
  }
}
