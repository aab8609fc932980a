import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import Testing

/// Behaviour of cameras that no standard describes, and the output expected all the same.
@Suite("Cameras")
struct CameraTests {
  @Test("Marker on every parameter set (LV-IP22IR40DVBL)", arguments: Material.all)
  func markerOnParameterSets(_ material: Material) throws {
    var bench = try Bench(material.codec)
    for set in material.parameterSets { bench.push(set, at: 3000, marker: true) }
    bench.push(material.supplementalInformation, at: 3000, marker: true)
    bench.push(material.keySlice, at: 3000, marker: true)
    #expect(
      bench.accessUnits.map(\.hex) == [
        material.parameterSets.map(\.hex)
          + [material.supplementalInformation.hex, material.keySlice.hex]
      ])
    #expect(bench.statistics.misplacedMarkers == 0)
  }

  @Test("Parameter sets with the time of the picture before (Reolink)", arguments: Material.all)
  func earlierTime(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.slice, at: 0, marker: true)
    for set in material.parameterSets { bench.push(set, at: 0) }
    bench.push(material.keySlice, at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.time.ticks) == [0, 3000])
    #expect(bench.accessUnits.map(\.units.count) == [1, material.parameterSets.count + 1])
    #expect(bench.accessUnits.map(\.isRandomAccess) == [false, true])
  }

  @Test("No marker ever (FLIR M400)", arguments: Material.all)
  func noMarker(_ material: Material) throws {
    var bench = try Bench(material.codec)
    for ticks in Int64(0)..<5 {
      bench.push(material.slice, at: ticks * 3000)
      bench.push(material.laterSlice, at: ticks * 3000)
      #expect(bench.accessUnits.count == Int(ticks))
    }
    bench.flush()
    #expect(bench.accessUnits.map(\.units.count) == [2, 2, 2, 2, 2])
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
  }

  @Test("Neither marker nor time: timestamps stuck at 0", arguments: Material.all)
  func stuckTime(_ material: Material) throws {
    var bench = try Bench(material.codec)
    for _ in 0..<4 {
      bench.push(material.slice)
      bench.push(material.laterSlice)
    }
    bench.flush()
    #expect(bench.accessUnits.map(\.units.count) == [2, 2, 2, 2])
  }

  @Test("A marker on every slice, not only the last", arguments: Material.all)
  func markerOnEverySlice(_ material: Material) throws {
    var bench = try Bench(material.codec)
    for ticks in Int64(0)..<4 {
      bench.push(material.slice, at: ticks * 3000, marker: true)
      bench.push(material.laterSlice, at: ticks * 3000, marker: true)
    }
    bench.flush()
    // The first picture teaches that the marker says nothing; the others are in one piece.
    #expect(bench.accessUnits.map(\.units.count) == [1, 1, 2, 2, 2])
    #expect(bench.statistics.misplacedMarkers == 1)
  }

  @Test("A delimiter or parameter set of the same time begins a picture", arguments: Material.all)
  func sameTime(_ material: Material) throws {
    for beginning in [material.delimiter, material.parameterSets[0]] {
      var bench = try Bench(material.codec)
      bench.push(material.slice)
      bench.push(beginning)
      bench.push(material.keySlice)
      bench.flush()
      #expect(
        bench.accessUnits.map(\.hex) == [
          [material.slice.hex], [beginning.hex, material.keySlice.hex],
        ])
    }
  }

  @Test("A recovery point is a place to begin", arguments: Material.all)
  func recoveryPoint(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.recoveryPoint)
    bench.push(material.slice, marker: true)
    bench.push(material.supplementalInformation, at: 3000)
    bench.push(material.slice, at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.isRandomAccess) == [true, false])
  }

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

  @Test("Reader indexes of packets are anything but 0", arguments: [0, 1, 2, 3, 4, 5, 6, 7, 13])
  func offsets(_ offset: Int) throws {
    let material = Material.h264
    var bench = try Bench(material.codec)
    let packet = bench.stream.packet(material.keySlice, marker: true)
    var moved = ByteBuffer(repeating: 0, count: offset)
    moved.writeImmutableBuffer(packet.packet.bytes)
    moved.moveReaderIndex(forwardBy: offset)
    bench.push(
      OrderedPacket(
        packet: try RTPPacket(parsing: moved), extendedSequence: packet.extendedSequence,
        time: packet.time, arrival: packet.arrival))
    #expect(bench.accessUnits.map(\.hex) == [[material.keySlice.hex]])
  }
}
