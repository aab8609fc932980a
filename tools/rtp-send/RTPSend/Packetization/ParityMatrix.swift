import NIOCore
import RTPWire

/// Makes SMPTE ST 2022-1 packets: the parities of the rows and columns of a matrix, which
/// consecutive packets fill row by row.
///
/// A row's packet follows the row. The columns' packets follow the matrix, in order, so that a
/// burst at its end cannot hit a column's packet together with one that it protects.
struct ParityMatrix: Sendable {
  /// How far above the port of the media they go.
  private enum Port: Int {
    case columns = 2
    case rows = 4
  }

  private let size: PacketFeed.MatrixCorrection
  /// Packets of the matrix so far.
  private var count = 0
  private var next: UInt16?
  private var row = LineParity()
  private var columns: [LineParity]
  private var rowSequence: UInt16 = 0
  private var columnSequence: UInt16 = 0

  init(_ size: PacketFeed.MatrixCorrection) {
    self.size = size
    columns = Array(repeating: LineParity(), count: size.columns)
  }

  /// Adds a packet with its fixed header; returns those of what is complete.
  mutating func add(_ packet: ByteBuffer) -> [PacketFeed.Packet] {
    guard let number = packet.getInteger(at: packet.readerIndex + 2, as: UInt16.self) else {
      return []
    }
    // No line reaches across a jump.
    var finished = next.map { $0 == number } ?? true ? [] : finish()
    next = number &+ 1
    row.add(packet)
    columns[count % size.columns].add(packet)
    count += 1
    if count.isMultiple(of: size.columns) { finished += finishRow() }
    if count == size.columns * size.rows { finished += finish() }
    return finished
  }

  /// The packets that protect what is there of the matrix, at the end of the stream.
  mutating func finish() -> [PacketFeed.Packet] {
    var finished = finishRow()
    for index in columns.indices where columns[index].count > 0 {
      let bytes = columns[index].take(
        offset: UInt8(clamping: size.columns), isRow: false, sequence: columnSequence)
      columnSequence &+= 1
      finished.append(PacketFeed.Packet(bytes: bytes, portOffset: Port.columns.rawValue))
    }
    count = 0
    return finished
  }

  private mutating func finishRow() -> [PacketFeed.Packet] {
    guard row.count > 0 else { return [] }
    let bytes = row.take(offset: 1, isRow: true, sequence: rowSequence)
    rowSequence &+= 1
    return [PacketFeed.Packet(bytes: bytes, portOffset: Port.rows.rawValue)]
  }
}

/// The parity of one row or column.
private struct LineParity: Sendable {
  private(set) var count = 0
  private var base: UInt16 = 0
  private var flags: UInt16 = 0
  private var timestamp: UInt32 = 0
  private var newestTimestamp: UInt32 = 0
  private var length: UInt16 = 0
  private var bytes: [UInt8] = []

  mutating func add(_ packet: ByteBuffer) {
    guard
      let (flags, sequence, timestamp) = packet.getMultipleIntegers(
        at: packet.readerIndex, as: (UInt16, UInt16, UInt32).self)
    else { return }
    if count == 0 { base = sequence }
    count += 1
    self.flags ^= flags
    self.timestamp ^= timestamp
    newestTimestamp = timestamp
    let rest = packet.readableBytesView.dropFirst(RTPPacket.minimumLength)
    length ^= UInt16(truncatingIfNeeded: rest.count)
    if bytes.count < rest.count {
      bytes.append(contentsOf: repeatElement(0, count: rest.count - bytes.count))
    }
    for (place, byte) in zip(bytes.indices, rest) { bytes[place] ^= byte }
  }

  /// The packet, with its headers; the parity is empty again then.
  ///
  /// The RTP header has the parity of P, X, CC and M, and an SSRC of 0.
  mutating func take(offset: UInt8, isRow: Bool, sequence: UInt16) -> ByteBuffer {
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(
      0x8000 | flags & 0x3F80 | 96, sequence, newestTimestamp, UInt32(0))
    packet.writeMultipleIntegers(base, length, UInt32(0x80 | flags & 0x7F) << 24, timestamp)
    packet.writeMultipleIntegers(
      UInt8(isRow ? 0x40 : 0), offset, UInt8(clamping: count), UInt8(0))
    packet.writeBytes(bytes)
    self = LineParity()
    return packet
  }
}
