internal import Glibc
public import RTPWire

/// What an SDP says about where media is sent and how it is packed (RFC 8866).
///
/// Only what a receiver of RTP has use for is kept. Devices write much that the RFC does not allow;
/// what can be understood is, and each deviation leaves a ``Diagnostic``.
public struct SessionDescription: Sendable, Hashable {
  /// A `c=` line (§5.7): where media is sent to.
  public struct Connection: Sendable, Hashable {
    /// An IP address or host name, without TTL.
    public var address: String
    /// The time to live of an IPv4 group, 0 … 255.
    public var timeToLive: UInt8?
  }

  /// An `a=source-filter` line (RFC 4570 §3): who may send to an address.
  public struct SourceFilter: Sendable, Hashable {
    /// The address the filter is for, `*` standing for that of the `c=` line.
    public var destination: String
    public var sources: [String]
    /// Whether ``sources`` are those who may not send (`excl`).
    public var isExcluding = false
  }

  /// An `m=` section (§5.14).
  public struct Media: Sendable, Hashable {
    /// `video`, `audio`, `application` …, in lower case.
    public var kind: String
    /// 0 … 65535; RTSP servers give 0.
    public var port: Int
    /// The profile as written, such as `RTP/AVP`.
    public var profile: String
    /// In the order of preference, each 0 … 127.
    public var payloadTypes: [UInt8]
    /// The section's own `c=` line, or else the session's.
    public var connection: Connection?
    /// The section's own filters, or else the session's.
    public var sourceFilters: [SourceFilter] = []
    /// The port of `a=rtcp` (RFC 3605).
    public var controlPort: Int?
    /// Whether `a=rtcp-mux` is there (RFC 5761).
    public var isControlMultiplexed = false
    /// The value of `a=control` (RFC 2326 C.1.1), as written.
    public var control: String?
    /// Whether the section is for what a client sends: `a=sendonly` beside sections that are not
    /// (ONVIF Streaming Specification §5.3).
    public var isBackChannel = false
    /// The lines of `a=crypto` that can be used (RFC 4568), in order, without what is text of a
    /// key.
    public internal(set) var cryptos: [SDESCrypto] = []
    /// Why the first line of `a=crypto` that cannot be used cannot be.
    public internal(set) var cryptoFault: SDESFault?
    /// The section in which its packets are sent again, if that is a session of its own: an index
    /// among the description's sections.
    public internal(set) var retransmission: Int?
    /// What the first payload type that carries media by itself holds.
    public var description: MediaDescription

    /// Who may send to its address; `nil` where the filters leave it open.
    public var senders: SenderFilter? {
      let own = sourceFilters.filter { ["*", connection?.address].contains($0.destination) }
      let refused = own.filter(\.isExcluding).flatMap(\.sources)
      let wanted = own.filter { !$0.isExcluding }.flatMap(\.sources)
      let allowed = wanted.filter { !refused.contains($0) }
      if !allowed.isEmpty { return .only(allowed) }
      return refused.isEmpty ? nil : .allBut(refused)
    }

    /// Whether the section is for packets that are sent again, and nothing else (RFC 4588 §8.6).
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
    /// A `c=` line that was understood in part, or ignored.
    case invalidConnection
    /// An `m=` section that could not be understood, with all its attributes.
    case ignoredMedia
    case invalidPayloadType
    /// A clock rate of 0, none, a negative one, or one of 2^31 and more; 90,000 is used.
    case invalidClockRate(payloadType: UInt8)
    case emptyFormatParameters
    /// `a=fmtp` for a payload type of another section.
    case formatParametersElsewhere(payloadType: UInt8)
    case tooManyFormatParameters
    /// A line that is not a letter, an equals sign and a value.
    case invalidLine
    /// A line with a NUL byte, which is ignored.
    case nulByte
    /// Text that is not UTF-8; what does not fit is replaced.
    case invalidText
  }

  /// The session's `c=` line.
  public internal(set) var connection: Connection?
  /// The session's `a=control`, as written.
  public internal(set) var control: String?
  /// The sections that were understood, in order.
  public internal(set) var media: [Media] = []
  /// Whether it was read from a file that others than its owner can read.
  public internal(set) var isExposed = false
  /// What was tolerated, each kind once.
  public internal(set) var diagnostics: Set<Diagnostic> = []

  /// Reads a description; lines end in CRLF, LF or CR.
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

  /// The same for bytes that nobody else has, which are wiped behind it: keys may stand in them.
  init(wiping bytes: inout [UInt8]) throws(SessionDescriptionError) {
    defer {
      unsafe bytes.withUnsafeMutableBytes { bytes in
        if let base = bytes.baseAddress { unsafe explicit_bzero(base, bytes.count) }
      }
    }
    try self.init(parsing: bytes)
  }

  init() {}

  /// Bytes; the largest descriptions of devices have some ten thousand.
  static let maximumLength = 128 << 10
  static let maximumLines = 2000
  static let maximumMedia = 64
  /// Filters of a section, and sources of a filter; Linux joins a group for 10 unless told
  /// otherwise.
  static let maximumSources = 64
  /// Lines of `a=crypto` in a section; a sender has one for each suite.
  static let maximumCryptos = 16
  /// Parameters of one `a=fmtp`; the most that a video format defines is about 30.
  static let maximumFormatParameters = 128
}

/// Why bytes are not a session description that can be used.
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
