internal import RTPWire

/// What a source has beside the one stream that was chosen, and is played alone.
struct ChoiceFindings: TransportFinding, Hashable {
  /// Whether it describes sound, and the chosen stream is video.
  var leavesSoundOut = false

  func joined(after earlier: ChoiceFindings) -> ChoiceFindings {
    ChoiceFindings(leavesSoundOut: leavesSoundOut || earlier.leavesSoundOut)
  }
}

extension TransportCounters {
  /// Whether the source describes sound that is not played, because a video was chosen by its
  /// number.
  public var leavesSoundOut: Bool {
    get { self[finding: ChoiceFindings.self].leavesSoundOut }
    set { self[finding: ChoiceFindings.self].leavesSoundOut = newValue }
  }
}

extension SessionDescription {
  /// Whether there is sound beside the stream at `index`, which is video.
  func hasSound(besideVideo index: Int) -> Bool {
    media[index].kind == .video && media.contains { $0.kind == .audio && !$0.isBackChannel }
  }
}
