import Reception
import Transports

extension Receiver.Configuration {
  /// How long silence may last where nothing else notices it.
  private static let standardSilence: Duration = .seconds(10)

  /// The part that each connection on `carrier` needs.
  func reception(on carrier: Reception.Carrier) -> Reception.Configuration {
    let isNoticed = reconnection != nil || carrier.longestSilence != nil
    let standard = isNoticed ? nil : Self.standardSilence
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
