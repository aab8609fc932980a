import RTPWire

/// The counters of UDP sockets, for every transport with such sockets.
extension TransportCounter {
  /// Datagrams that the kernel dropped because the socket's buffer was full; without RTCP on its
  /// own port.
  static let kernelDropped = TransportCounter(
    "kernel_dropped", unit: .datagrams, isLocalLoss: true,
    metric: Metric(
      "socket_drops", "Datagrams that the kernel dropped because the socket's buffer was full."))
  /// The same at the port of RTCP: no media is lost there, whoever fills it.
  static let kernelDroppedRTCP = TransportCounter(
    "kernel_dropped_rtcp", unit: .datagrams,
    metric: Metric(
      "socket_drops_rtcp",
      "Datagrams that the kernel dropped because the buffer of the RTCP socket was full."))
  /// The receive buffer that the kernel granted, in bytes; 0 without a socket.
  static let receiveBuffer = TransportCounter(
    "receive_buffer", unit: .bytes, joining: .largest,
    metric: Metric("socket_receive_buffer_bytes", "The receive buffer that the kernel granted."))
  /// "Connection refused" reported by the peer's host (ICMP port unreachable).
  static let refused = TransportCounter(
    "refused", unit: .events,
    metric: Metric(
      "socket_refusals", "Times that the far end's host said that nobody listens there."))
  /// Datagrams from an address that is not the pinned source.
  static let foreignOrigin = TransportCounter(
    "foreign_origin", unit: .datagrams, metric: .ignored("foreign_origin"))
  /// RTP of sources that have not proved themselves, while none has.
  static let unproven = TransportCounter(
    "unproven_source", unit: .datagrams, metric: .ignored("unproven_source"))
  /// RTCP that came before any media, and belongs to no source.
  static let reportsAlone = TransportCounter(
    "rtcp_without_media", unit: .datagrams, metric: .ignored("rtcp_without_media"))
  /// Datagrams that are neither RTP nor RTCP, while waiting for a source or its first media.
  static let notRTP = TransportCounter("not_rtp", unit: .datagrams, metric: .ignored("not_rtp"))
  /// Times the pinned source moved to another port after a silence.
  static let rebindings = TransportCounter(
    "rebindings", unit: .events,
    metric: Metric("source_rebindings", "Times that the source moved to another port."))

  static let ofSockets: [TransportCounter] = [
    .kernelDropped, .kernelDroppedRTCP, .receiveBuffer, .refused, .foreignOrigin, .unproven,
    .reportsAlone, .notRTP, .rebindings,
  ]
}

extension Metric {
  /// Datagrams that a transport does not hand on.
  static func ignored(_ reason: String) -> Metric {
    Metric("datagrams_ignored", "Datagrams that the transport did not hand on, by reason.")
      .labelled("reason", reason)
  }
}

extension TransportCounters {
  /// Datagrams that the kernel dropped because the socket's buffer was full; without RTCP on its
  /// own port.
  public var kernelDropped: UInt64 {
    get { self[.kernelDropped] }
    set { self[.kernelDropped] = newValue }
  }

  /// The same at the port of RTCP.
  public var kernelDroppedRTCP: UInt64 {
    get { self[.kernelDroppedRTCP] }
    set { self[.kernelDroppedRTCP] = newValue }
  }

  /// The receive buffer that the kernel granted, in bytes; 0 without a socket.
  public var receiveBuffer: Int {
    get { Int(clamping: self[.receiveBuffer]) }
    set { self[.receiveBuffer] = UInt64(clamping: newValue) }
  }

  /// "Connection refused" reported by the peer's host (ICMP port unreachable).
  public var refused: UInt64 {
    get { self[.refused] }
    set { self[.refused] = newValue }
  }

  /// Datagrams from an address that is not the pinned source.
  public var foreignOrigin: UInt64 {
    get { self[.foreignOrigin] }
    set { self[.foreignOrigin] = newValue }
  }

  /// RTP of sources that have not proved themselves, while none has.
  public var unproven: UInt64 {
    get { self[.unproven] }
    set { self[.unproven] = newValue }
  }

  /// RTCP that came before any media, and belongs to no source.
  public var reportsAlone: UInt64 {
    get { self[.reportsAlone] }
    set { self[.reportsAlone] = newValue }
  }

  /// Datagrams that are neither RTP nor RTCP, while waiting for a source or its first media; they
  /// are not delivered.
  public var notRTP: UInt64 {
    get { self[.notRTP] }
    set { self[.notRTP] = newValue }
  }

  /// Times the pinned source moved to another port after a silence.
  public var rebindings: UInt64 {
    get { self[.rebindings] }
    set { self[.rebindings] = newValue }
  }
}
