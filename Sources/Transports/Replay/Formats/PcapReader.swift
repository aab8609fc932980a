internal import NIOCore

/// Reads pcap files (draft-ietf-opsawg-pcap) in both byte orders, with micro- or nanoseconds.
struct PcapReader: RecordingReader {
  /// The header of a supported file; `nil` for others.
  struct Header: Sendable, Hashable {
    static let length = 24
    /// The first four bytes, for both byte orders, with micro- and nanoseconds.
    static let signatures: [[UInt8]] = [
      [0xA1, 0xB2, 0xC3, 0xD4], [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0x3C, 0x4D],
      [0x4D, 0x3C, 0xB2, 0xA1],
    ]

    let order: Endianness
    /// Nanoseconds per tick of the fraction.
    let tick: Int64
    let link: LinkType

    init?(_ bytes: ByteBuffer) {
      let start = bytes.readerIndex
      guard let magic = bytes.getInteger(at: start, as: UInt32.self) else { return nil }
      switch magic {
      case 0xA1B2_C3D4: (order, tick) = (.big, 1000)
      case 0xD4C3_B2A1: (order, tick) = (.little, 1000)
      case 0xA1B2_3C4D: (order, tick) = (.big, 1)
      case 0x4D3C_B2A1: (order, tick) = (.little, 1)
      default: return nil
      }
      guard let link = bytes.getInteger(at: start + 20, endianness: order, as: UInt32.self) else {
        return nil
      }
      // The upper bits describe a frame check sequence.
      self.link = LinkType(rawValue: link & 0xFFFF)
    }
  }

  /// The largest packet that Wireshark accepts.
  static let maximumRecord = 256 << 10

  let oddities: [String] = []
  private var bytes = RecordBytes()
  private var header: Header?
  private var record: (time: Int64, length: Int, missing: Int)?

  var unfinished: Int { record == nil ? bytes.count : bytes.count + Self.recordHeader }

  mutating func append(_ bytes: ByteBuffer) { self.bytes.append(bytes) }

  mutating func next() throws(DamagedRecording) -> Recording? {
    if header == nil { try readHeader() }
    guard let header else { return nil }
    if record == nil { try readRecord(header) }
    guard let record, let frame = bytes.take(record.length) else { return nil }
    self.record = nil
    return Recording(
      time: record.time, content: .frame(frame, header.link), missing: record.missing)
  }

  private mutating func readHeader() throws(DamagedRecording) {
    guard let head = bytes.take(Header.length) else { return }
    header = Header(head)
    guard header != nil else { throw DamagedRecording(offset: 0, reason: .section) }
  }

  /// Seconds, fraction, bytes in the file, and bytes on the link.
  private static let recordHeader = 16

  private mutating func readRecord(_ header: Header) throws(DamagedRecording) {
    let offset = bytes.offset
    guard let head = bytes.take(Self.recordHeader),
      let (seconds, fraction, length, original) = head.getMultipleIntegers(
        at: head.readerIndex, endianness: header.order, as: (UInt32, UInt32, UInt32, UInt32).self)
    else { return }
    guard length <= Self.maximumRecord else {
      throw DamagedRecording(
        offset: offset, reason: .recordTooLong(UInt64(length), limit: Self.maximumRecord))
    }
    // Cannot overflow: 32 bits each.
    let time = Int64(seconds) * 1_000_000_000 + Int64(fraction) * header.tick
    record = (time, Int(length), max(0, Int(original) - Int(length)))
  }
}
