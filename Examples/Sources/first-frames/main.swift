import Receiver

let source = CommandLine.arguments.dropFirst().first ?? "udp://127.0.0.1:5004"
var configuration = Receiver.Configuration()
configuration.frameLimit = 10
let receiver = try Receiver(source, configuration: configuration)
for await frame in receiver.frames(.everyOne) {
  print(frame.width, frame.height, frame.time.seconds)
}
print(await receiver.run().reason)
