internal import NIOCore

/// A file that is not a recording of packets, recognized by its first bytes; its description says
/// what it is and what to do instead.
public enum ForeignContent: Sendable, Hashable {
  /// A file for players, such as `MP4`.
  case video(String)
  case sound(String)
  case picture(String)
  /// A file that another program has to decompress first.
  case compressed(String, tool: String)
  /// A capture in a format that Wireshark's `editcap` turns into pcapng.
  case otherCapture(String)
  /// The bytes of an RTSP connection without the headers of their packets.
  case connection
  case webPage
  case playlist
  case sessionDescription
  /// The cameras of `rtp-recv fleet`.
  case fleet

  /// How many first bytes are examined: they include two MPEG-TS packets.
  static let signatureLength = 512

  /// `nil` for unknown contents.
  init?(beginning bytes: ByteBuffer) {
    let view = bytes.readableBytesView
    func has(_ signature: String, at offset: Int = 0) -> Bool {
      view.dropFirst(offset).starts(with: signature.utf8)
    }
    if let kind = Self.signatures.first(where: { view.starts(with: $0.bytes) })?.content {
      self = kind
    } else if has("ftyp", at: 4) || has("moov", at: 4) || has("mdat", at: 4) {
      self = .video("MP4")
    } else if has("RIFF") {
      self = has("WAVE", at: 8) ? .sound("WAV") : .video("AVI")
    } else if Self.isTransportStream(bytes) {
      self = .video("MPEG-TS")
    } else if Self.requests.contains(where: { has($0) }) {
      self = .connection
    } else if has("<!") || has("<html") || has("<HTML") || has("<?xml") {
      self = .webPage
    } else if has("v=0") || has("SDP:") {
      // FFmpeg prints such a line before it.
      self = .sessionDescription
    } else if has("version: 1") || has("cameras:") || has("#"), Self.hasCameras(view) {
      self = .fleet
    } else {
      return nil
    }
  }

  private static let signatures: [(bytes: [UInt8], content: ForeignContent)] = [
    ([0x1A, 0x45, 0xDF, 0xA3], .video("Matroska or WebM")),
    (Array("FLV".utf8), .video("FLV")), (Array("DKIF".utf8), .video("IVF")),
    (Array("OggS".utf8), .video("Ogg")), (Array("YUV4MPEG2".utf8), .video("raw YUV4MPEG2")),
    ([0, 0, 1, 0xBA], .video("MPEG-PS")), ([0, 0, 0, 1], .video("an elementary stream of")),
    ([0, 0, 1], .video("an elementary stream of")),
    (Array("ID3".utf8), .sound("MP3")), (Array("fLaC".utf8), .sound("FLAC")),
    ([0xFF, 0xD8, 0xFF], .picture("JPEG")), ([0x89, 0x50, 0x4E, 0x47], .picture("PNG")),
    (Array("GIF8".utf8), .picture("GIF")),
    ([0x28, 0xB5, 0x2F, 0xFD], .compressed("zstd", tool: "zstd -d")),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], .compressed("xz", tool: "xz -d")),
    (Array("BZh".utf8), .compressed("bzip2", tool: "bzip2 -d")),
    ([0x04, 0x22, 0x4D, 0x18], .compressed("lz4", tool: "lz4 -d")),
    ([0x50, 0x4B, 3, 4], .compressed("zip", tool: "unzip")),
    (Array("snoop\0".utf8), .otherCapture("snoop")),
    (Array("GMBU".utf8), .otherCapture("Network Monitor")),
    (Array("RTSS".utf8), .otherCapture("Network Monitor")),
    (Array("iptrace".utf8), .otherCapture("iptrace")),
    (Array("#EXTM3U".utf8), .playlist),
  ]

  /// What either side of an RTSP connection begins with (RFC 2326 §6.1, §7.1).
  private static let requests = ["RTSP/1.", "OPTIONS rtsp", "DESCRIBE rtsp", "SETUP rtsp"]

  /// Whether keys of a file of cameras are at the beginnings of lines.
  private static func hasCameras(_ view: ByteBufferView) -> Bool {
    let lines = String(decoding: view.prefix(signatureLength), as: UTF8.self)
      .split(whereSeparator: \.isNewline)
    func has(_ key: String) -> Bool { lines.contains { $0.hasPrefix(key) } }
    return has("cameras:") || has("version: 1") && has("defaults:")
  }

  /// Packets of 188 bytes begin with 0x47 (ISO/IEC 13818-1 §2.4.3.2).
  private static func isTransportStream(_ bytes: ByteBuffer) -> Bool {
    [0, 188].allSatisfy { bytes.getInteger(at: bytes.readerIndex + $0, as: UInt8.self) == 0x47 }
  }
}

extension ForeignContent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .video(let name):
      "it is \(name) video and contains no RTP packets; a player such as ffplay shows it"
    case .sound(let name):
      "it is \(name) sound and contains no RTP packets; a player such as ffplay plays it"
    case .picture(let name): "it is a \(name) picture and contains no RTP packets"
    case .compressed(let name, let tool):
      "it is compressed with \(name); unpack it first, with: \(tool) FILE"
    case .otherCapture(let name):
      "it is a capture of \(name); make a pcapng of it first, with: editcap FILE NEW.pcapng"
    case .connection:
      "it is the text of an RTSP connection, without times; record it as packets: tcpdump -w FILE"
    case .webPage: "it is a web page, not a recording; give the URL of the stream itself"
    case .playlist: "it is a playlist; give one of the URLs in it"
    case .sessionDescription:
      "it is a session description; give its name instead: rtp-recv session.sdp"
    case .fleet: "it is a file of cameras; try: rtp-recv fleet FILE"
    }
  }
}
