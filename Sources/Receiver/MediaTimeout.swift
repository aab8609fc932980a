import Reception

/// How long a run waits for media before it ends.
public enum MediaTimeout: Sendable, Hashable {
  /// 10 s, but forever where something else notices: a reconnection, or a connection whose carrier
  /// ends by itself.
  ///
  /// The first media is also waited for forever where the far end begins when it likes.
  case standard
  /// This long.
  case after(Duration)
  /// For ever.
  case never

  static let standardDuration: Duration = .seconds(10)

  /// In effect, given what ``standard`` means here; `nil` waits forever.
  func duration(standard: Duration?) -> Duration? {
    switch self {
    case .standard: standard
    case .after(let duration): duration
    case .never: nil
    }
  }
}

extension Receiver.Configuration {
  /// The part that each connection on `carrier` needs.
  func reception(on carrier: Reception.Carrier) -> Reception.Configuration {
    let isNoticed = reconnection != nil || carrier.longestSilence != nil
    let standard = isNoticed ? nil : MediaTimeout.standardDuration
    var reception = Reception.Configuration()
    reception.stream = stream
    reception.firstMediaTimeout = firstMediaTimeout.duration(
      standard: carrier.isPassive ? nil : standard)
    reception.silenceTimeout = silenceTimeout.duration(standard: standard)
    reception.duration = duration
    reception.wantsPictures = wantsPictures
    reception.wantsSound = wantsSound
    reception.gatheringTime = gatheringTime
    reception.reconnectionSilence = reconnection?.silence
    return reception
  }
}
