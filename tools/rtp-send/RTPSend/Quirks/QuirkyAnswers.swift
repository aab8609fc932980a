import Impairment
import NIOCore

/// The answers of an RTSP server, as servers with quirks give them: our own, and any other behind
/// the proxy.
struct QuirkyAnswers: Sendable {
  /// A response as it is sent, and what it comes with.
  struct Answer: Equatable {
    var text: RTSPText
    var company = Company.alone
  }

  enum Company: Equatable {
    case alone
    /// Frames that nobody asked for follow.
    case frames(ByteBuffer)
    /// Media comes before it.
    case media
  }

  /// What a request gets that the server does not do for this client.
  enum Refusal: Equatable {
    case answer(RTSPText)
    /// The connection ends.
    case close
  }

  /// A frame on a channel that nobody sets up.
  static let strayFrame = ByteBuffer(
    bytes: [UInt8(ascii: "$"), 200, 0, 12] + [UInt8](repeating: 0x80, count: 12))
  /// Enough packets for a source to be believed (RFC 3550 A.1).
  private static let oldPackets: UInt8 = 5
  /// Requests that may wait for an answer; others are answered as they are.
  private static let mostWaiting = 64
  /// How far the channels lie above those that the client asked for.
  static let channelDistance: UInt8 = 10
  /// A client with this time-out says something each second.
  private static let shortTimeout = 2

  private let quirks: Set<Quirk>
  /// By their CSeq.
  private var requests: [String: (method: String, isInSession: Bool)] = [:]
  /// What the server calls the session, and how many SETUPs it has answered.
  private var session: String?
  private var setups = 0
  /// The tracks of the description, once there was one.
  private var tracks: Int?
  /// Whether the last request wants a track and does not have the query of its URL.
  private var lacksQuery = false

  init(_ quirks: Set<Quirk>) { self.quirks = quirks }

  /// Added to the channels that the client knows, it gives those that it is told.
  var channelShift: UInt8 { quirks.contains(.otherChannels) ? Self.channelDistance : 0 }

  /// Whether the ports of the media look closed.
  var refusesPunches: Bool { quirks.contains(.punchRefused) }

  /// Notes a request, and gives the session and the track in it the names that the server knows.
  mutating func restore(_ request: inout RTSPText) {
    guard !quirks.isEmpty else { return }
    let named = request["Session"]
    if let number = request["CSeq"], requests.count < Self.mostWaiting {
      requests[number] = (request.method, named != nil)
    }
    if let session, named?.hasPrefix(session) == true { request["Session"] = session }
    guard quirks.contains(.controlQuery) else { return }
    lacksQuery = request.method == "SETUP" && !ControlQuery.isIn(request.url)
    ControlQuery.remove(from: &request)
  }

  /// What a request gets that the server does not do for this client, if it is one.
  mutating func refusal(of request: RTSPText) -> Refusal? {
    guard !quirks.isEmpty else { return nil }
    if quirks.contains(.getParameterAlone), ["OPTIONS", "SET_PARAMETER"].contains(request.method),
      request["Session"] != nil
    {
      return .close
    }
    var status: String?
    switch request.method {
    case "SETUP" where quirks.contains(.describeNeeded) && tracks == nil:
      status = "455 Method Not Valid in This State"
    case "PLAY" where quirks.contains(.rangeNeeded) && request["Range"] == nil:
      status = "457 Invalid Range"
    case "PLAY" where quirks.contains(.everyTrackNeeded) && setups < tracks ?? 1:
      // Nothing is refused. There is only no picture.
      status = "200 OK"
    case "PAUSE" where quirks.contains(.pauseFails): status = "551 Option not supported"
    case "GET_PARAMETER", "SET_PARAMETER":
      if quirks.contains(.keepalivesRefused), request["Session"] != nil {
        status = "400 Bad Request"
      }
    default: break
    }
    if quirks.contains(.agentNeeded), request["User-Agent"] == nil { status = "401 Unauthorized" }
    // Axis Companion answers so whatever the login is.
    if lacksQuery { status = "401 Unauthorized" }
    guard let status, let number = request["CSeq"] else { return nil }
    requests[number] = nil
    var answer = RTSPText(lines: ["RTSP/1.0 \(status)", "CSeq: \(number)"], body: [])
    if quirks.contains(.keepalivesRefused), status.hasPrefix("400"), let value = Int(number) {
      answer["CSeq"] = "\(max(value, 1) - 1)"
    }
    if status.hasPrefix("200"), let name = request["Session"] {
      answer.lines.append("Session: \(name)")
    }
    changeLines(&answer)
    return .answer(answer)
  }

  /// Changes a response; `nil` if the client gets none.
  mutating func change(_ response: RTSPText) -> Answer? {
    guard !quirks.isEmpty else { return Answer(text: response) }
    var response = response
    var company = Company.alone
    if let request = response["CSeq"].flatMap({ requests.removeValue(forKey: $0) }) {
      let isKeepalive = ["OPTIONS", "GET_PARAMETER", "SET_PARAMETER"].contains(request.method)
      if quirks.contains(.keepalivesUnanswered), isKeepalive, request.isInSession { return nil }
      if quirks.contains(.optionsFail), request.method == "OPTIONS" {
        response.lines[0] = "RTSP/1.0 501 Not Implemented"
      }
      if quirks.contains(.optionsMissing), request.method == "OPTIONS" {
        response.lines[0] = "RTSP/1.0 404 Not Found"
      }
      if request.method == "SETUP", let value = response["Session"] {
        setups += 1
        if quirks.contains(.sessionChanges) { rename(&response, from: value) }
      }
      if request.method == "PLAY" {
        if quirks.contains(.reportInterval) { response.lines.append("RTCP-Interval: 250") }
        if quirks.contains(.mediaBeforePlay) { company = .media }
      }
    }
    if quirks.contains(.shortTimeout), let value = response["Session"] {
      response["Session"] = value.prefix { $0 != ";" } + ";timeout=\(Self.shortTimeout)"
    }
    if response["Content-Type"]?.lowercased().hasPrefix("application/sdp") == true {
      let description = String(decoding: response.body, as: UTF8.self)
      tracks = description.split(whereSeparator: \.isNewline).count { $0.hasPrefix("m=") }
      var text = QuirkyDescription.apply(quirks, to: description)
      if quirks.contains(.controlQuery) {
        text = ControlQuery.added(toDescription: text, base: response["Content-Base"])
      }
      response.body = Array(text.utf8)
      response["Content-Length"] = "\(response.body.count)"
    }
    if let transport = response["Transport"] {
      let said = changed(transport)
      response["Transport"] = said
      if let channel = said.firstMatch(of: #/interleaved=(\d+)/#).flatMap({ UInt8($0.1) }) {
        var frames = ByteBuffer()
        if quirks.contains(.strayFrames) { frames.writeImmutableBuffer(Self.strayFrame) }
        if quirks.contains(.oldSession) { frames.writeImmutableBuffer(Self.oldFrames(on: channel)) }
        if frames.readableBytes > 0 { company = .frames(frames) }
      }
    }
    if let information = response["RTP-Info"] {
      response["RTP-Info"] = changed(information: information)
    }
    if let base = response["Content-Base"] { response["Content-Base"] = changed(base: base) }
    changeLines(&response)
    return Answer(text: response, company: company)
  }

  /// Packets of another source on a channel of the client, with delimiters of H.264.
  static func oldFrames(on channel: UInt8) -> ByteBuffer {
    ByteBuffer(
      bytes: (0..<oldPackets).flatMap { number -> [UInt8] in
        let header: [UInt8] = [0x80, 0x80 | 96, 0, number, 0, 0, number, 0]
        return [UInt8(ascii: "$"), channel, 0, 14] + header + Array("old!".utf8) + [0x09, 0x10]
      })
  }

  private mutating func rename(_ response: inout RTSPText, from value: String) {
    let name = value.prefix { $0 != ";" }
    session = session ?? String(name)
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
      if part.hasPrefix("interleaved=") {
        let channels = part.dropFirst("interleaved=".count).split(separator: "-").map { number in
          UInt8(number).map { "\($0 &+ channelShift)" } ?? String(number)
        }
        let said = quirks.contains(.oneChannel) ? channels.prefix(1) : channels[...]
        return "interleaved=" + said.joined(separator: "-")
      }
      if quirks.contains(.transportSaysUDP), part == "RTP/AVP/TCP" { return "RTP/AVP" }
      return part
    }
    if quirks.contains(.ssrcFirst), let place = parts.firstIndex(where: { $0.hasPrefix("ssrc=") }) {
      parts.insert(parts.remove(at: place), at: 1)
    }
    return parts.joined(separator: ";")
  }

  /// What the track is appended to (§C.1.1).
  private func changed(base: String) -> String {
    var base = base
    if quirks.contains(.baseWithoutBrackets) {
      base.replace(#/\/\/\[([^\]]*)\]/#, maxReplacements: 1) { "//\($0.1)" }
    }
    if quirks.contains(.baseWithoutScheme) {
      base = base.replacing("rtsp://", with: "", maxReplacements: 1)
    }
    if quirks.contains(.baseTwice) { base = "rtsp://" + base }
    if quirks.contains(.baseWithoutSlash), base.hasSuffix("/") { base.removeLast() }
    return base
  }

  /// What `RTP-Info` says (§12.33).
  private func changed(information: String) -> String {
    var information = information
    if quirks.contains(.infoSequenceZero) { information.replace(#/seq=\d+/#, with: "seq=0") }
    if quirks.contains(.infoTimeNegative) {
      information.replace(#/rtptime=\d+/#, with: "rtptime=-1")
    }
    if quirks.contains(.controlQuery) {
      information.replace(#/url=([^;,]+)/#) { "url=\(ControlQuery.added(to: $0.1))" }
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
    let isBelowOne = response["CSeq"].flatMap { Int($0) }.map { $0 < 1 } ?? false
    if quirks.contains(.noNumber) || quirks.contains(.noNumberBelowOne) && isBelowOne {
      response.lines.removeAll { isHeader($0, "cseq") }
    }
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
