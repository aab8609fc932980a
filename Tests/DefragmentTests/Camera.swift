import Bitstream
import Defragment
import TestSupport
import Testing

/// What a real camera sends, and what must come of it.
struct Camera: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var codec: VideoCodec
  var packets: [Packet]
  /// The whole NAL units of each access unit.
  var expected: [[String]]

  init(
    _ name: String, codec: VideoCodec = H264.codec, _ packets: [Packet],
    gives expected: [[String]]
  ) {
    testDescription = name
    self.codec = codec
    self.packets = packets
    self.expected = expected
  }

  func expectUnits() throws {
    var bench = try Bench(codec)
    for packet in packets { bench.push(packet.hex, at: packet.ticks, marker: packet.marker) }
    bench.flush()
    #expect(bench.accessUnits.map(\.wholeHex) == expected)
    for unit in bench.accessUnits { #expect(unit.isTidy) }
  }

  struct Packet: Sendable {
    var hex: String
    var ticks: Int64
    var marker: Bool

    init(_ hex: String, _ ticks: Int64, marker: Bool = false) {
      self.hex = hex
      self.ticks = ticks
      self.marker = marker
    }
  }
}
