import ArgumentParser
import BlockingIO
import Glibc
import NIOPosix
import Outputs
import Synchronization
import Transports

/// `rtp-recv discover`: the cameras on the networks of this machine.
struct DiscoverCommand: AsyncParsableCommand {
  static let name = "discover"

  static let configuration = CommandConfiguration(
    commandName: "rtp-recv discover",
    abstract: "Lists the cameras on the networks of this machine that speak ONVIF.",
    usage: "rtp-recv discover [--interface NAME] [--timeout TIME] [--json]",
    discussion: """
      A line for each camera as soon as it answers (WS-Discovery), with the URL to receive it by:
        rtp-recv onvif://user@192.168.1.64 --list
        rtp-recv onvif://user@192.168.1.64 -o camera.mp4

      Cameras answer only from the network that they are in, and only if WS-Discovery is switched \
      on. The exit status is 0 if there is one, and 12 if there is none.
      """)

  @Option(help: ArgumentHelp("The network interface to look on alone.", valueName: "name"))
  var interface: String?

  @Option(
    help: ArgumentHelp(
      """
      How long to wait for answers, in seconds, or with a unit. \
      (default: \(Int(CameraDiscovery.usualTime / .seconds(1)))s)
      """, valueName: "time"),
    transform: Seconds.read)
  var timeout: Seconds?

  @Flag(help: "A JSON object for each camera.")
  var json = false

  /// Nobody waits for longer; SwiftNIO traps on deadlines that it cannot count.
  private static let longestTime = 86_400.0

  func validate() throws {
    guard !StandardDescriptors.closed.contains(STDOUT_FILENO) else {
      throw ValidationError("standard output is closed, but the cameras are to be listed there")
    }
    guard let seconds = timeout?.seconds else { return }
    guard seconds > 0, seconds <= Self.longestTime else {
      throw ValidationError("--timeout must be more than 0, and at most 1d")
    }
  }

  func run() async throws {
    let output = DiscoveryOutput(asJSON: json)
    do {
      try await CameraDiscovery.run(
        on: interface,
        for: timeout.map { Duration.seconds($0.seconds) } ?? CameraDiscovery.usualTime,
        eventLoop: MultiThreadedEventLoopGroup.singleton.next(), found: { output.write($0) })
    } catch {
      StandardError.say(.error("\(error)"))
      throw ExitStatus.cannotOpen.code
    }
    if let failure = output.failure {
      StandardError.say(.error("standard output cannot be written: \(failure)"))
      throw ExitStatus.outputFailed.code
    }
    guard output.count == 0 else { return }
    StandardError.say(
      .error(
        "no camera has answered; look in the network of the cameras, with --interface if this "
          + "machine is in several, and check that WS-Discovery is switched on in the cameras"))
    throw ExitStatus.noSuchStream.code
  }
}

/// Where the cameras are listed.
private final class DiscoveryOutput: Sendable {
  private let asJSON: Bool
  private let state = Mutex((count: 0, failure: String?.none))

  init(asJSON: Bool) { self.asJSON = asJSON }

  var count: Int { state.withLock { $0.count } }
  var failure: String? { state.withLock { $0.failure } }

  func write(_ camera: DiscoveredCamera) {
    let line = (asJSON ? Self.json(camera) : Self.text(camera)) + "\n"
    state.withLock { state in
      guard state.failure == nil else { return }
      state.count += 1
      let writer = FileWriter(borrowing: STDOUT_FILENO)
      state.failure = writer.write(line, until: WriteDeadline(in: .seconds(1)))?.reason
    }
  }

  private static func text(_ camera: DiscoveredCamera) -> String {
    let addresses = camera.addresses.joined(separator: " ")
    return
      ([camera.url, camera.name, camera.hardware, camera.location].compactMap(\.self)
      + (addresses.isEmpty ? [] : [addresses])).joined(separator: "  ")
  }

  private static func json(_ camera: DiscoveredCamera) -> String {
    var line = JSONLine()
    line.add("url", camera.url)
    line.add("name", camera.name)
    line.add("hardware", camera.hardware)
    line.add("location", camera.location)
    line.add("xaddrs", camera.addresses)
    line.add("identifier", camera.identifier)
    return line.text
  }
}
