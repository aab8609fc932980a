extension FlowChoice {
  /// What was chosen from how many flows; everybody is to know it if there are several videos and
  /// nobody asked for one.
  func remark(among survey: FlowSurvey, for wish: FlowSurvey.Wish) -> TransportDiagnostic {
    let videos = wish.isOpen ? otherVideos(in: survey).count : 0
    guard videos == 0 else {
      return .warning(
        "plays \(flow) (of \(videos + 1) flows that look like video; --list shows them, --ssrc "
          + "chooses)")
    }
    let others = survey.confirmed(atMost: .max).count - 1
    return TransportDiagnostic(
      "plays \(flow)" + (others > 0 ? " (of \(others + 1) flows; --ssrc chooses)" : ""))
  }

  /// How the media was carried.
  var carriage: TransportCounters.Carriage? {
    switch flow.place {
    case .port: .udp
    case .channel: .tcp
    case .file: nil
    }
  }
}
