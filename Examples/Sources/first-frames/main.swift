import Decode
import NIOPosix
import RTPWire
import Receiver
import Transports

let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
let source = CommandLine.arguments.dropFirst().first ?? "udp://127.0.0.1:5004"
var configuration = Receiver.Configuration()
configuration.frameLimit = 10
configuration.onFrame = { frame in print(frame.width, frame.height, frame.time.seconds) }
let receiver = try Receiver(configuration: configuration) { _ in
  try TransportCatalogue.standard.make(source: source, on: eventLoop)
}
print(await receiver.run().reason)
