import RTPWire
import Reception
import Transports

extension Reception.Carrier {
  /// What of `transport` decides anything.
  init(_ transport: any RTPTransport) {
    self.init(
      time: Pace(of: transport.clock).time, isPassive: transport.isPassive,
      longestSilence: transport.longestSilence, canGather: transport.canGather)
  }
}

extension Reception.CarrierEnd {
  init(_ end: TransportEnd) {
    self =
      switch end {
      case .ended: .ended
      case .failed(let error): .failed(error)
      case .closed: .closed
      }
  }
}
