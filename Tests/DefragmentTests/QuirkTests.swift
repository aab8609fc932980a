import Bitstream
import Defragment
import Testing

/// What real cameras send, and the expected result.
struct QuirkTests {
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
  }

  static let cameras: [Camera] = [
    Camera(
      "FLIR M400 never sets the marker",
      [Packet("658811", 0), Packet("419a22", 3000), Packet("419a33", 6000)],
      gives: [["658811"], ["419a22"], ["419a33"]]),
    Camera(
      "timestamps that stand still, with markers",
      [Packet("658811", 0, marker: true), Packet("419a22", 0, marker: true)],
      gives: [["658811"], ["419a22"]]),
    Camera(
      "timestamps that stand still, without markers",
      [Packet("658811", 0), Packet("419a22", 0)], gives: [["658811"], ["419a22"]]),
    Camera(
      "Reolink: marker on SPS and SEI, parameter sets with the time of the picture before",
      [
        Packet("419a11", 0, marker: true), Packet("0605", 0, marker: true),
        Packet("658822", 3000, marker: true),
      ], gives: [["419a11"], ["0605", "658822"]]),
    Camera(
      "a picture that goes on behind its marker",
      [
        Packet("658811", 0, marker: true), Packet("654022", 0, marker: true),
        Packet("419a33", 3000, marker: true), Packet("414044", 3000, marker: true),
        Packet("419a55", 6000, marker: true),
      ], gives: [["658811"], ["654022"], ["419a33", "414044"], ["419a55"]]),
    Camera(
      "CostarHD: one fragment with both ends",
      [Packet("7cc58811", 0, marker: true)], gives: [["658811"]]),
    Camera(
      "OpenIPC: one H.265 fragment with both ends", codec: H265.codec,
      [Packet("6201d38811", 0, marker: true)], gives: [["26018811"]]),
    Camera(
      "Tiandy: the type changes between fragments",
      [Packet("7c858811", 0), Packet("7c4122", 0, marker: true)], gives: [["65881122"]]),
    Camera(
      "Longse: the reserved bit of fragments is set",
      [Packet("7ca58811", 0), Packet("7c6522", 0, marker: true)], gives: [["65881122"]]),
    Camera(
      "no end bit: the marker ends a unit",
      [
        Packet("7c858811", 0), Packet("7c0522", 0, marker: true), Packet("7c819a33", 3000),
        Packet("7c0144", 3000, marker: true),
      ], gives: [["65881122"], ["619a3344"]]),
    Camera(
      "no end bit: another unit ends a unit",
      [
        Packet("7c858811", 0), Packet("7c0522", 0), Packet("7c854033", 0), Packet("7c0544", 0),
        Packet("654055", 0, marker: true),
      ], gives: [["65881122", "65403344", "654055"]]),
    Camera(
      "no end bit and no marker: the next time ends a unit", codec: H265.codec,
      [
        Packet("620193af11", 0), Packet("62011322", 0), Packet("620181d033", 3000),
        Packet("62010144", 3000), Packet("0201d055", 6000),
      ], gives: [["2601af1122"], ["0201d03344"], ["0201d055"]]),
    Camera(
      "an empty fragment in the middle",
      [Packet("7c858811", 0), Packet("7c05", 0), Packet("7c4522", 0, marker: true)],
      gives: [["65881122"]]),
    Camera(
      "V380: start codes within one payload",
      [Packet("0605000000010922000001658811", 0, marker: true)],
      gives: [["0605", "0922", "658811"]]),
    Camera(
      "Amatek: a start code across two fragments",
      [Packet("7c8688110000", 0), Packet("7c4601658822", 0, marker: true)],
      gives: [["668811", "658822"]]),
    Camera(
      "a payload that begins with a start code",
      [Packet("00000001658811", 0, marker: true)], gives: [["658811"]]),
    Camera(
      "zeros behind a STAP-A",
      [Packet("780003658811000000000000", 0, marker: true)], gives: [["658811"]]),
    Camera(
      "packetization-mode 0 with fragments and aggregates",
      [Packet("7800020605", 0), Packet("7c858811", 0), Packet("7c4522", 0, marker: true)],
      gives: [["0605", "65881122"]]),
    Camera(
      "a delimiter behind a picture begins the next access unit",
      [Packet("658811", 0), Packet("0910", 0), Packet("419a22", 0, marker: true)],
      gives: [["658811"], ["0910", "419a22"]]),
    Camera(
      "an aggregation packet of one, and a byte too many", codec: H265.codec,
      [Packet("6001000426018811ff", 0, marker: true)], gives: [["26018811"]]),
    Camera(
      "PACI around a slice", codec: H265.codec,
      [Packet("6401262011223388aa", 0, marker: true)], gives: [["2601" + "3388aa"]]),
  ]

  @Test(arguments: cameras)
  func comesOutRight(_ camera: Camera) throws {
    var bench = try Bench(camera.codec)
    for packet in camera.packets {
      bench.push(packet.hex, at: packet.ticks, marker: packet.marker)
    }
    bench.flush()
    #expect(bench.accessUnits.map(\.wholeHex) == camera.expected)
    for unit in bench.accessUnits { #expect(unit.isTidy) }
  }

  @Test func aRecoveryPointIsARandomAccessPoint() throws {
    var bench = try Bench(H264.codec)
    bench.push("06060184", at: 0)
    bench.push("419a11", at: 0, marker: true)
    bench.push("419a22", at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.isRandomAccess) == [true, false])
  }

  @Test func aLostMiddleFragmentLeavesTheIntactBeginning() throws {
    var bench = try Bench(H264.codec)
    bench.push("7c858811", at: 0)
    bench.push("7c0522", at: 0, lost: 1)
    bench.push("7c4533", at: 0, marker: true)
    bench.push("419a44", at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.hex) == [["658811…"], ["419a44"]])
    #expect(bench.accessUnits.map(\.integrity) == [.damaged, .whole])
    #expect(bench.accessUnits.map(\.lostPackets) == [1, 0])
    #expect(bench.statistics.orphanFragments == 2)
  }
}
