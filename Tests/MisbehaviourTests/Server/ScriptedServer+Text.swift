import TestSupport

/// How the texts of a script become bytes.
extension ScriptedServer {
  func encode(
    _ message: Script.Message, start: String = "", end: String = "", for request: Request?
  ) -> [UInt8] {
    let ending = request.flatMap { connections[$0.connection]?.lineEnding } ?? "\r\n"
    let body = message.body.map { lines in
      bytes(of: lines.map { fill($0, for: request) + "\r\n" }.joined())
    }
    var lines = message.headers.map { fill($0, for: request) }
    func has(_ name: String) -> Bool {
      lines.contains { $0.lowercased().drop { "- ".contains($0) }.hasPrefix(name) }
    }
    if !has("cseq"), let number = request?["CSeq"] { lines.insert("CSeq: \(number)", at: 0) }
    if let body, !has("content-length") { lines.append("Content-Length: \(body.count)") }
    lines.removeAll { $0.hasPrefix("-") }
    lines.insert(start + fill(message.start, for: request) + end, at: 0)
    return lines.flatMap { bytes(of: $0 + ending) } + bytes(of: ending) + (body ?? [])
  }

  /// The text with everything in braces replaced, and escapes as the characters they stand for.
  func fill(_ text: String, for request: Request?) -> String {
    var result = ""
    var rest = Substring(text)
    while let character = rest.popFirst() {
      if character == "\\", let escape = rest.popFirst() {
        switch escape {
        case "r": result.append("\r")
        case "n": result.unicodeScalars.append("\n")
        case "t": result.append("\t")
        case "0": result.append("\0")
        case "x":
          let digits = rest.prefix(2)
          rest.removeFirst(digits.count)
          result.unicodeScalars.append(UnicodeScalar(UInt8(digits, radix: 16) ?? 0))
        default: result.append(escape)
        }
      } else if character == "{", let end = rest.firstIndex(of: "}") {
        let name = rest[..<end]
        rest = rest[end...].dropFirst()
        if let star = name.firstIndex(of: "*"), let count = Int(name[..<star]) {
          let unit = fill(String(name[star...].dropFirst()), for: request)
          result += String(repeating: unit, count: count)
        } else {
          result += value(of: String(name), for: request)
        }
      } else {
        result.append(character)
      }
    }
    return result
  }

  private func value(of name: String, for request: Request?) -> String {
    let dialogue = request.flatMap { connections[$0.connection] }
    switch name {
    case "cseq": return request?["CSeq"] ?? ""
    case "uri": return request?.uri ?? ""
    case "host": return place.host
    case "port": return "\(place.port)"
    case "base": return "\(place.scheme)://\(place.host):\(place.port)"
    case "session": return "47112344"
    case "channel": return "\(dialogue?.channel ?? 0)"
    case "server_port": return "\(place.mediaPort)"
    case "server_rtcp_port": return "\(place.mediaPort + 1)"
    case "client_ports": return dialogue?.ports.map { "\($0.media)-\($0.control)" } ?? ""
    case "transport":
      guard let ports = dialogue?.ports else {
        let channel = dialogue?.channel ?? 0
        return "RTP/AVP/TCP;unicast;interleaved=\(channel)-\(channel + 1)"
      }
      return "RTP/AVP;unicast;client_port=\(ports.media)-\(ports.control)"
        + ";server_port=\(place.mediaPort)-\(place.mediaPort + 1)"
    case "sequence": return "\(ClipPackets.initialSequence)"
    case "rtptime": return "\(ClipPackets.initialTimestamp)"
    case "ssrc": return String(ClipPackets.ssrc, radix: 16, uppercase: true)
    case "sets": return clip.parameterSets
    default: return "{\(name)}"
    }
  }

  /// One byte for each character up to U+00FF, so that scripts can write any byte.
  func bytes(of text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }
}
