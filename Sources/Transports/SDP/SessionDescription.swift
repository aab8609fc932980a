internal import Glibc
public import RTPWire

/// An SDP session description: where media is sent, and in which format (RFC 8866).
///
/// Only what an RTP receiver needs is kept. Devices write much that the RFC forbids; whatever can
/// be understood is used, and each deviation leaves a ``Diagnostic``.
public struct SessionDescription: Sendable, Hashable {
  /// A `c=` line (§5.7): the destination of the media.
  public struct Connection: Sendable, Hashable {
    /// An IP address or host name, without TTL.
    public var address: String
  }

  /// An `a=source-filter` line (RFC 4570 §3): who may send to an address.
  public struct SourceFilter: Sendable, Hashable {
    /// The address that the filter is for; `*` means that of the `c=` line.
    public var destination: String
    public var sources: [String]
    /// Whether ``sources`` are the excluded senders (`excl`).
    public var isExcluding = false
  }

  /// An `m=` section (§5.14).
  public struct Media: Sendable, Hashable {
    /// What the `m=` line calls it.
    public var kind: MediaKind { description.kind }
    /// 0 … 65535; RTSP servers give 0.
    public var port: Int
    /// The profile as written, such as `RTP/AVP`.
    public var profile: String
    /// In order of preference, each 0 … 127.
    public var payloadTypes: [UInt8]
    /// The section's own `c=` line, or else the session's.
    public var connection: Connection?
    /// The section's own filters, or else the session's.
    public var sourceFilters: [SourceFilter] = []
    /// The port of `a=rtcp` (RFC 3605).
    public var controlPort: Int?
    /// Whether `a=rtcp-mux` is present (RFC 5761).
    public var isControlMultiplexed = false
    /// The value of `a=control` (RFC 2326 C.1.1), as written.
    public var control: String?
    /// Whether the section is for media that the client sends: `a=sendonly` beside sections without
    /// it (ONVIF Streaming Specification §5.3).
    public var isBackChannel = false
    /// Whether its keys are to be agreed on with `a=key-mgmt` (RFC 4567), which nothing here does.
    public internal(set) var hasKeyManagement = false
    /// The usable `a=crypto` lines (RFC 4568), in order, without the keys as text.
    public internal(set) var cryptos: [SDESCrypto] = []
    /// Why the first unusable `a=crypto` line was rejected.
    public internal(set) var cryptoFault: SDESFault?
    /// The index of the section for retransmissions, if they have a separate session.
    public internal(set) var retransmission: Int?
    /// The formats that carry media itself, in order of preference; at most 32.
    public internal(set) var formats: [MediaDescription] = []
    /// The format that is used: the first, or that of ``SessionDescription/choosing(by:)``.
    public var description: MediaDescription

    /// Who may send to its address; `nil` if no filter applies.
    public var senders: SenderFilter? {
      let own = sourceFilters.filter { ["*", connection?.address].contains($0.destination) }
      let refused = own.filter(\.isExcluding).flatMap(\.sources)
      let wanted = own.filter { !$0.isExcluding }.flatMap(\.sources)
      let allowed = wanted.filter { !refused.contains($0) }
      if !allowed.isEmpty { return .only(allowed) }
      return refused.isEmpty ? nil : .allBut(refused)
    }

    /// Whether the section is only for retransmissions (RFC 4588 §8.6).
    public var isRetransmission: Bool { description.encodingName?.lowercased() == "rtx" }
  }

  /// A deviation from the RFC that was tolerated.
  public enum Diagnostic: Sendable, Hashable {
    case missingVersion
    case missingOrigin
    /// An `o=` line inside an `m=` section.
    case misplacedOrigin
    /// A `t=` line that is not two numbers.
    case invalidTiming
    /// A `c=` line that was ignored or only partly understood.
    case invalidConnection
    /// An `m=` section that could not be understood; it was ignored with all its attributes.
    case ignoredMedia
    case invalidPayloadType
    /// A clock rate that is missing, 0, negative, or at least 2^31.
    ///
    /// What the encoding has by static assignment is used (RFC 3551 §6), or else 90,000.
    case invalidClockRate(payloadType: UInt8)
    case emptyFormatParameters
    /// `a=fmtp` for a payload type of another section.
    case formatParametersElsewhere(payloadType: UInt8)
    /// `a=fmtp` with more parameters, or more bytes, than are read; the others are ignored.
    case tooManyFormatParameters
    /// A line other than a letter, an equals sign and a value.
    case invalidLine
    /// A line with a NUL byte, which is ignored.
    case nulByte
    /// Text that is not UTF-8; invalid bytes are replaced.
    case invalidText
  }

  /// The session's `c=` line.
  public internal(set) var connection: Connection?
  /// The session's `a=control`, as written.
  public internal(set) var control: String?
  /// The sections that were understood, in order.
  public internal(set) var media: [Media] = []
  /// Whether it was read from a file that users other than its owner can read.
  public internal(set) var isExposed = false
  /// What was tolerated, each kind once.
  public internal(set) var diagnostics: Set<Diagnostic> = []

  /// Reads a description with lines that end in CRLF, LF or CR.
  ///
  /// - Throws: the limit that it exceeds, or that it is not a description at all.
  public init(parsing bytes: [UInt8]) throws(SessionDescriptionError) {
    guard bytes.count <= Self.maximumLength else {
      throw .tooLong(count: bytes.count, limit: Self.maximumLength)
    }
    let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }
    guard lines.count <= Self.maximumLines else {
      throw .tooManyLines(count: lines.count, limit: Self.maximumLines)
    }
    var parser = SessionDescriptionParser()
    for line in lines { try parser.read(line) }
    self = try parser.finish()
  }

  /// The same for bytes that are not shared; they are wiped afterwards, because they may contain
  /// keys.
  init(wiping bytes: inout [UInt8]) throws(SessionDescriptionError) {
    defer {
      unsafe bytes.withUnsafeMutableBytes { bytes in
        if let base = bytes.baseAddress { unsafe explicit_bzero(base, bytes.count) }
      }
    }
    try self.init(parsing: bytes)
  }

  init() {}

  /// Bytes; the largest descriptions of devices have about ten thousand.
  static let maximumLength = 128 << 10
  static let maximumLines = 2000
  static let maximumMedia = 64
  /// Formats per section; browsers offer about 25 beside those that repeat and correct.
  static let maximumFormats = 32
  /// Filters per section, and sources per filter; Linux allows 10 per group by default.
  static let maximumSources = 64
  /// `a=crypto` lines per section; a sender writes one per suite.
  static let maximumCryptos = 16
  /// Parameters per `a=fmtp`, repeated ones too; video formats define about 30 at most.
  static let maximumFormatParameters = 128
  /// Bytes of the parameters of an `a=fmtp`; the parameter sets of cameras have less than 2 KiB.
  static let maximumFormatLength = 8 << 10
}

/// Why bytes are not a usable session description.
public enum SessionDescriptionError: Error, Sendable, Hashable, CustomStringConvertible {
  case tooLong(count: Int, limit: Int)
  case tooManyLines(count: Int, limit: Int)
  case tooManyMedia(limit: Int)
  /// There is neither a version nor a media section.
  case notADescription

  public var description: String {
    switch self {
    case .tooLong(let count, let limit): return "it has \(count) bytes, more than \(limit)"
    case .tooManyLines(let count, let limit): return "it has \(count) lines, more than \(limit)"
    case .tooManyMedia(let limit): return "it has more than \(limit) media sections"
    case .notADescription: return "it is not SDP; SDP begins with 'v=0' and has an 'm=' line"
    }
  }
}
