internal import NIOCore

/// The header fields of an RTSP message, in their order (RFC 2326 §4.2).
///
/// Names are compared without regard to case, since cameras write them in every possible way.
struct RTSPHeaders: Sendable, Hashable {
  struct Field: Sendable, Hashable {
    var name: String
    /// Without white space around it; see ``Swift/String/init(headerBytes:)``.
    var value: String
  }

  private(set) var fields: [Field] = []

  mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Appends a continuation line to the value of the last field (§4.2).
  mutating func continueLast(with text: String) {
    guard let last = fields.indices.last else { return }
    fields[last].value += " " + text
  }

  /// The value of the first field of this name.
  subscript(name: String) -> String? { all(name).first }

  /// The values of all fields of this name; servers with several challenges send several.
  func all(_ name: String) -> [String] {
    let name = name.lowercased()
    return fields.lazy.filter { $0.name.lowercased() == name }.map(\.value)
  }
}

/// A request, ours or the server's (RFC 2326 §6).
struct RTSPRequest: Sendable, Hashable {
  /// `DESCRIBE`, `SETUP` and so on, in upper case.
  var method: String
  /// An absolute URL without credentials, or `*`.
  var uri: String
  var headers = RTSPHeaders()
  var body: [UInt8] = []
}

/// A response, the server's or ours (RFC 2326 §7).
struct RTSPResponse: Sendable, Hashable {
  /// 100 … 999.
  var status: Int
  /// May be empty: some servers leave it out.
  var reason: String
  var headers = RTSPHeaders()
  var body: [UInt8] = []
}

/// One unit of an RTSP connection's bytes; they come in any order.
enum RTSPElement: Sendable, Hashable {
  case response(RTSPResponse)
  case request(RTSPRequest)
  /// An interleaved data frame without its header (§10.12); a slice of the read that brought it.
  case frame(channel: UInt8, ByteBuffer)
}
