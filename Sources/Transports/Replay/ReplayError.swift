/// What keeps a recording from being played; each description says what happened and what to try.
public enum ReplayError: Error, Sendable, Hashable {
  case isDirectory
  /// A pipe, a terminal or a socket; a recording is looked through before it is played.
  case notRegular
  /// None of the formats that are known here.
  case unknownFormat
  /// What there is instead.
  case noRTP(contents: String)
  /// Nothing fits what was asked for; the flows there are, and how many more.
  case noSuchFlow(asked: String, flows: [String], more: Int)
  /// Nothing in the file says how to go on behind this place.
  case damaged(String)
}

extension ReplayError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .isDirectory:
      return "it is a directory; give the recording itself"
    case .notRegular:
      return "it is no regular file, and a recording is looked through before it is played; "
        + "write it to a file first"
    case .unknownFormat:
      return "it is no recording that is known here: there are pcap, pcapng, rtpdump and rtp4 "
        + "(packets behind 4-byte lengths); --framing rtp4 or rfc4571 says what the file does not"
    case .noRTP(let contents):
      return "there is no RTP in it, but \(contents); RTP in encrypted connections or on unusual "
        + "links can not be seen"
    case .noSuchFlow(let asked, let flows, let more):
      let list = flows.map { "\n  \($0)" }.joined()
      return "there is no RTP with \(asked) in it; there is"
        + (list.isEmpty ? " none at all" : list) + (more > 0 ? "\n  and \(more) more" : "")
    case .damaged(let words):
      return words + "; what came before was played"
    }
  }
}
