import RTPWire

/// The counters of an RTSP connection.
extension TransportCounter {
  /// Bytes that belong to no element and were skipped.
  static let skippedBytes = TransportCounter(
    "skipped_bytes", unit: .bytes,
    metric: Metric("rtsp_skipped_bytes", "Bytes of a connection that belong to nothing."))
  /// Frames on a channel of no stream.
  static let unassigned = TransportCounter(
    "unassigned", unit: .datagrams, metric: .ignored("unassigned"))
  /// Frames of streams that are set up only because the device demands it.
  static let unwanted = TransportCounter("unwanted", unit: .datagrams, metric: .ignored("unwanted"))

  static let ofRTSP: [TransportCounter] = [.skippedBytes, .unassigned, .unwanted]
}

extension TransportCounters {
  /// Bytes that belong to no element and were skipped.
  public var skippedBytes: UInt64 {
    get { self[.skippedBytes] }
    set { self[.skippedBytes] = newValue }
  }

  /// Frames on a channel of no stream.
  public var unassigned: UInt64 {
    get { self[.unassigned] }
    set { self[.unassigned] = newValue }
  }

  /// Frames of streams that are set up only because the device demands it.
  public var unwanted: UInt64 {
    get { self[.unwanted] }
    set { self[.unwanted] = newValue }
  }
}
