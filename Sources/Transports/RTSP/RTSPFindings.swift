/// What a session of RTSP finds out about its server.
struct RTSPFindings: TransportFinding, Hashable {
  /// How many connections in a row this side gave up where a longer wait may have helped: 0 after
  /// one that played, `nil` if no end says anything of that.
  var impatience: Int?
  /// The methods upon which, sent as a keep-alive, the server closed the connection.
  var fatalKeepAlives: Set<String> = []
  /// The method of a request that the server has not answered on the connection that stands; `nil`
  /// if there is none.
  var unanswered: String?

  func joined(after earlier: RTSPFindings) -> RTSPFindings {
    var joined = self
    joined.impatience =
      impatience.map { $0 == 0 ? 0 : $0 + (earlier.impatience ?? 0) } ?? earlier.impatience
    joined.fatalKeepAlives.formUnion(earlier.fatalKeepAlives)
    return joined
  }
}

extension TransportCounters {
  /// What RTSP has found out.
  var rtsp: RTSPFindings {
    get { self[finding: RTSPFindings.self] }
    set { self[finding: RTSPFindings.self] = newValue }
  }
}
