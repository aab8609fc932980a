internal import RTPWire

struct TransportHeader {
  struct Pair<Number: Sendable & Hashable>: Sendable, Hashable {
    var media: Number
    var control: Number?
  }
  var interleaved: Pair<UInt8>?
  var serverPort: Pair<Int>?
  var port: Pair<Int>?
  var destination: String?
  var timeToLive: UInt8?
  init?(_ text: String) {
    for part in text.split(separator: ";") {
      let kv = part.split(separator: "=", maxSplits: 1).map(String.init)
      guard kv.count == 2 else { continue }
      let n = kv[1].split(separator: "-").compactMap { Int($0) }
      switch kv[0] {
      case "interleaved":
        if let f = n.first, let m = UInt8(exactly: f) {
          interleaved = Pair(media: m, control: n.dropFirst().first.flatMap { UInt8(exactly: $0) })
        }
      case "server_port":
        if let f = n.first { serverPort = Pair(media: f, control: n.dropFirst().first) }
      case "port": if let f = n.first { port = Pair(media: f, control: n.dropFirst().first) }
      case "destination": destination = kv[1]
      case "ttl": timeToLive = n.first.flatMap { UInt8(exactly: $0) }
      default: break
      }
    }
  }
}

struct SessionHeader {
  var identifier: String
  var timeout: Int?
  init?(_ text: String) {
    let parts = text.split(separator: ";")
    guard let f = parts.first else { return nil }
    identifier = String(f)
    for p in parts.dropFirst() where p.hasPrefix("timeout=") { timeout = Int(p.dropFirst(8)) }
  }
}

struct ControlURLs {
  let base: String
  init(_ response: RTSPResponse, requested: RTSPURL) {
    base = response.headers["Content-Base"] ?? requested.description
  }
  func aggregate(of description: SessionDescription) -> [String] { [base] }
  func media(of description: SessionDescription) -> [[String]] {
    description.media.map { m in
      guard let c = m.control else { return [base] }
      if c.hasPrefix("rtsp://") { return [c] }
      return base.hasSuffix("/") ? [base + c] : [base + "/" + c, base + c]
    }
  }
}

extension RTSPURL: CustomStringConvertible {
  struct E: Error {}
  init(parsing t: String) throws {
    var t = t[...]
    if t.hasPrefix("rtsp://") {
      isSecure = false; t = t.dropFirst(7)
    } else if t.hasPrefix("rtsps://") {
      isSecure = true; t = t.dropFirst(8)
    } else {
      throw E()
    }
    let slash = t.firstIndex(of: "/") ?? t.endIndex
    path = String(t[slash...])
    var a = t[..<slash]
    if let at = a.lastIndex(of: "@") { a = a[at...].dropFirst() }
    if a.hasPrefix("["), let b = a.firstIndex(of: "]") {
      host = String(a[..<b].dropFirst()); let r = a[b...].dropFirst(2); port = Int(r) ?? 554
      return
    }
    let p = a.split(separator: ":")
    host = p.first.map(String.init) ?? ""
    port = p.dropFirst().first.flatMap { Int($0) } ?? (isSecure ? 322 : 554)
  }
  var description: String {
    "\(isSecure ? "rtsps" : "rtsp")://\(host)" + (port == (isSecure ? 322 : 554) ? "" : ":\(port)")
      + path
  }
}

struct RTPInfo {
  var url: String?
  var sequenceNumber: UInt16?
  var timestamp: UInt32?
  static func parse(_ text: String) -> [RTPInfo] {
    text.split(separator: ",").map { part in
      var info = RTPInfo()
      for p in part.split(separator: ";") {
        let kv = p.split(separator: "=", maxSplits: 1)
        guard kv.count == 2 else { continue }
        switch kv[0] {
        case "url": info.url = String(kv[1])
        case "seq": info.sequenceNumber = UInt16(kv[1])
        case "rtptime": info.timestamp = UInt32(kv[1])
        default: break
        }
      }
      return info
    }
  }
}
