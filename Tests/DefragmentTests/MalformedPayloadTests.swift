import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Payloads and parameter sets that broke other receivers: nothing traps, each is counted, and the
/// next key picture comes out whole and exact.
@Suite("Malformed payloads")
struct MalformedPayloadTests {
  struct Sender: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var codec: VideoCodec
    var payloads: [[UInt8]]
    /// False where what is sent is tolerable, so that no counter has to move.
    var isCounted = true

    init(
      _ name: String, _ codec: VideoCodec, _ payloads: [[UInt8]], isCounted: Bool = true
    ) {
      testDescription = name
      self.codec = codec
      self.payloads = payloads
      self.isCounted = isCounted
    }
  }

  static let h264: [Sender] = [
    Sender("a fragment of one byte", H264.codec, [[0x7C]]),
    Sender("a fragment that begins and holds nothing", H264.codec, [[0x7C, 0x85]]),
    Sender("a fragment that ends what never began", H264.codec, [[0x7C, 0x45, 1, 2]]),
    Sender("middle fragments alone", H264.codec, [[0x7C, 5, 1], [0x7C, 5, 2]]),
    Sender("a fragment of a fragment", H264.codec, [[0x7C, 0x9C, 1, 2, 3]]),
    Sender(
      "a beginning behind a beginning", H264.codec, [[0x7C, 0x85, 0x88], [0x7C, 0x85, 0x88]]),
    Sender("STAP-A: an entry longer than the rest", H264.codec, [[0x78, 0, 9, 0x65, 1]]),
    Sender("STAP-A: an entry of 65,535", H264.codec, [[0x78, 0xFF, 0xFF, 0x65, 1]]),
    Sender("STAP-A: an empty entry between others", H264.codec, [[0x78, 0, 0, 0, 2, 0x65, 0x88]]),
    Sender("STAP-A: nothing but zeros", H264.codec, [[0x78, 0, 0, 0, 0]], isCounted: false),
    Sender("STAP-A: one stray byte", H264.codec, [[0x78, 0, 2, 0x41, 0x9A, 0]], isCounted: false),
    Sender("STAP-B without its number", H264.codec, [[0x79, 0]]),
    Sender("MTAP16 cut in its base", H264.codec, [[0x7A, 0]]),
    Sender("MTAP24 cut in its offset", H264.codec, [[0x7B, 0, 1, 0, 9, 0, 0]]),
    Sender("FU-B cut in its number", H264.codec, [[0x7D, 0x85, 0]]),
    Sender("reserved types", H264.codec, [[0x60, 1], [0x7E, 1], [0x7F, 1]]),
    Sender(
      "headers alone of prefix and extension units", H264.codec,
      [[0x6E], [0x74], [0x75], [0x6E, 1], [0x74, 1, 2], [0x75, 1, 2, 3]], isCounted: false),
    Sender("an empty payload", H264.codec, [[]]),
    Sender("an SPS of its header", H264.codec, [[0x67]]),
    Sender("an SPS of zeros", H264.codec, [[0x67] + [UInt8](repeating: 0, count: 40)]),
    Sender(
      "an SPS of 131,072 columns", H264.codec, [[0x67, 66, 0, 30, 0xDC, 0, 8, 0, 0x39]]),
    Sender(
      "ten thousand start codes in one unit", H264.codec,
      [[0x65] + (0..<10_000).flatMap { _ in [0, 0, 1] as [UInt8] }]),
  ]

  static let h265: [Sender] =
    [
      Sender("a payload of one byte", H265.codec, [[0x62]]),
      Sender("a fragment without its header", H265.codec, [[0x62, 1]]),
      Sender("a fragment that ends what never began", H265.codec, [[0x62, 1, 0x53, 9]]),
      Sender("a fragment of a fragment", H265.codec, [[0x62, 1, 0xB1, 9, 9]]),
      Sender("AP: an entry longer than the rest", H265.codec, [[0x60, 1, 0, 9, 0x26, 1]]),
      Sender("PACI cut in its fields", H265.codec, [[0x64, 1, 0]]),
      Sender("PACI within PACI", H265.codec, [[0x64, 1, 0x64, 0, 0x64, 1, 9]]),
      Sender("PACI whose extension is longer than it", H265.codec, [[0x64, 1, 0x27, 0xF0, 1]]),
      Sender("an SPS of its header", H265.codec, [[0x42, 1]]),
      Sender("an SPS of ones", H265.codec, [[0x42, 1] + [UInt8](repeating: 255, count: 60)]),
    ]
    + (51...63).map { type in
      Sender("reserved type \(type)", H265.codec, [[UInt8(type) << 1, 1, 1, 2, 3]])
    }

  @Test(arguments: h264 + h265)
  func theNextKeyPictureIsExact(_ sender: Sender) throws {
    var bench = try Bench(sender.codec)
    for marker in [false, true] {
      for payload in sender.payloads { bench.push(payload, at: 0, marker: marker) }
    }
    if sender.isCounted { #expect(bench.statistics.troubles > 0) }
    _ = bench.take()
    try expectKeyPicture(from: &bench, of: sender.codec)
  }

  @Test(
    "Every payload structure in every length up to 12", arguments: Material.all,
    [0x00, 0xFF, 0x80, 0x40])
  func shortPayloads(_ material: Material, _ filler: UInt8) throws {
    let numbering: [[String: String]] = [
      [:], ["packetization-mode": "2", "sprop-max-don-diff": "4", "sprop-depack-buf-nalus": "2"],
    ]
    for parameters in numbering {
      for first in UInt8.min...UInt8.max {
        var bench = try Bench(material.codec, parameters: parameters)
        for length in 1...12 {
          var payload = [UInt8](repeating: filler, count: length)
          payload[0] = first
          bench.push(payload, at: Int64(length))
        }
        for unit in bench.accessUnits { #expect(unit.isTidy) }
        if parameters.isEmpty { expectRecovery(&bench, material) }
      }
    }
  }

  @Test("every short payload of every type", arguments: [H264.codec, H265.codec])
  func shortPayloadsOfEveryType(codec: VideoCodec) throws {
    var bench = try Bench(codec)
    for type in UInt8.min...UInt8.max {
      for fill: UInt8 in [0, 1, 0x7F, 0x80, 0x85, 0xFF] {
        for length in 0...8 {
          bench.push([type] + [UInt8](repeating: fill, count: length), at: 0)
        }
      }
    }
    _ = bench.take()
    try expectKeyPicture(from: &bench, of: codec)
  }

  @Test("H.264 extension types of a header alone", arguments: [14, 20, 21], 1...4)
  func extensions(_ type: UInt8, _ length: Int) throws {
    var bench = try Bench(H264.codec)
    bench.push([0x60 | type] + [UInt8](repeating: 0, count: length - 1), marker: true)
    expectRecovery(&bench, .h264)
  }

  static let cameras: [Camera] = [
    Camera(
      "PACI around a slice", codec: H265.codec,
      [.init("6401262011223388aa", 0, marker: true)], gives: [["2601" + "3388aa"]])
  ]

  @Test("What cameras send comes out right", arguments: cameras)
  func comesOutRight(_ camera: Camera) throws { try camera.expectUnits() }

  @Test("H.265 content information around a slice, and cut", arguments: 0...31)
  func contentInformation(_ extensionLength: Int) throws {
    let material = Material.h265
    let fields = UInt16(material.slice[0] >> 1) << 9 | UInt16(extensionLength) << 4
    let whole: [UInt8] =
      [50 << 1, material.slice[1], UInt8(fields >> 8), UInt8(fields & 0xFF)]
      + [UInt8](repeating: 0xEE, count: extensionLength) + material.slice.dropFirst(2)
    var bench = try Bench(H265.codec)
    bench.push(whole, marker: true)
    #expect(bench.take().map(\.hex) == [[material.slice.hex]])
    for length in 0..<(4 + extensionLength) { bench.push(Array(whole.prefix(length))) }
    #expect(bench.statistics.troubles == UInt64(4 + extensionLength))
    expectRecovery(&bench, material)
  }

  @Test(
    "parameter sets in the SDP that are none",
    arguments: ["", ",", ",,", "!!!", "Zw==", "AAAA", "Z2QAKKw=", "Qg==,RA=="])
  func brokenSignalledSets(text: String) throws {
    var bench = try Bench(
      H264.codec,
      parameters: ["sprop-parameter-sets": text, "sprop-vps": text, "sprop-sps": text])
    try expectKeyPicture(from: &bench, of: H264.codec)
  }

  @Test(
    "every truncation and every flipped bit of parameter sets",
    arguments: [
      (H264.codec, "67640028acd940780227e5c05a808080a0000003002000000781e30632c0"),
      (
        H265.codec,
        "420101016000000300900000030000030078a003c08010e596566924caf010100000030010000003"
          + "01e080"
      ),
    ])
  func brokenParameterSets(codec: VideoCodec, set: String) throws {
    let set = bytes(set)
    var bench = try Bench(codec)
    for length in 0...set.count { bench.push(Array(set.prefix(length)), at: 0) }
    for bit in 0..<(set.count * 8) {
      var flipped = set
      flipped[bit / 8] ^= 1 << (bit % 8)
      bench.push(flipped, at: 0)
    }
    _ = bench.take()
    try expectKeyPicture(from: &bench, of: codec)
  }
}
