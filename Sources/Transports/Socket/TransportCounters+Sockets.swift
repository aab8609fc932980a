/// The counters of UDP sockets, for every transport with such sockets.
extension TransportCounter {
  /// Datagrams that the kernel dropped because the socket's buffer was full.
  static let kernelDropped = TransportCounter(
    "kernel_dropped", unit: .datagrams, isLocalLoss: true)
  /// The receive buffer that the kernel granted, in bytes; 0 without a socket.
  static let receiveBuffer = TransportCounter("receive_buffer", unit: .bytes, joining: .largest)
  /// "Connection refused" reported by the peer's host (ICMP port unreachable).
  static let refused = TransportCounter("refused", unit: .events)
  /// Datagrams from an address that is not the pinned source.
  static let foreignOrigin = TransportCounter("foreign_origin", unit: .datagrams)
  /// RTP of sources that have not proved themselves, while none has.
  static let unproven = TransportCounter("unproven_source", unit: .datagrams)
  /// RTCP that came before any media, and belongs to no source.
  static let reportsAlone = TransportCounter("rtcp_without_media", unit: .datagrams)
  /// Datagrams that are neither RTP nor RTCP, while waiting for a source or its first media.
  static let notRTP = TransportCounter("not_rtp", unit: .datagrams)
  /// Times the pinned source moved to another port after a silence.
  static let rebindings = TransportCounter("rebindings", unit: .events)

  static let ofSockets: [TransportCounter] = [
    .kernelDropped, .receiveBuffer, .refused, .foreignOrigin, .unproven, .reportsAlone,
    .notRTP, .rebindings,
  ]
}

extension TransportCounters {
  /// Datagrams that the kernel dropped because the socket's buffer was full.
  public var kernelDropped: UInt64 {
    get { self[.kernelDropped] }
    set { self[.kernelDropped] = newValue }
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
