import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Markers and times that no standard asks for, and the access units that have to come out all the
/// same.
@Suite("Where an access unit ends")
struct AccessUnitBoundaryTests {
  static let cameras: [Camera] = [
    Camera(
      "FLIR M400 never sets the marker",
      [.init("658811", 0), .init("419a22", 3000), .init("419a33", 6000)],
      gives: [["658811"], ["419a22"], ["419a33"]]),
    Camera(
      "timestamps that stand still, with markers",
      [.init("658811", 0, marker: true), .init("419a22", 0, marker: true)],
      gives: [["658811"], ["419a22"]]),
    Camera(
      "timestamps that stand still, without markers",
      [.init("658811", 0), .init("419a22", 0)], gives: [["658811"], ["419a22"]]),
    Camera(
      "Reolink: marker on SPS and SEI, parameter sets with the time of the picture before",
      [
        .init("419a11", 0, marker: true), .init("0605", 0, marker: true),
        .init("658822", 3000, marker: true),
      ], gives: [["419a11"], ["0605", "658822"]]),
    Camera(
      "a picture that goes on behind its marker",
      [
        .init("658811", 0, marker: true), .init("654022", 0, marker: true),
        .init("419a33", 3000, marker: true), .init("414044", 3000, marker: true),
        .init("419a55", 6000, marker: true),
      ], gives: [["658811"], ["654022"], ["419a33", "414044"], ["419a55"]]),
    Camera(
      "data partitions B and C have no slice header, whatever they begin with",
      [
        .init("674d001ee54c90", 0), .init("68ce3c80", 0), .init("628886035558", 0),
        .init("63888c055558", 0), .init("64888e075558", 0, marker: true),
      ],
      gives: [["674d001ee54c90", "68ce3c80", "628886035558", "63888c055558", "64888e075558"]]),
    Camera(
      "a delimiter behind a picture begins the next access unit",
      [.init("658811", 0), .init("0910", 0), .init("419a22", 0, marker: true)],
      gives: [["658811"], ["0910", "419a22"]]),
  ]

  @Test(
    "Supplemental information behind the last slices is no picture", arguments: Material.all,
    [true, false])
  func informationAtTheEnd(_ material: Material, isMarkedBefore: Bool) throws {
    var bench = try Bench(material.codec)
    for set in material.parameterSets { bench.push(set, at: 0) }
    bench.push(material.keySlice, at: 0, marker: isMarkedBefore)
    bench.push(material.supplementalInformation, at: 0, marker: !isMarkedBefore)
    bench.flush()
    #expect(bench.accessUnits.count == 1)
  }

  /// Decoders ignore RSV_VCL_N10 to RSV_VCL_R15 and RSV_IRAP_VCL22 and 23 (H.265 §7.4.2.2).
  @Test("Slices of reserved types belong to no picture", arguments: [10, 15, 22, 23, 24, 31])
  func reservedTypes(_ type: UInt8) {
    #expect(H265.role(ofType: type, layer: 0, firstByteOfSlice: 0x80) == .other)
  }

  @Test(
    "The slice shows what a loss before its prefix NAL unit has taken",
    arguments: [("658811", AccessUnit.Integrity.afterLoss), ("654022", .damaged)])
  func prefixBehindLoss(_ slice: String, _ integrity: AccessUnit.Integrity) throws {
    var bench = try Bench(H264.codec)
    bench.push("419a11", at: 0, marker: true)
    bench.push("6e8040", at: 3000, lost: 2)
    bench.push(slice, at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.units.count) == [1, 2])
    #expect(bench.accessUnits.last?.integrity == integrity)
    #expect(bench.accessUnits.last?.gaps.map(\.packets) == [2])
    #expect(bench.accessUnits.last?.gaps.map(\.unitIndex) == [0])
  }

  @Test("The prefix NAL unit of a lost slice is nothing of the next picture")
  func prefixOfALostSlice() throws {
    var bench = try Bench(H264.codec)
    bench.push("419a11", at: 0, marker: true)
    bench.push("6e8040", at: 3000, lost: 1)
    bench.push("658811", at: 6000, marker: true, lost: 1)
    #expect(bench.accessUnits.map(\.hex) == [["419a11"], ["658811"]])
    #expect(bench.accessUnits.last?.gaps.map(\.packets) == [2])
  }

  @Test("What cameras send comes out right", arguments: cameras)
  func comesOutRight(_ camera: Camera) throws { try camera.expectUnits() }

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

  @Test("A marker on every packet, also on fragments", arguments: Material.all)
  func markerOnEveryFragment(_ material: Material) throws {
    let fragments = Packetizer(codec: material.codec).fragments(of: material.keySlice, maximum: 7)
      .map(\.bytes)
    #expect(fragments.count == 3)
    var bench = try Bench(material.codec)
    for ticks in Int64(0)..<4 {
      for fragment in fragments { bench.push(fragment, at: ticks * 3000, marker: true) }
    }
    bench.flush()
    #expect(bench.accessUnits.map(\.hex) == Array(repeating: [material.keySlice.hex], count: 4))
    #expect(bench.statistics.misplacedMarkers == 1 && bench.statistics.cutUnits == 0)
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
}
