import Bitstream
import Defragment
import NIOCore
import RTPSend
import RTPWire
import Testing

@testable import Decode
@testable import Receiver

struct SkippedPictureTests {
  /// One picture of ten is intact for a while, and then none.
  @Test func whatIsLeftOutIsAFreezeLikeWhatIsRepeated() async throws {
    let sent = try PatternStream(
      .h264, frames: 150,
      as: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    // Each packet arrives when its timestamp says.
    let datagrams = sent.datagrams.map { datagram in
      let ticks = datagram.bytes.getInteger(at: datagram.bytes.readerIndex + 4, as: UInt32.self)
      return Datagram(
        bytes: datagram.bytes, arrival: Instant(nanoseconds: Int64(ticks ?? 0) * 100_000 / 9))
    }
    let frames = try await Playback.frames(
      of: Playback(datagrams, media: sent.media).accessUnits)
    #expect(frames.count == 150)
    let first = try #require(frames.first)
    var freezing = Allotment(Receiver.Configuration(), measuresLatency: false)
    var skipping = freezing
    for (position, frame) in frames.enumerated() {
      if position < 30 || position < 120 && position.isMultiple(of: 10) {
        _ = freezing.take(frame, at: frame.lastArrival)
        _ = skipping.take(frame, at: frame.lastArrival)
      } else {
        let repeated = try #require(RawFrame(repeating: first, for: frame.record))
        _ = freezing.take(repeated, at: frame.lastArrival)
        skipping.noteSkipped(frame.time, arrival: frame.lastArrival)
      }
    }
    #expect(freezing.statistics.frames == 150)
    #expect(freezing.statistics.freezes.count > 5)
    #expect(skipping.statistics.freezes == freezing.statistics.freezes)
  }
}
