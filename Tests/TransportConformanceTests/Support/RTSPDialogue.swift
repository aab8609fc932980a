import NIOCore
import Synchronization

/// The server's side of RTSP, as much as a stream needs: bytes in, responses out.
final class RTSPDialogue: Sendable {
  private struct State {
    var input = ByteBuffer()
    var feedback: [ByteBuffer] = []
    /// By track.
    var clientPorts: [Int] = []
  }

  private let state = Mutex(State())
  private let serverPort: Int?

  /// For media from `serverPort`, or in the connection.
  init(serverPort: Int?) { self.serverPort = serverPort }

  /// Interleaved frames that the client sent.
  var feedback: [ByteBuffer] { state.withLock { $0.feedback } }
  /// Where the client receives the media of a track over UDP.
  func clientPort(ofTrack track: Int) -> Int? {
    state.withLock { $0.clientPorts.indices.contains(track) ? $0.clientPorts[track] : nil }
  }

  /// Media that are described.
  static let tracks = 2

  /// Takes what came, and says what goes back.
  func receive(_ bytes: ByteBuffer) -> [ByteBuffer] {
    state.withLock { state in
      state.input.writeImmutableBuffer(bytes)
      var responses: [ByteBuffer] = []
      while let first = state.input.getInteger(at: state.input.readerIndex, as: UInt8.self) {
        if first == UInt8(ascii: "$") {
          guard let frame = Self.frame(&state.input) else { break }
          state.feedback.append(frame)
        } else {
          guard let head = Self.head(&state.input) else { break }
          if let response = answer(head, &state) { responses.append(response) }
        }
      }
      return responses
    }
  }

  private static func frame(_ input: inout ByteBuffer) -> ByteBuffer? {
    guard let length = input.getInteger(at: input.readerIndex + 2, as: UInt16.self),
      input.readableBytes >= 4 + Int(length)
    else { return nil }
    input.moveReaderIndex(forwardBy: 4)
    return input.readSlice(length: Int(length))
  }

  private static func head(_ input: inout ByteBuffer) -> [Substring]? {
    let text = String(buffer: input)
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
    guard let end = lines.firstIndex(of: ""), end < lines.count - 1 else { return nil }
    input.moveReaderIndex(forwardBy: lines[..<end].reduce(2) { $0 + $1.utf8.count + 2 })
    return Array(lines[..<end])
  }

  private func answer(_ head: [Substring], _ state: inout State) -> ByteBuffer? {
    func field(_ name: String) -> Substring? {
      head.first { $0.lowercased().hasPrefix(name + ":") }
        .map { $0.drop { $0 != ":" }.dropFirst().drop { $0 == " " } }
    }
    // Responses to requests of this side are no requests.
    guard let method = head.first?.split(separator: " ").first, !method.hasPrefix("RTSP/") else {
      return nil
    }
    var response = "RTSP/1.0 200 OK\r\nCSeq: \(field("cseq") ?? "")\r\nSession: 7\r\n"
    switch method {
    case "DESCRIBE":
      response +=
        "Content-Type: application/sdp\r\n"
        + "Content-Length: \(Self.description.utf8.count)\r\n\r\n" + Self.description
    case "SETUP":
      let wanted = field("transport") ?? ""
      let port = wanted.split(separator: "client_port=").last?.split(separator: "-").first
      if let port = port.flatMap({ Int($0) }) { state.clientPorts.append(port) }
      let ports = serverPort.map { ";server_port=\($0)-\($0 + 1)" } ?? ""
      response += "Transport: \(wanted)\(ports)\r\n\r\n"
    default: response += "\r\n"
    }
    return ByteBuffer(string: response)
  }

  private static let description = """
    v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=control:*\r\n\
    m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n\
    m=audio 0 RTP/AVP 97\r\na=rtpmap:97 L16/44100/2\r\na=control:track2\r\n
    """
}
