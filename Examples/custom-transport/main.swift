// Plays a text of hexadecimal RTP packets, one in each line, and counts the frames in it.
//
// Usage: tshark -r camera.pcap -T fields -e udp.payload > camera.txt; custom-transport camera.txt
import Decode
import Foundation
import NIOPosix
import Outputs
import RTPWire
import Receiver
import Reception
import Transports

guard CommandLine.arguments.count == 2 else {
  print("usage: custom-transport FILE")
  exit(64)
}
let transport = HexLinesTransport(
  path: CommandLine.arguments[1], on: MultiThreadedEventLoopGroup.singleton.next())
var configuration = Receiver.Configuration()
configuration.onFrame = { frame in print(frame.width, "x", frame.height, frame.time.seconds) }
let report = await (try Receiver(transport: transport, configuration: configuration)).run()
print(report.reason, report.status.transport.delivered, "packets")
