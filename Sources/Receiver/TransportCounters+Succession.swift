import Transports

extension TransportCounters {
  /// What several transports, one after the other, have counted: sums, and the rest from `next`.
  func followed(by next: TransportCounters) -> TransportCounters {
    var total = next
    total.localAddress = next.localAddress ?? localAddress
    total.delivered += delivered
    total.deliveredBytes += deliveredBytes
    total.foreignOrigin += foreignOrigin
    total.empty += empty
    total.kernelDropped += kernelDropped
    total.refused += refused
    total.hellosSent += hellosSent
    total.heartbeatsSent += heartbeatsSent
    total.rebindings += rebindings
    total.receiveBuffer = next.receiveBuffer > 0 ? next.receiveBuffer : receiveBuffer
    total.delivery = next.delivery ?? delivery
    total.skippedBytes += skippedBytes
    total.unassigned += unassigned
    total.unwanted += unwanted
    // A device does the same every time; once is enough to know.
    let news = next.diagnostics.filter { !diagnostics.contains($0) }
    total.diagnostics = Array((diagnostics + news).prefix(Self.maximumDiagnostics))
    return total
  }

  private static let maximumDiagnostics = 64
}
