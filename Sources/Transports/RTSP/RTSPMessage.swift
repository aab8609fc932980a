internal import NIOCore

/// Header fields of an RTSP message in the order in which they stand (RFC 2326 §4.2).
///
/// Names compare without regard to case, as cameras write them in every way there is.
struct RTSPHeaders: Sendable, Hashable {
  struct Field: Sendable, Hashable {
    var name: String
    /// Without white space around it.
    var value: String
  }

  private(set) var fields: [Field] = []

  mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Appends to the value of the last field what stands on a line of its own (§4.2).
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

/// What comes through an RTSP connection, one after the other and in any order.
enum RTSPElement: Sendable, Hashable {
  case response(RTSPResponse)
  case request(RTSPRequest)
  /// An interleaved data frame without its header (§10.12); a slice of the read that brought it.
  case frame(channel: UInt8, ByteBuffer)
}
