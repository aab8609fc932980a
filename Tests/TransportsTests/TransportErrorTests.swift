import Testing

@testable import Transports

/// What keeps a transport from opening, in words, and whether it is tried again.
struct TransportErrorTests {
  /// As with a USB adapter, or a tunnel that is set up anew.
  @Test func anInterfaceThatIsGoneMayComeAgain() {
    #expect(TransportError.noSuchInterface(name: "wlan0").fault == .transient)
    #expect(
      TransportError.addressOfSender(address: "192.0.2.1:5004", port: 5004).fault == .transient)
  }

  @Test("only a port is said to need a privilege because it is low")
  func permission() {
    let ofPort = TransportError.permissionDenied(operation: "listen on 0.0.0.0:80")
    let ofInterface = TransportError.interfaceNotPermitted(operation: "receive on one alone")
    #expect(ofPort.description.contains("1024") && !ofPort.description.contains("CAP_NET_RAW"))
    #expect(ofInterface.description.contains("CAP_NET_RAW"))
    #expect(!ofInterface.description.contains("1024"))
    #expect([ofPort, ofInterface].allSatisfy { $0.fault == .permanent })
  }
}
