/// A session description (RFC 8866) as devices with quirks write it.
public enum QuirkyDescription {
  /// The text with its lines changed.
  public static func apply(_ quirks: Set<Quirk>, to text: String) -> String {
    var lines = text.split { $0.isNewline }.map(String.init)
    lines = lines.map { change($0, quirks) }
    if quirks.contains(.noOrigin) { lines.removeAll { $0.hasPrefix("o=") } }
    if quirks.contains(.originInMedia) { move("o=", in: &lines) }
    if quirks.contains(.formatElsewhere) { move("a=fmtp:", in: &lines) }
    if quirks.contains(.brokenConnection) {
      lines = lines.flatMap { $0.hasPrefix("c=") ? brokenConnections($0) : [$0] }
    }
    if quirks.contains(.oddMedia) { lines += oddMedia }
    if quirks.contains(.keyExchange) {
      lines = lines.flatMap { $0.hasPrefix("m=") ? [$0, "a=key-mgmt:mikey \(message)"] : [$0] }
    }
    if quirks.contains(.backChannels) {
      lines.removeAll { ["a=sendrecv", "a=recvonly"].contains($0) }
      lines = lines.flatMap { $0.hasPrefix("m=") ? [$0, "a=sendonly"] : [$0] }
    }
    return lines.map { $0 + "\r\n" }.joined()
  }

  /// A MIKEY message (RFC 3830 §6) of a header, a time, random bytes and a key, and a byte behind
  /// its end.
  private static let message =
    "AQAFAAAAEjQBAAAAAAAAAAAAAAsA4AAAAAAAAAABEAABAgMEBQYHCAkKCwwNDg8AAAAiACAAHgABAgMEBQYHCAkK"
    + "CwwNDg8QERITFBUWFxgZGhscHQAA"

  /// TP-Link's, and others with tracks that the server does not have.
  ///
  /// Without control attributes they would stand for the whole (RFC 2326 C.1.1), and a client that
  /// sets them up would set the pictures up anew.
  private static let oddMedia = [
    "m=application/TP-LINK 0 RTP/AVP smart/1/90000", "a=rtpmap:95 TP-LINK/90000",
    "m=metadata 0 RTP/AVP 107", "a=rtpmap:107 vnd.onvif.metadata/90000", "a=control:metadata",
    "m=meta 0 RTP/AVP 108", "a=rtpmap:108 META/90000", "a=control:meta",
    "m=text 0 RTP/AVP 109", "a=rtpmap:109 T140/1000", "a=control:text",
  ]

  /// What devices write in place of a line `c=IN IP4 192.0.2.1`, one after the other.
  private static func brokenConnections(_ line: String) -> [String] {
    let words = line.dropFirst(2).split(separator: " ")
    let type = words.dropFirst().first ?? "IP4"
    let version = type.suffix(1)
    let address = words.last ?? "0.0.0.0"
    return [
      "c=IN", "c=IN IPV\(version) \(address)", "c=IN c=IN \(type) \(address)",
      "c=IP \(type) \(address)", "c=IN \(address)",
    ]
  }

  private static func change(_ line: String, _ quirks: Set<Quirk>) -> String {
    var line = line
    let name = line.prefix { $0 != ":" && $0 != "=" }
    switch name {
    case "o" where quirks.contains(.textOrigin): return "o=- live 1.5 IN IP4 camera.local"
    case "t" where quirks.contains(.timeNow): return "t=now-"
    default: break
    }
    if line.hasPrefix("a=rtpmap:") {
      if quirks.contains(.rateZero), let slash = line.firstIndex(of: "/") {
        line = line[...slash] + "0"
      }
      if quirks.contains(.mapSpaces) { line += " " }
    }
    guard line.hasPrefix("a=fmtp:") else { return line }
    if quirks.contains(.soundModeName) { line.replace("mode=AAC-hbr", with: "mode=aac_hbr") }
    if quirks.contains(.noIndexLength) {
      line.replace(#/;? *index(delta)?length=\d+/#, with: "")
    }
    if quirks.contains(.emptyFormat) { return String(line.prefix { $0 != " " }) }
    if quirks.contains(.modeZero) {
      line.replace(#/packetization-mode=\d/#, with: "packetization-mode=0")
    }
    // Three bytes are four letters, so that 00 00 01 can stand before any of them (RFC 4648 §4).
    if quirks.contains(.setsWithStartCodes) {
      line = withSets(line) { sets in sets.map { startCode + $0 } }
    }
    if quirks.contains(.setsTogether) {
      // Padding that is written as A is zeros, which may stand in front of a start code too.
      line = withSets(line) { sets in
        let others = sets.dropLast().map { String($0).replacing("=", with: "A") + startCode }
        return [others.joined() + String(sets.last ?? "")]
      }
    }
    if quirks.contains(.brokenSets) { line = withSets(line) { sets in sets.map { _ in "AAAA" } } }
    if quirks.contains(.formatSemicolon) { line += ";" }
    return line
  }

  /// 00 00 01 in base64.
  private static let startCode = "AAAB"

  /// Changes the lists of parameter sets of RFC 6184 §8.1 and RFC 7798 §7.1.
  private static func withSets(
    _ line: String, _ change: ([Substring]) -> [String]
  ) -> String {
    line.split(separator: ";", omittingEmptySubsequences: false).map { part -> String in
      let names = ["sprop-parameter-sets=", "sprop-vps=", "sprop-sps=", "sprop-pps="]
      guard let name = names.first(where: { part.contains($0) }),
        let end = part.firstRange(of: name)?.upperBound
      else { return String(part) }
      return part[..<end] + change(part[end...].split(separator: ",")).joined(separator: ",")
    }.joined(separator: ";")
  }

  /// Moves the first line with this beginning into the last section, or out of it.
  private static func move(_ beginning: String, in lines: inout [String]) {
    guard let index = lines.firstIndex(where: { $0.hasPrefix(beginning) }) else { return }
    let line = lines.remove(at: index)
    guard let section = lines.lastIndex(where: { $0.hasPrefix("m=") }) else { return }
    lines.insert(line, at: index > section ? section : section + 1)
  }
}
