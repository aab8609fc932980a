import ArgumentParser
import Bitstream
import Outputs
import Receiver
import Transports

struct PlayoutOptions: ParsableArguments {
  @Flag(
    help: """
      Let frames and sound leave at their own times, for players: jitter is smoothed, and a recording \
      plays at its speed, or at that of --speed.
      """)
  var pace = false

  /// How fast a recording plays; its packets are then read as fast as they are played.
  ///
  /// Takes the speed out of `options`, so that packets do not wait for their own times as well.
  func takeRate(from options: inout TransportOptions) -> Rational? {
    guard pace, let speed = options.replay.speed else { return nil }
    options.replay.speed = nil
    let (precision, limit) = (1_000_000.0, Double(UInt32.max))
    return speed * precision <= limit
      ? Rational(UInt32(max(1, (speed * precision).rounded())), UInt32(precision))
      : Rational(UInt32(min(limit, speed.rounded())), 1)
  }

  /// Throws if nothing that is written can be paced.
  func check(_ requests: [OutputRequest]) throws {
    guard pace, !requests.contains(where: { $0.format.canBePaced }) else { return }
    let formats = CommandLineTool.current.outputs.formats.filter(\.canBePaced)
    let names = formats.map { $0.scheme.map { "\($0):" } ?? $0.name }.joined(separator: ", ")
    throw UselessOption(
      "--pace", "has no effect without an output of frames or of sound alone; those are \(names)"
    ).noted()
  }
}
