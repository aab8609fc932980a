import ArgumentParser
import RTPSend

struct PaceOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A multiple of the pace of the timestamps.", valueName: "factor"))
  var speed = 1.0

  @Flag(help: "As fast as possible.")
  var fast = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A constant number of packets per second.", valueName: "packets"))
  var rate: Double?

  var pacing: Pacing {
    if let rate { return .packetRate(rate) }
    return fast ? .unpaced : .mediaTime(speed: speed)
  }

  func check() throws {
    guard speed >= 0.001, speed <= 1000 else {
      throw ValidationError("--speed must be 0.001 to 1000")
    }
    if let rate, !(rate >= 0.1 && rate <= 10_000_000) {
      throw ValidationError("--rate must be 0.1 to 10000000 packets a second")
    }
    if [fast, rate != nil, speed != 1].filter({ $0 }).count > 1 {
      throw ValidationError("--speed, --fast and --rate exclude one another")
    }
  }
}
