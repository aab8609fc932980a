/// What a connection of RTSP counts.
extension TransportCounter {
  /// Bytes in a connection that were no part of anything, and were skipped.
  static let skippedBytes = TransportCounter("skipped_bytes", unit: .bytes)
  /// Frames in a connection on a channel that no stream has.
  static let unassigned = TransportCounter("unassigned", unit: .datagrams)
  /// Frames of streams that are set up only because the device wants it so.
  static let unwanted = TransportCounter("unwanted", unit: .datagrams)

  static let ofRTSP: [TransportCounter] = [.skippedBytes, .unassigned, .unwanted]
}

extension TransportCounters {
  /// Bytes in a connection that were no part of anything, and were skipped.
  public var skippedBytes: UInt64 {
    get { self[.skippedBytes] }
    set { self[.skippedBytes] = newValue }
  }

  /// Frames in a connection on a channel that no stream has.
  public var unassigned: UInt64 {
    get { self[.unassigned] }
    set { self[.unassigned] = newValue }
  }

  /// Frames of streams that are set up only because the device wants it so.
  public var unwanted: UInt64 {
    get { self[.unwanted] }
    set { self[.unwanted] = newValue }
  }
}
