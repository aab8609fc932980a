import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Start codes in payloads, where RTP has none: several units come out of one.
@Suite("Start codes in payloads")
struct EmbeddedStartCodeTests {
  static let cameras: [Camera] = [
    Camera(
      "V380: start codes within one payload",
      [.init("0605000000010922000001658811", 0, marker: true)],
      gives: [["0605", "0922", "658811"]]),
    Camera(
      "Amatek: a start code across two fragments",
      [.init("7c8688110000", 0), .init("7c4601658822", 0, marker: true)],
      gives: [["668811", "658822"]]),
    Camera(
      "a payload that begins with a start code",
      [.init("00000001658811", 0, marker: true)], gives: [["658811"]]),
  ]

  @Test("What cameras send comes out right", arguments: cameras)
  func comesOutRight(_ camera: Camera) throws { try camera.expectUnits() }

  @Test("Start codes between and across fragments (V380, Amatek)", arguments: Material.all)
  func startCodes(_ material: Material) throws {
    let units = material.parameterSets + [material.keySlice]
    for code in [[0, 0, 1], [0, 0, 0, 1]] as [[UInt8]] {
      let stream = Array(units.joined(separator: code))
      let packetizer = Packetizer(codec: material.codec)
      for size in 1...stream.count {
        var bench = try Bench(material.codec)
        for payload in packetizer.fragments(of: stream, maximum: size) {
          bench.push(payload.bytes, marker: payload.isLast)
        }
        #expect(bench.accessUnits.map(\.hex) == [units.map(\.hex)], "pieces of \(size)")
        #expect(bench.statistics.embeddedUnits == UInt64(units.count - 1))
        for unit in bench.accessUnits { #expect(unit.isTidy) }
      }
      var bench = try Bench(material.codec)
      bench.push(code + stream + [0, 0, 0], marker: true)
      bench.push(packetizer.aggregate([stream, material.laterSlice]), at: 3000, marker: true)
      #expect(
        bench.accessUnits.map(\.hex) == [
          units.map(\.hex), units.map(\.hex) + [material.laterSlice.hex],
        ])
    }
  }

  @Test("Sets with start codes, and all in one (Revotech, GW4089IP)", arguments: Material.all)
  func signalledStartCodes(_ material: Material) throws {
    let stream = Array(material.parameterSets.map { [0, 0, 0, 1] + $0 }.joined())
    let key = material.codec == H264.codec ? "sprop-parameter-sets" : "sprop-sps"
    let bench = try Bench(material.codec, parameters: [key: base64(stream)])
    #expect(
      bench.defragmenter.parameterSets.inNaturalOrder.map(\.hex)
        == material.parameterSets.map(\.hex))
    #expect(bench.defragmenter.parameterSets.isComplete)
  }

  @Test("Thousands of start codes in one NAL unit", arguments: Material.all, [false, true])
  func thousands(_ material: Material, _ isFilled: Bool) throws {
    var bench = try Bench(material.codec)
    let piece: [UInt8] = isFilled ? [0, 0, 1, 0x41, 0x01, 0x11] : [0, 0, 1]
    let payload = Array(material.slice + (0..<10_000).flatMap { _ in piece })
    let time = ContinuousClock().measure {
      for _ in 0..<4 { bench.push(payload) }
    }
    // Linear time takes milliseconds, quadratic time minutes.
    #expect(time < .seconds(2))
    bench.flush()
    for unit in bench.accessUnits {
      #expect(unit.isTidy)
      #expect(unit.units.count <= VideoDefragmenter.Limits().unitsPerAccessUnit)
    }
    expectRecovery(&bench, material)
  }
}
