import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// What ONVIF devices answer: XML, their addresses, and whole dialogues with them.
  static let onvif = FuzzTarget("onvif") { choices in
    switch choices.byte() % 3 {
    case 0:
      let bytes = choices.all()
      guard let root = try? XMLElement(parsing: bytes) else { return }
      var (count, depth) = (0, 0)
      measure(root, 1, &count, &depth)
      try require(count <= XMLElement.maximumElements, "\(count) elements")
      try require(depth <= XMLElement.maximumDepth, "\(depth) inside one another")
    case 1:
      var randomness = SplitMix64(seed: 1)
      var discovery = DiscoveryDialogue(randomness: &randomness)
      let probe = discovery.probes[0]
      let name = probe.components("<a:MessageID>", "</a:MessageID>")
      while !choices.isEmpty {
        var text = String(decoding: choices.piece(), as: UTF8.self)
        if choices.flag() {
          text =
            "<Envelope><Header><RelatesTo>\(name)</RelatesTo></Header><Body><ProbeMatches>"
            + "<ProbeMatch>\(text)</ProbeMatch></ProbeMatches></Body></Envelope>"
        }
        for camera in discovery.take(Array(text.utf8), from: "192.0.2.1") {
          try require(
            !camera.url.unicodeScalars.contains { $0.value < 0x20 }, "\(camera.url)")
        }
      }
    default:
      var dialogue = ONVIFDialogue(
        for: choices.flag() ? .list : .play(nil),
        credentials: choices.flag() ? Credentials(user: "user", password: "a long secret") : nil,
        randomness: SplitMix64(seed: 1))
      let now = UTCTime(secondsSince1970: 1_780_000_000)
      for step in 0... {
        let request = dialogue.request(at: now)
        try require(!request.body.contains("a long secret"), "the password is sent")
        try require(request.path.hasPrefix("/"), "\(request.path)")
        try require(
          !request.path.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "\(request.path) is two lines")
        try require(step < 1000, "it asks again and again")
        var body = choices.piece()
        if choices.flag() {
          body =
            Array("<Envelope><Body><\(request.name)Response>".utf8) + body
            + Array("</\(request.name)Response></Body></Envelope>".utf8)
        }
        let reply = HTTPReply(status: choices.pick([200, 400, 401, 500]), body: body)
        guard (try? dialogue.take(reply, at: now)) == .ask else { break }
      }
    }
  }

  private static func measure(
    _ element: XMLElement, _ level: Int, _ count: inout Int, _ depth: inout Int
  ) {
    count += 1
    depth = max(depth, level)
    for child in element.children { measure(child, level + 1, &count, &depth) }
  }
}

extension String {
  /// What is between `start` and `end`.
  fileprivate func components(_ start: String, _ end: String) -> String {
    guard let first = firstRange(of: start), let last = firstRange(of: end) else { return "" }
    return String(self[first.upperBound..<last.lowerBound])
  }
}
