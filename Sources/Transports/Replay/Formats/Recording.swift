internal import NIOCore
internal import RTPWire

/// One record of a file, before its contents are dissected.
struct Recording: Sendable, Hashable {
  enum Content: Sendable, Hashable {
    /// A frame from a link, including the link's header.
    case frame(ByteBuffer, LinkType)
    /// A bare RTP or RTCP packet.
    case packet(ByteBuffer, Datagram.Channel)
    /// A session description (RFC 8866) in a comment, as ``CaptureFile`` writes it.
    case description([UInt8])
  }

  /// Nanoseconds since 1970, or since the start if the file has no date; `nil` without a time.
  var time: Int64?
  var content: Content
  /// Bytes that were on the link but not recorded, because of a snap length.
  var missing = 0
}

/// Splits a file of recorded packets: bytes of reads in, cut anywhere, records out.
protocol RecordingReader: Sendable {
  /// Adds the bytes of a read; call ``next()`` until `nil` before adding the next one.
  mutating func append(_ bytes: ByteBuffer)

  /// The next complete record.
  ///
  /// - Throws: why the rest of the file cannot be read.
  mutating func next() throws(DamagedRecording) -> Recording?

  /// Bytes of an incomplete record.
  var unfinished: Int { get }

  /// What was skipped as implausible, one sentence each.
  var oddities: [String] { get }
}

/// Why a file cannot be read further: nothing shows where the next record begins.
struct DamagedRecording: Error, Sendable, Hashable, CustomStringConvertible {
  enum Reason: Sendable, Hashable {
    /// A record claims an impossible length.
    case recordTooLong(UInt64, limit: Int)
    /// The two lengths of a pcapng block differ.
    case lengthsDiffer(UInt32, UInt32)
    /// A pcapng block is shorter than its own frame, or not a multiple of four.
    case blockLength(UInt32)
    /// A pcapng section with an unknown byte order or version.
    case section
    /// Invalid gzip data.
    case compression
    /// The file expands more than this many times.
    case expansion(UInt64)
  }

  /// Bytes from the beginning of the file, or of what was read of it.
  var offset: UInt64
  var reason: Reason

  var description: String {
    let what =
      switch reason {
      case .recordTooLong(let length, let limit):
        "a record claims \(length) bytes, of which it can have \(limit)"
      case .lengthsDiffer(let first, let second):
        "a block has the lengths \(first) and \(second)"
      case .blockLength(let length): "a block cannot have the length \(length)"
      case .section: "the byte order or version of a section is unknown"
      case .compression: "the gzip data is invalid"
      case .expansion(let times): "it expands more than \(times) times, as no capture does"
      }
    return "it is damaged at byte \(offset): \(what)"
  }
}

/// The types of recorded links, by their numbers in capture files
/// (https://www.tcpdump.org/linktypes.html).
struct LinkType: RawRepresentable, Sendable, Hashable {
  var rawValue: UInt32

  static let null = LinkType(rawValue: 0)
  static let ethernet = LinkType(rawValue: 1)
  static let ppp = LinkType(rawValue: 9)
  static let pppInHDLC = LinkType(rawValue: 50)
  static let raw = LinkType(rawValue: 101)
  static let loop = LinkType(rawValue: 108)
  static let linuxCooked = LinkType(rawValue: 113)
  /// IEEE 802.11 behind what the radio says of it.
  static let radiotap = LinkType(rawValue: 127)
  /// Endace's cards.
  static let erf = LinkType(rawValue: 197)
  static let ipv4 = LinkType(rawValue: 228)
  static let ipv6 = LinkType(rawValue: 229)
  /// Linux's Netfilter.
  static let nflog = LinkType(rawValue: 239)
  static let linuxCooked2 = LinkType(rawValue: 276)
  /// Raw IP in files of FreeBSD and OpenBSD.
  static let rawOfBSD: Set<LinkType> = [LinkType(rawValue: 12), LinkType(rawValue: 14)]
}
