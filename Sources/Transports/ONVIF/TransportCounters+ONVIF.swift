/// The counters of asking a camera where its stream is.
extension TransportCounter {
  static let onvifRequests = TransportCounter("onvif_requests", unit: .events)

  static let ofONVIF: [TransportCounter] = [.onvifRequests]
}

extension TransportCounters {
  /// Messages to the camera's services, those repeated after a redirect or with another login
  /// included.
  public var onvifRequests: UInt64 {
    get { self[.onvifRequests] }
    set { self[.onvifRequests] = newValue }
  }
}
