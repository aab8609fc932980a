import NIOCore
import Testing

@testable import RTPSend

/// The boxes of an MP4 that anybody may write.
struct MovieBoxTests {
  /// A track of eight bytes took a hundred in memory, and an index may have 64 MiB.
  @Test func anIndexOfCountlessTracksIsRefused() {
    let box: [UInt8] = [0, 0, 0, 8] + Array("trak".utf8)
    func index(of count: Int) -> ByteBuffer {
      ByteBuffer(bytes: repeatElement(box, count: count).joined())
    }
    #expect(throws: GrowingFault.noVideo) { try MovieIndex(index(of: MovieIndex.mostTracks)) }
    #expect(throws: GrowingFault.malformed("moov")) {
      try MovieIndex(index(of: MovieIndex.mostTracks + 1))
    }
  }

  /// Each box is read when it is asked for.
  @Test func boxesAreThoseOfTheirBytesUpToTheFirstThatIsNotWhole() {
    let free: [UInt8] = [0, 0, 0, 9] + Array("free".utf8) + [7]
    let long: [UInt8] = [0, 0, 0, 1] + Array("skip".utf8) + [0, 0, 0, 0, 0, 0, 0, 18, 1, 2]
    let cut: [UInt8] = [0, 0, 0, 9] + Array("trak".utf8)
    var boxes = Boxes(in: ByteBuffer(bytes: free + long + cut))
    let first = boxes.next()
    #expect(first?.type == "free" && first?.body == ByteBuffer(bytes: [7]))
    #expect(boxes.map(\.type) == ["skip"])
  }
}
