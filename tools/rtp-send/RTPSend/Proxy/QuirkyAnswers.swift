import Impairment

/// The answers of an RTSP server, as servers with quirks give them.
struct QuirkyAnswers {
  /// Requests that may wait for an answer; others are answered as they are.
  private static let mostWaiting = 64

  private let quirks: Set<Quirk>
  /// By their CSeq.
  private var requests: [String: (method: String, isInSession: Bool)] = [:]
  /// What the server calls the session, and how many SETUPs it has answered.
  private var session: String?
  private var setups = 0

  init(_ quirks: Set<Quirk>) { self.quirks = quirks }

  /// Notes a request, and gives the session in it the name that the server knows.
  mutating func restore(_ request: inout RTSPText) {
    guard !quirks.isEmpty else { return }
    let named = request["Session"]
    if let number = request["CSeq"], requests.count < Self.mostWaiting {
      requests[number] = (request.method, named != nil)
    }
    if let session, named?.hasPrefix(session) == true { request["Session"] = session }
  }

  /// Changes a response; `nil` if the client gets none.
  mutating func change(_ response: RTSPText) -> RTSPText? {
    guard !quirks.isEmpty else { return response }
    var response = response
    if let request = response["CSeq"].flatMap({ requests.removeValue(forKey: $0) }) {
      let isKeepalive = ["OPTIONS", "GET_PARAMETER", "SET_PARAMETER"].contains(request.method)
      if quirks.contains(.keepalivesUnanswered), isKeepalive, request.isInSession { return nil }
      if quirks.contains(.optionsFail), request.method == "OPTIONS" {
        response.lines[0] = "RTSP/1.0 501 Not Implemented"
      }
      if quirks.contains(.sessionChanges), request.method == "SETUP" { rename(&response) }
    }
    if response["Content-Type"]?.lowercased().hasPrefix("application/sdp") == true {
      let text = QuirkyDescription.apply(
        quirks, to: String(decoding: response.body, as: UTF8.self))
      response.body = Array(text.utf8)
      response["Content-Length"] = "\(response.body.count)"
    }
    if let transport = response["Transport"] { response["Transport"] = changed(transport) }
    if let information = response["RTP-Info"] {
      response["RTP-Info"] = changed(information: information)
    }
    if let base = response["Content-Base"] {
      if quirks.contains(.baseWithoutScheme) {
        response["Content-Base"] = base.replacing("rtsp://", with: "", maxReplacements: 1)
      }
      if quirks.contains(.baseTwice) { response["Content-Base"] = "rtsp://" + base }
    }
    changeLines(&response)
    return response
  }

  /// Whether frames of a channel that nobody set up follow a response.
  func strays(behind response: RTSPText) -> Bool {
    quirks.contains(.strayFrames) && response["Transport"]?.contains("interleaved") == true
  }

  private mutating func rename(_ response: inout RTSPText) {
    guard let value = response["Session"] else { return }
    let name = value.prefix { $0 != ";" }
    session = session ?? String(name)
    setups += 1
    if setups > 1 { response["Session"] = "\(name)-\(setups)" + value.dropFirst(name.count) }
  }

  /// What is said of ports, channels and the SSRC (RFC 2326 §12.39).
  private func changed(_ transport: String) -> String {
    var parts = transport.split(separator: ";").map { part -> String in
      let part = String(part)
      if part.hasPrefix("ssrc=") {
        if quirks.contains(.ssrcInvalid) { return "ssrc=camera" }
        if quirks.contains(.ssrcSpace) { return part.replacing("=", with: "= ") }
      }
      if quirks.contains(.oneChannel), part.hasPrefix("interleaved=") {
        return String(part.prefix { $0 != "-" })
      }
      if quirks.contains(.transportSaysUDP), part == "RTP/AVP/TCP" { return "RTP/AVP" }
      return part
    }
    if quirks.contains(.ssrcFirst), let place = parts.firstIndex(where: { $0.hasPrefix("ssrc=") }) {
      parts.insert(parts.remove(at: place), at: 1)
    }
    return parts.joined(separator: ";")
  }

  /// What `RTP-Info` says (§12.33).
  private func changed(information: String) -> String {
    var information = information
    if quirks.contains(.infoSequenceZero) { information.replace(#/seq=\d+/#, with: "seq=0") }
    if quirks.contains(.infoTimeNegative) {
      information.replace(#/rtptime=\d+/#, with: "rtptime=-1")
    }
    return quirks.contains(.infoSemicolon) ? information + ";" : information
  }

  /// How the status line and the headers are written.
  private func changeLines(_ response: inout RTSPText) {
    func isHeader(_ line: String, _ name: String) -> Bool {
      line.lowercased().hasPrefix(name + ":")
    }
    if quirks.contains(.noContentType) {
      response.lines.removeAll { isHeader($0, "content-type") }
    }
    if quirks.contains(.noNumber) { response.lines.removeAll { isHeader($0, "cseq") } }
    if quirks.contains(.noReason), let first = response.lines.first {
      response.lines[0] = first.split(separator: " ").prefix(2).joined(separator: " ")
    }
    guard quirks.contains(.oddHeaders) else { return }
    for index in response.lines.indices.dropFirst() {
      let line = response.lines[index]
      let name = line.prefix { $0 != ":" }
      response.lines[index] =
        name.uppercased() + line.dropFirst(name.count) + (isHeader(line, "cseq") ? "  " : "")
    }
  }
}
