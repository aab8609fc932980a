import Decode
import NIOCore
import Outputs
import RTPSend
import RTPWire
import Receiver
import Testing

/// Streams that change in some way while they are received: all is well again from the next
/// random-access point on that comes whole.
struct RecoveryTests {
  struct Event: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The numbers of the second part, which begins in the middle of a picture.
    var ssrc: UInt32 = 1
    var sequence: UInt16 = 5000
    var timestamp: UInt32 = 180_000
    var size = "256x144"
    /// How long nothing comes between the two, in seconds.
    var pause: Int64 = 0
    /// Whether the numbers continue where the first part ended.
    var goesOn = true

    /// Where the second part begins to be whole: its second key picture.
    static let firstWhole = 20
  }

  static let events = [
    Event(
      testDescription: "the sender is started anew", ssrc: 77, sequence: 64_000,
      timestamp: 3_000_000_000, goesOn: false),
    Event(testDescription: "sequence numbers begin anew", sequence: 64_000, goesOn: false),
    Event(testDescription: "another SSRC, and all else goes on", ssrc: 9),
    Event(testDescription: "timestamps jump by an hour", timestamp: 324_180_000),
    Event(testDescription: "timestamps jump back", timestamp: 4_294_000_000),
    Event(testDescription: "pictures have another size", size: "320x176"),
    Event(
      testDescription: "the sender pauses for a minute", timestamp: 180_000 + 60 * 90_000,
      pause: 60),
    Event(
      testDescription: "the sender pauses for a minute and its clock with it", pause: 60),
  ]

  @Test("all is well from the next random-access point on", arguments: events, [Codec.h264, .h265])
  func recovers(event: Event, codec: Codec) async throws {
    let encoder =
      codec == .h264
      ? ["libx264", "-tune", "zerolatency", "-g", "20"]
      : ["libx265", "-tune", "zerolatency", "-x265-params", "log-level=error:keyint=20"]
    let first = try EncodedStream(codec, encoder, frames: 30)
    let second = try EncodedStream(codec, encoder, frames: 50, size: event.size)
    func datagrams(_ packets: ArraySlice<ByteBuffer>, from start: Instant) -> [Datagram] {
      packets.enumerated().map { number, packet in
        Datagram(bytes: packet, arrival: start.advanced(byNanoseconds: Int64(number) * 10_000_000))
      }
    }
    let golden = try await second.frames(
      of: datagrams(
        second.packets(.init(ssrc: 1, initialSequence: 0, initialTimestamp: 0))[...],
        from: Instant(nanoseconds: 0)))
    #expect(golden.count == 50)

    let before = first.packets(.init(ssrc: 1, initialSequence: 5000, initialTimestamp: 0))
    // Both are cut in the middle of a picture.
    let kept = before.dropLast(2)
    let skipped = 40
    let sequence =
      event.goesOn
      ? 5000 &+ UInt16(truncatingIfNeeded: kept.count - skipped) : event.sequence
    let after = second.packets(
      .init(ssrc: event.ssrc, initialSequence: sequence, initialTimestamp: event.timestamp)
    ).dropFirst(skipped)
    var all = datagrams(kept, from: Instant(nanoseconds: 0))
    let end = all.last?.arrival ?? Instant(nanoseconds: 0)
    all += datagrams(
      after, from: end.advanced(byNanoseconds: event.pause * 1_000_000_000 + 10_000_000))

    let shown = try await second.frames(of: all)
    let whole = golden.dropFirst(Event.firstWhole)
    #expect(shown.suffix(whole.count).map(\.samples) == whole.map(\.samples))
    #expect(shown.suffix(whole.count).allSatisfy { $0.condition == .intact })
    let times = shown.suffix(whole.count).map(\.time.ticks)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 3000 })
  }
}
