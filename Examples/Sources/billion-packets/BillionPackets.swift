import NIOCore
import RTPProcessor
import RTPWire

/// Sends packets through the core on a virtual clock, with losses, repetitions and swaps at known
/// places, and checks that after all of them every count and every time is exact.
///
/// usage: billion-packets [COUNT]
@main
struct BillionPackets {
  private static let packetsPerFrame: Int64 = 10
  private static let ticksPerFrame: Int64 = 3000

  private var processor = RTPProcessor()
  private var now = Instant(nanoseconds: 0)
  /// The number and the display time of the first packet.
  private var origin: (sequence: Int64, ticks: Int64)?
  private var (wrongPlaces, wrongTimes): (UInt64, UInt64) = (0, 0)
  private var (lost, repeated, swapped): (UInt64, UInt64, UInt64) = (0, 0, 0)

  static func main() {
    let count = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) } ?? 1_000_000_000
    let clock = ContinuousClock()
    let start = clock.now
    var run = BillionPackets()
    run.send(count)
    let seconds = (clock.now - start) / .seconds(1)
    print(
      "\(count) packets, \((count + 65_000) / 65_536) wraps, \(Int(seconds)) s, "
        + "\(Int(seconds * 1e9 / Double(count))) ns a packet; " + run.verdict)
  }

  private mutating func send(_ count: Int64) {
    var number: Int64 = 0
    while number < count {
      // A thousand packets a second, so that a window is 200 packets long.
      now = Instant(nanoseconds: number * 1_000_000)
      switch number % 100_000 {
      case 50_000:
        lost += 1
      case 60_000:
        receive(number)
        receive(number)
        repeated += 1
      case 70_000:
        receive(number + 1)
        receive(number)
        number += 1
        swapped += 1
      default: receive(number)
      }
      number += 1
    }
    processor.finish()
    take()
  }

  private var verdict: String {
    let statistics = processor.statistics
    let isExact =
      statistics.isBalanced && statistics.lost == lost && statistics.duplicate == repeated
      && statistics.reordered == swapped && statistics.late == 0
      && statistics.sequenceRestarts == 0 && wrongPlaces == 0 && wrongTimes == 0
    return "lost \(statistics.lost) of \(lost), duplicate \(statistics.duplicate) of \(repeated), "
      + "reordered \(statistics.reordered) of \(swapped), wrong places \(wrongPlaces), "
      + "wrong times \(wrongTimes): " + (isExact ? "exact" : "NOT EXACT")
  }

  private mutating func receive(_ number: Int64) {
    _ = processor.receive(Datagram(bytes: Self.packet(number), arrival: now)) { _ in true }
    take()
  }

  private mutating func take() {
    while let packet = processor.next(at: now) {
      let payload = packet.packet.payload
      guard let number = payload.getInteger(at: payload.readerIndex, as: Int64.self) else {
        continue
      }
      let ticks = number / Self.packetsPerFrame * Self.ticksPerFrame
      let origin = origin ?? (packet.extendedSequence - number, packet.time.ticks - ticks)
      self.origin = origin
      if packet.extendedSequence != origin.sequence + number { wrongPlaces += 1 }
      if packet.time.ticks != origin.ticks + ticks { wrongTimes += 1 }
    }
  }

  /// Packet `number` of the stream, whose numbers and timestamps begin shortly before they wrap.
  private static func packet(_ number: Int64) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.reserveCapacity(20)
    let ticks = number / packetsPerFrame * ticksPerFrame
    bytes.writeMultipleIntegers(
      UInt8(0x80), UInt8(96), UInt16(truncatingIfNeeded: 65_000 + number),
      UInt32(truncatingIfNeeded: 0xFFFF_0000 + ticks), UInt32(0xBEEF), number)
    return bytes
  }
}
