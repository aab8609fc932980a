internal import NIOCore
internal import RTPWire

/// One record of a file, as far as the file's own format goes.
struct Recording: Sendable, Hashable {
  enum Content: Sendable, Hashable {
    /// What went over a link, with the header of the link.
    case frame(ByteBuffer, LinkType)
    /// An RTP or RTCP packet without anything around it.
    case packet(ByteBuffer, Datagram.Channel)
    /// A session description (RFC 8866) in a comment, as ``CaptureFile`` writes it.
    case description([UInt8])
  }

  /// Nanoseconds since 1970, or since the start where the file knows no date; `nil` without a time.
  var time: Int64?
  var content: Content
  /// Bytes that were on the link and are not in the file: the capture had a snap length.
  var missing = 0
}

/// Takes a file of recorded packets apart: bytes of reads in, cut anywhere, records out.
protocol RecordingReader: Sendable {
  /// Takes the bytes of one read; pull ``next()`` until `nil` before the next one.
  mutating func append(_ bytes: ByteBuffer)

  /// The next record that is there whole.
  ///
  /// - Throws: what makes the rest of the file unreadable.
  mutating func next() throws(DamagedRecording) -> Recording?

  /// Bytes of a record that has begun and whose end has not come.
  var unfinished: Int { get }

  /// What was passed over because it cannot be meant, a sentence each.
  var oddities: [String] { get }
}

/// Why a file cannot be read on from a place: nothing in it says where the next record begins.
struct DamagedRecording: Error, Sendable, Hashable, CustomStringConvertible {
  enum Reason: Sendable, Hashable {
    /// A record claims to be longer than any can be.
    case recordTooLong(UInt64, limit: Int)
    /// The two lengths of a pcapng block are not the same.
    case lengthsDiffer(UInt32, UInt32)
    /// A pcapng block is shorter than its own frame, or no multiple of four.
    case blockLength(UInt32)
    /// A section of pcapng whose byte order or version is unknown.
    case section
    /// What is compressed is not as gzip has it.
    case compression
    /// What is compressed expands more than so many times.
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
      case .section: "a section is of an unknown kind"
      case .compression: "what stands there is not compressed as gzip does it"
      case .expansion(let times): "it expands more than \(times) times, as no capture does"
      }
    return "it is damaged at byte \(offset): \(what)"
  }
}

/// The kinds of link that packets are recorded from, by their numbers in capture files
/// (https://www.tcpdump.org/linktypes.html).
struct LinkType: RawRepresentable, Sendable, Hashable {
  var rawValue: UInt32

  static let null = LinkType(rawValue: 0)
  static let ethernet = LinkType(rawValue: 1)
  static let raw = LinkType(rawValue: 101)
  static let loop = LinkType(rawValue: 108)
  static let linuxCooked = LinkType(rawValue: 113)
  static let ipv4 = LinkType(rawValue: 228)
  static let ipv6 = LinkType(rawValue: 229)
  static let linuxCooked2 = LinkType(rawValue: 276)
  /// What FreeBSD and OpenBSD call raw IP in files of their own.
  static let rawOfBSD: Set<LinkType> = [LinkType(rawValue: 12), LinkType(rawValue: 14)]
}
