extension String {
  /// This host as it stands in a URL and before a port: an IPv6 address in brackets
  /// (RFC 3986 §3.2.2).
  package var hostInURL: String { contains(":") ? "[\(self)]" : self }
}
