/// What RTP-Info says about the first packet of one stream (RFC 2326 §12.33).
struct RTPInfo: Sendable, Hashable {
  /// As the server wrote it.
  private(set) var url: String?
  private(set) var sequenceNumber: UInt16?
  /// `nil` also when it is not a valid timestamp: OMNY's M5S2A writes negative ones.
  private(set) var timestamp: UInt32?

  /// Reads the entries of a field.
  ///
  /// A URL may contain commas and semicolons. So an entry ends only where the next `url=` begins,
  /// and a URL ends only before `seq=` or `rtptime=`.
  static func parse(_ text: String) -> [RTPInfo] {
    let bounded = String(decoding: text.utf8.prefix(maximumLength), as: UTF8.self)
    var entries: [String] = []
    for part in bounded.split(separator: ",") {
      if entries.isEmpty || part.parameter?.name == "url" {
        entries.append(String(part))
      } else {
        entries[entries.endIndex - 1] += "," + part
      }
    }
    return entries.prefix(SessionDescription.maximumMedia).map { RTPInfo($0) }
  }

  private init(_ entry: String) {
    var address: [Substring] = []
    // Laureii cameras end the field with a semicolon.
    for part in entry.split(separator: ";", omittingEmptySubsequences: true) {
      switch part.parameter?.name {
      case "seq": sequenceNumber = number(part).flatMap { UInt16(exactly: $0) }
      case "rtptime": timestamp = number(part).flatMap { UInt32(exactly: $0) }
      default:
        address.append(part)
      }
    }
    guard let (name, value) = address.joined(separator: ";").parameter, name == "url" else {
      return
    }
    url = value
  }

  private func number(_ part: Substring) -> Int? { part.parameter?.value.decimal }

  /// Whether the entry is for the stream that was set up with the URL `control`.
  ///
  /// Servers write the whole URL, or only the control attribute, or another address of theirs. So
  /// only the path is compared.
  func isFor(_ control: String) -> Bool {
    guard let url else { return false }
    if url == control { return true }
    let paths = [url, control].map { SourceAddress.scheme(of: $0) == nil ? $0 : Self.path(of: $0) }
    guard !paths[0].isEmpty else { return false }
    return paths[0] == paths[1] || paths[1].hasSuffix("/" + paths[0])
  }

  private static func path(of url: String) -> String {
    guard let slashes = url.firstRange(of: "//") else { return url }
    let rest = url[slashes.upperBound...]
    return String(rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...])
  }

  /// How many bytes of the field are read; an entry has about a hundred.
  private static let maximumLength = 8 << 10
}
