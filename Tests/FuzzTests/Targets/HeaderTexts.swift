import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// F12: URLs and the fields of RTSP and HTTP, with what is decided by them.
  static let headers = FuzzTarget("headers") { choices in
    let kind = choices.byte() % 8
    let text = String(decoding: choices.all(), as: UTF8.self)
    switch kind {
    case 0:
      let header = TransportHeader(text)
      let ports = [header.serverPort, header.port].compactMap(\.self)
      try require(
        ports.allSatisfy { (1...65_535).contains($0.media) && ($0.control ?? 1) < 65_536 },
        "\(header)")
    case 1, 2:
      if let header = SessionHeader(text) {
        try require(
          !header.identifier.isEmpty && header.identifier.utf8.count <= 1024, "\(header)")
        try require(!header.identifier.contains { $0.isWhitespace }, "\(header)")
      }
    case 3:
      try logIn(text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    case 4, 5:
      guard let (url, _) = try? ServerURL.parse(text, as: kind == 4 ? .rtsp : .http)
      else { break }
      try require((1...65_535).contains(url.port) && !url.host.isEmpty, "\(url)")
      try require(!url.description.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "\(url)")
      guard url.description.utf8.count <= ServerURL.maximumLength else { break }
      let again = try ServerURL.parse(url.description, as: url.family)
      try requireEqual(again.url.port, url.port, "\(url)")
      try requireEqual(again.url.path, url.path, "\(url)")
      try require(again.1 == nil, "\(url) has a login")
    case 6: try controls(text)
    default:
      var head = HTTPHead()
      var isTaken = true
      for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
        isTaken = isTaken && head.append(line)
      }
      try require(!isTaken || head.byteCount <= HTTPHead.limit, "\(head.byteCount) bytes")
      _ = head.objection
    }
  }

  private static func logIn(_ fields: [String]) throws {
    // Control characters are left out by the readers of messages.
    let challenges = AuthenticationChallenge.parse(
      fields.map { $0.filter { $0.asciiValue.map { $0 >= 0x20 } ?? true } })
    try require(
      challenges.count <= AuthenticationChallenge.maximumChallenges,
      "\(challenges.count) challenges"
    )
    var authenticator = Authenticator(
      credentials: Credentials(user: "user", password: "a long secret"),
      randomness: SplitMix64(seed: 1))
    var attempts = Authenticator.Attempts()
    var tries = 0
    while authenticator.consider(challenges, attempts: &attempts) == .retry {
      tries += 1
      try require(tries <= 3, "the password is tried again and again")
      let field = authenticator.authorization(
        method: "DESCRIBE", uri: "rtsp://camera/", attempts: &attempts)
      guard let field else { throw Violation(description: "nothing answers \(challenges)") }
      try require(!field.contains("a long secret"), "\(field) has the password")
      try require(!field.utf8.contains { $0 == 0x0A || $0 == 0x0D }, "\(field) has two lines")
    }
  }

  private static func controls(_ text: String) throws {
    let parts = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    var response = RTSPResponse(status: 200, reason: "OK")
    response.headers.add("Content-Base", String(parts[0]))
    let lines =
      "v=0\r\na=control:\(parts.dropFirst().first ?? "*")\r\nm=video 0 RTP/AVP 96\r\n"
      + "a=control:\(parts.dropFirst(2).first ?? "track1")\r\n"
    guard let description = try? SessionDescription(parsing: Array(lines.utf8)) else { return }
    let urls = ControlURLs(response, requested: try ServerURL(parsing: "rtsp://camera:8554/live"))
    let all =
      urls.aggregate(of: description) + urls.media(of: description, selected: 0).flatMap(\.self)
    try require(!urls.aggregate(of: description).isEmpty, "no URL to play")
    for url in all {
      try require(!url.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "\(url) breaks a request")
      try require(url.utf8.count <= ServerURL.maximumLength, "\(url.utf8.count) bytes")
    }
  }
}
