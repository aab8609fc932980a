/// A message for an HTTP server that answers it with another one.
struct HTTPMessage: Sendable, Hashable {
  var contentType: String
  var body: String
  /// The most bytes of the answer, decompressed.
  var answerLimit: Int
}

/// The answer to a message, of whatever status.
struct HTTPReply: Sendable, Hashable {
  var status: Int
  var body: [UInt8]
  /// Whether the server offers digest authentication (RFC 7616).
  var offersDigest = false
  /// Whether it offers Basic authentication (RFC 7617).
  var offersBasic = false
  /// Where the server redirects to, as a whole URL.
  var location: String?
}
