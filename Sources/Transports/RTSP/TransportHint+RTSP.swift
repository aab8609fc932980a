extension TransportHint {
  /// The hints of transports that ask an RTSP server for the stream.
  static let ofRTSP: [TransportHint] = [
    TransportHint(.silence) { situation in
      guard let method = situation.counters.rtsp.unanswered else { return nil }
      return "the connection stands, but the server has not answered \(method); "
        + "check that it speaks RTSP on this port, or restart it"
    }
  ]
}
