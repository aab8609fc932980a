/// The address of a stream on an RTSP server, without credentials.
struct RTSPURL: Sendable, Hashable {
  var isSecure: Bool
  /// A name or an address, without brackets.
  var host: String
  /// 1 … 65535.
  var port: Int
  /// What follows the port, from its `/` or `?` on; may be empty.
  var path: String
}
