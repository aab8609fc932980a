import RTPWire
import Testing

@testable import CommandLineTool
@testable import Transports

/// The streams of a source, as people read them.
struct StreamListTests {
  @Test("one packet is no packets", arguments: [(1, "1 packet"), (2, "2 packets")])
  func packets(count: UInt64, words: String) {
    var stream = ListedStream(MediaDescription(payloadType: 96, encodingName: "H264"))
    stream.flow = FlowFigures(
      ssrc: 1, packets: count, bytes: 100, repeated: 0, lost: 0, duration: .zero, samples: [],
      jitters: [:])
    let list = StreamList(of: StreamListing([stream]), media: MediaDescription())
    #expect(list.shown(as: .text).contains("  \(words)  0 lost"))
  }
}
