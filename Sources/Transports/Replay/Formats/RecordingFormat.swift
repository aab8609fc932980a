internal import NIOCore

/// The formats of files that can be replayed, told by how a file begins.
enum RecordingFormat: Sendable, Hashable, CaseIterable {
  case pcap
  case pcapng
  case rtpdump
  case rtp4
  case rfc4571

  /// How files begin that say what they are.
  static let signatures =
    PcapReader.Header.signatures
    + [[0x0A, 0x0D, 0x0D, 0x0A], RTPDumpReader.signature, GzipReader.signature]
  /// Bytes by which every format with a signature is told.
  static let signatureLength = 13

  init(_ framing: PacketFraming) {
    switch framing {
    case .rtp4: self = .rtp4
    case .rfc4571: self = .rfc4571
    }
  }

  /// The format of a file that begins with `bytes`; its name decides only where they leave it open.
  ///
  /// What has a signature goes by that. Lengths have none, so they are believed where what stands
  /// behind the first one can be RTP.
  init?(beginning bytes: ByteBuffer, name: String) {
    if PcapReader.Header.signatures.contains(where: bytes.readableBytesView.starts) {
      self = .pcap
    } else if Self.isPcapng(bytes) {
      self = .pcapng
    } else if bytes.readableBytesView.starts(with: RTPDumpReader.signature) {
      self = .rtpdump
    } else if Self.isFramed(bytes) || name.lowercased().hasSuffix(".rtp4") {
      self = .rtp4
    } else {
      return nil
    }
  }

  var name: String {
    switch self {
    case .pcap: "pcap"
    case .pcapng: "pcapng"
    case .rtpdump: "rtpdump"
    case .rtp4: "rtp4"
    case .rfc4571: "rfc4571"
    }
  }

  func makeReader() -> any RecordingReader {
    switch self {
    case .pcap: PcapReader()
    case .pcapng: PcapngReader()
    case .rtpdump: RTPDumpReader()
    case .rtp4: FramedRecordingReader(.rtp4)
    case .rfc4571: FramedRecordingReader(.rfc4571)
    }
  }

  private static func isPcapng(_ bytes: ByteBuffer) -> Bool {
    guard
      let (type, _, magic) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt32, UInt32, UInt32).self)
    else { return false }
    let order = PcapngReader.byteOrderMagic
    return type == PcapngReader.BlockType.section && [order, order.byteSwapped].contains(magic)
  }

  /// Whether a packet of RTP version 2 and a believable length stands behind the first length.
  private static func isFramed(_ bytes: ByteBuffer) -> Bool {
    guard
      let (length, first) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt32, UInt8).self)
    else { return false }
    return (8...UInt32(FramedPackets.defaultLimit)).contains(length) && first >> 6 == 2
  }
}
