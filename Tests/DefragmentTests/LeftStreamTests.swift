import Bitstream
import Defragment
import RTPWire
import TestSupport
import Testing

/// A receiver that has enough while the sender goes on.
@Suite("Leaving a stream")
struct LeftStreamTests {
  @Test(
    "A picture in progress is left out, and what was cut before it is not", arguments: Material.all)
  func inProgress(_ material: Material) throws {
    let fragments = Packetizer(codec: material.codec).fragments(of: material.slice, maximum: 4)
    var bench = try Bench(material.codec)
    // Its only fragment has no end.
    bench.push(fragments[0].bytes, at: 0)
    bench.push(material.slice, at: 3000, marker: true)
    bench.push(fragments[0].bytes, at: 6000)
    bench.push(fragments[1].bytes, at: 6000)
    bench.flush(isLeft: true)
    #expect(bench.accessUnits.map(\.damage) == [.cutUnit, nil])
    #expect(bench.statistics.damaged == [.cutUnit: 1])
    #expect((bench.statistics.accessUnits, bench.statistics.leftOut) == (2, 1))
    #expect(bench.statistics.cutUnits == 1)
  }

  @Test("So is one that has also lost a packet", arguments: Material.all)
  func lost(_ material: Material) throws {
    let fragments = Packetizer(codec: material.codec).fragments(of: material.slice, maximum: 4)
    var bench = try Bench(material.codec)
    bench.push(material.slice, at: 0, marker: true)
    bench.push(material.slice, at: 3000)
    bench.push(fragments[1].bytes, at: 3000, lost: 1)
    bench.flush(isLeft: true)
    #expect(bench.accessUnits.map(\.damage) == [nil])
    #expect(bench.statistics.damaged.isEmpty)
    #expect(bench.statistics.leftOut == 1)
  }

  @Test("Parameter sets between its slices change nothing", arguments: Material.all)
  func parameterSetsBetween(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.slice, at: 0, marker: true)
    bench.push(material.slice, at: 3000)
    bench.push(material.parameterSets[0], at: 3000)
    bench.flush(isLeft: true)
    #expect(bench.accessUnits.map(\.time.ticks) == [0])
    #expect(bench.statistics.leftOut == 1)
  }

  @Test("Without markers, only the last picture may go on", arguments: Material.all)
  func noMarkers(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.slice, at: 0)
    bench.push(material.slice, at: 3000)
    bench.flush(isLeft: true)
    #expect(bench.accessUnits.map(\.time.ticks) == [0])
    #expect(bench.statistics.leftOut == 1)
  }

  @Test("Where nothing is in progress, nothing is left out", arguments: Material.all)
  func betweenPictures(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.slice, at: 0, marker: true)
    bench.flush(isLeft: true)
    #expect(bench.accessUnits.map(\.integrity) == [.whole])
    #expect(bench.statistics.leftOut == 0)
  }
}
