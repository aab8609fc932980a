import Reception
import Transports

extension Reception.Carrier {
  /// What of `transport` decides anything.
  init(_ transport: any RTPTransport) {
    self.init(
      clock: transport.clock, isPassive: transport.isPassive,
      longestSilence: transport.longestSilence, comesAgain: transport.comesAgain,
      canGather: transport.canGather)
  }
}
