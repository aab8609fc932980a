internal import NIOCore

/// The formats of recordings, recognized by their first bytes.
enum RecordingFormat: Sendable, Hashable, CaseIterable {
  case pcap
  case pcapng
  case rtpdump
  case rtp4
  case rfc4571

  /// The signatures of formats that have one.
  static let signatures =
    PcapReader.Header.signatures
    + [[0x0A, 0x0D, 0x0D, 0x0A], RTPDumpReader.signature, GzipReader.signature]
  /// How many bytes are enough to recognize every signature.
  static let signatureLength = 13

  init(_ framing: PacketFraming) {
    switch framing {
    case .rtp4: self = .rtp4
    case .rfc4571: self = .rfc4571
    }
  }

  /// The format of a file that begins with `bytes`; its name decides only if they do not.
  ///
  /// Signatures are unambiguous. Length-prefixed files have none, so they are recognized if what
  /// follows the first length can be RTP.
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

  /// Whether an RTP packet of version 2 and a plausible length follows the first length.
  private static func isFramed(_ bytes: ByteBuffer) -> Bool {
    guard
      let (length, first) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt32, UInt8).self)
    else { return false }
    return (8...UInt32(FramedPackets.defaultLimit)).contains(length) && first >> 6 == 2
  }
}
