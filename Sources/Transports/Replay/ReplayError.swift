/// Why a recording cannot be played; each description says what happened and what to try.
public enum ReplayError: Error, Sendable, Hashable {
  /// The file cannot be opened; the kernel's message.
  case unreadable(reason: String)
  case isDirectory
  /// A device or a socket, which is neither a file nor a pipe.
  case notRegular
  /// An empty file.
  case empty
  /// A file that ends before its first packet.
  case endsInHeader
  /// A capture without packets.
  case noPackets
  /// A known format that is not a recording.
  case foreign(ForeignContent)
  /// An unknown format.
  case unknownFormat
  /// No RTP; what the file contains instead.
  case noRTP(contents: String)
  /// Media without RTP, such as `MPEG-TS video`; what else the file contains.
  case mediaWithoutRTP(String, contents: String)
  /// A capture of which too little is left to recognize RTP; what the file contains.
  case cutShort(contents: String)
  /// No flow fits; a list of those that exist, and the number of others.
  case noSuchFlow(asked: String, flows: [String], more: Int)
  /// Nothing in the file shows how to continue after this place.
  case damaged(String)
}

extension ReplayError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let reason): return "it cannot be read: \(reason)"
    case .isDirectory: return "it is a directory; give one recording in it"
    case .notRegular: return "it is neither a file nor a pipe; a capture can come from both"
    case .empty: return "it is empty: nothing was recorded"
    case .endsInHeader:
      return "it ends inside its own header: the recording was cut off before the first packet"
    case .noPackets: return "no packet was captured in it"
    case .foreign(let content): return "\(content)"
    case .unknownFormat:
      return "its format is none of pcap, pcapng, rtpdump and rtp4 "
        + "(packets after 4-byte lengths); for other files of length-prefixed packets give "
        + "--framing rtp4 or rfc4571"
    case .noRTP(let contents):
      return "\(contents), none of them RTP; what is encrypted cannot be seen"
    case .mediaWithoutRTP(let name, let contents):
      return "\(contents): \(name) without RTP; have the sender put it into RTP (ffmpeg: -f rtp)"
    case .cutShort(let contents):
      return "it is cut short, in the middle of a packet; what is left, \(contents), "
        + "is too little to recognize RTP"
    case .noSuchFlow(let asked, let flows, let more):
      let list = flows.map { "\n  \($0)" }.joined()
      return "there is no RTP with \(asked) in it; there is"
        + (list.isEmpty ? " none at all" : list) + (more > 0 ? "\n  and \(more) more" : "")
    case .damaged(let words):
      return words + "; what came before was played"
    }
  }
}

extension ReplayError: TransportFault {
  /// A recording does not change.
  public var fault: ConnectionFault { .permanent }

  public var outcome: TransportOutcome? {
    switch self {
    case .noRTP, .mediaWithoutRTP, .cutShort, .noPackets: .noMedia
    case .noSuchFlow: .noSuchStream
    case .unreadable, .isDirectory, .notRegular, .empty, .endsInHeader, .foreign, .unknownFormat,
      .damaged:
      nil
    }
  }
}
