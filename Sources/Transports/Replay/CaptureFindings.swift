/// What a capture that is played shows of itself.
struct CaptureFindings: TransportFinding, Hashable {
  /// Whether it lacks something that came.
  var isIncomplete = false

  func joined(after earlier: CaptureFindings) -> CaptureFindings {
    CaptureFindings(isIncomplete: isIncomplete || earlier.isIncomplete)
  }
}

extension TransportCounters {
  /// Whether a recording that is played lacks something that came, so that what is missing was
  /// perhaps not lost.
  public var isIncompleteRecording: Bool {
    get { self[finding: CaptureFindings.self].isIncomplete }
    set { self[finding: CaptureFindings.self].isIncomplete = newValue }
  }
}
