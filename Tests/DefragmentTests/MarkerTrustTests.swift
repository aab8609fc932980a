import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Senders whose markers end slices, as those of live555's discrete framers, and senders whose
/// markers end pictures.
@Suite("Which markers are believed")
struct MarkerTrustTests {
  /// Sends a picture of `slices`, each in a packet of its own with the marker.
  private static func send(_ slices: [[UInt8]], at ticks: Int64, to bench: inout Bench) {
    for slice in slices { bench.push(slice, at: ticks, marker: true) }
  }

  private static func key(_ material: Material) -> [[UInt8]] {
    [material.keySlice, material.laterKeySlice]
  }

  private static func other(_ material: Material) -> [[UInt8]] {
    [material.slice, material.laterSlice]
  }

  @Test("A marker on every slice: all pictures are whole, also the first", arguments: Material.all)
  func markerOnEverySlice(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    for set in material.parameterSets { bench.push(set) }
    Self.send(Self.key(material), at: 0, to: &bench)
    #expect(bench.accessUnits.isEmpty)
    for ticks in Int64(1)..<4 { Self.send(Self.other(material), at: ticks * 3000, to: &bench) }
    bench.flush()
    let sets = material.parameterSets.count
    #expect(bench.accessUnits.map(\.units.count) == [sets + 2, 2, 2, 2])
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
    #expect(bench.statistics.misplacedMarkers == 1)
  }

  @Test("Fragments of such slices, and parameter sets between them", arguments: Material.all)
  func fragmentsAndSets(_ material: Material) throws {
    let packetizer = Packetizer(codec: material.codec)
    var bench = try Bench(material.codec, isSwift: true)
    for slice in Self.key(material) {
      for set in material.parameterSets { bench.push(set) }
      let fragments = packetizer.fragments(of: slice, maximum: 7).map(\.bytes)
      for fragment in fragments { bench.push(fragment, marker: fragment == fragments.last) }
    }
    bench.push(material.slice, at: 3000, marker: true)
    let unit = try #require(bench.take().first)
    #expect(unit.integrity == .whole)
    #expect(
      unit.wholeHex
        == (material.parameterSets + Self.key(material)).map(\.hex))
  }

  @Test(
    "Where a packet behind a first marker is lost, the picture is damaged", arguments: Material.all)
  func loss(_ material: Material) throws {
    for lost in 1...3 {
      var bench = try Bench(material.codec, isSwift: true)
      for set in material.parameterSets { bench.push(set) }
      bench.push(material.keySlice, marker: true)
      // What is left of the picture after that, or nothing.
      if lost < 3 { bench.push(material.laterKeySlice, marker: true, lost: lost) }
      for ticks in Int64(1)..<4 {
        for (index, slice) in Self.other(material).enumerated() {
          bench.push(
            slice, at: ticks * 3000, marker: true,
            lost: lost == 3 && ticks == 1 && index == 0 ? 3 : 0)
        }
      }
      bench.flush()
      #expect(bench.accessUnits.map(\.time.ticks) == [0, 3000, 6000, 9000], "\(lost)")
      #expect(bench.accessUnits[0].damage == .lostPackets, "\(lost)")
      #expect(bench.accessUnits.dropFirst().allSatisfy { $0.units.count == 2 }, "\(lost)")
      #expect(bench.accessUnits.dropFirst().allSatisfy { $0.damage == nil }, "\(lost)")
    }
  }

  @Test("Who joins in the middle of a picture learns nothing from its end", arguments: Material.all)
  func joinedInTheMiddle(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    bench.push(material.laterSlice, marker: true)
    for ticks in Int64(1)..<3 { Self.send(Self.other(material), at: ticks * 3000, to: &bench) }
    bench.flush()
    #expect(bench.accessUnits.map(\.units.count) == [1, 2, 2])
    #expect(bench.accessUnits.map(\.damage) == [.lostPackets, nil, nil])
  }

  @Test(
    "The first key picture has several slices, behind others with one", arguments: Material.all)
  func keyPictureBehindOthers(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    for set in material.parameterSets { bench.push(set) }
    for ticks in Int64(0)..<4 { bench.push(material.slice, at: ticks * 3000, marker: true) }
    // The first has waited for the second, the others for nothing.
    #expect(bench.accessUnits.count == 4)
    Self.send(Self.key(material), at: 12_000, to: &bench)
    Self.send(Self.other(material), at: 15_000, to: &bench)
    bench.flush()
    let sets = material.parameterSets.count
    #expect(bench.accessUnits.map(\.units.count) == [sets + 1, 1, 1, 1, 2, 2])
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
  }

  @Test(
    "Another source uses markers as it should, whatever the one before did",
    arguments: Material.all, [true, false])
  func otherSource(_ material: Material, marksSlices: Bool) throws {
    var bench = try Bench(material.codec)
    for ticks in Int64(0)..<3 {
      bench.push(material.keySlice, at: ticks * 3000, marker: true)
      bench.push(material.laterKeySlice, at: ticks * 3000, marker: marksSlices)
    }
    #expect(bench.statistics.misplacedMarkers > 0)
    bench.push(
      bytes(material.keySlice.hex), at: 90_000, marker: true, isDiscontinuity: true,
      beginsOtherSource: true)
    for ticks in [93_000, 96_000] as [Int64] {
      _ = bench.take()
      bench.push(material.slice, at: ticks, marker: true)
      #expect(bench.accessUnits.map(\.time.ticks) == [ticks])
    }
  }

  @Test("New parameter sets, with which pictures get several slices", arguments: Material.all)
  func newParameterSets(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    bench.push(material.keySlice, marker: true)
    for ticks in Int64(1)..<4 { bench.push(material.slice, at: ticks * 3000, marker: true) }
    #expect(bench.accessUnits.count == 4)
    for set in material.parameterSets { bench.push(set, at: 12_000) }
    Self.send(Self.key(material), at: 12_000, to: &bench)
    bench.flush()
    #expect(bench.accessUnits.map(\.units.count).last == material.parameterSets.count + 2)
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
  }

  @Test(
    "Several slices without warning: what is left of the first picture is damaged",
    arguments: Material.all, [true, false])
  func severalWithoutWarning(_ material: Material, hasMessages: Bool) throws {
    var bench = try Bench(material.codec, isSwift: true)
    for set in material.parameterSets { bench.push(set) }
    bench.push(material.keySlice, marker: true)
    for ticks in Int64(1)..<3 { bench.push(material.slice, at: ticks * 3000, marker: true) }
    _ = bench.take()
    bench.push(material.slice, at: 9000, marker: true)
    if hasMessages { bench.push(material.supplementalInformation, at: 9000) }
    bench.push(material.laterSlice, at: 9000, marker: true)
    for ticks in Int64(4)..<6 { Self.send(Self.other(material), at: ticks * 3000, to: &bench) }
    bench.flush()
    #expect(bench.accessUnits.map(\.damage) == [nil, .lostPackets, nil, nil])
    #expect(bench.accessUnits.map(\.units.count) == [1, hasMessages ? 2 : 1, 2, 2])
    #expect(bench.statistics.misplacedMarkers == 1)
  }

  @Test("A slice that comes late is the damaged rest of its picture", arguments: Material.all)
  func lateSlice(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    bench.push(material.slice, marker: true)
    #expect(bench.defragmenter.isWaiting && bench.accessUnits.isEmpty)
    bench.wait()
    #expect(!bench.defragmenter.isWaiting && bench.accessUnits.count == 1)
    bench.push(material.laterSlice, marker: true)
    for ticks in Int64(1)..<3 { Self.send(Self.other(material), at: ticks * 3000, to: &bench) }
    bench.flush()
    #expect(bench.accessUnits.map(\.damage) == [nil, .lostPackets, nil, nil])
    #expect(bench.accessUnits.map(\.units.count) == [1, 1, 2, 2])
  }

  @Test(
    "Where a slice ends without a marker, the first marker is believed at once",
    arguments: Material.all)
  func unmarkedSlice(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    bench.push(material.keySlice)
    bench.push(material.laterKeySlice, marker: true)
    #expect(bench.accessUnits.map(\.units.count) == [2])
    bench.push(material.slice, at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.units.count) == [2, 1])
    #expect(!bench.defragmenter.isWaiting)
  }

  @Test("An empty packet behind a marker shows no slice without one", arguments: Material.all)
  func emptyPacket(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    bench.push(material.keySlice, marker: true)
    bench.push([])
    bench.push(material.laterKeySlice, marker: true)
    bench.push(material.slice, at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.units.count) == [2])
  }

  @Test("After one picture, no picture waits for what follows it", arguments: Material.all)
  func latency(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    for set in material.parameterSets { bench.push(set) }
    bench.push(material.keySlice, marker: true)
    #expect(bench.accessUnits.isEmpty)
    for ticks in Int64(1)..<10 {
      bench.push(
        ticks % 3 == 0 ? material.keySlice : material.slice, at: ticks * 3000, marker: true)
      #expect(bench.accessUnits.count == Int(ticks) + 1)
    }
    #expect(bench.statistics.troubles == 0)
  }

  @Test("What begins anew proves its markers anew", arguments: Material.all)
  func discontinuity(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    bench.push(material.keySlice, marker: true)
    bench.push(material.slice, at: 3000, marker: true)
    bench.push(material.keySlice, at: 90_000, marker: true, isDiscontinuity: true)
    bench.push(material.laterKeySlice, at: 90_000, marker: true)
    bench.push(material.slice, at: 93_000, marker: true)
    bench.flush()
    #expect(bench.accessUnits.map(\.units.count) == [1, 1, 2, 1])
  }

  @Test(
    "Markers stop in the middle of a stream: the last picture is whole", arguments: Material.all)
  func markersStop(_ material: Material) throws {
    let bench = try Self.bench(material, unmarked: 6)
    #expect(bench.accessUnits.count == 11)
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
  }

  @Test("A stream that is cut off ends with an unfinished picture", arguments: Material.all, 1...3)
  func cutOff(_ material: Material, unmarked: Int64) throws {
    let bench = try Self.bench(material, unmarked: unmarked)
    #expect(bench.accessUnits.last?.damage == .unfinished)
    #expect(bench.accessUnits.dropLast().allSatisfy { $0.integrity == .whole })
  }

  @Test("Markers that are lost have not stopped", arguments: Material.all)
  func markersAreLost(_ material: Material) throws {
    let bench = try Self.bench(material, unmarked: 6, lost: 1)
    #expect(bench.accessUnits.last?.damage == .unfinished)
  }

  /// Five pictures with markers and `unmarked` without, before each of which `lost` packets are
  /// missing.
  private static func bench(
    _ material: Material, unmarked: Int64, lost: Int = 0
  ) throws -> Bench {
    var bench = try Bench(material.codec, isSwift: true)
    for set in material.parameterSets { bench.push(set) }
    bench.push(material.keySlice, marker: true)
    for ticks in 1..<5 + unmarked {
      let isMarked = ticks < 5
      bench.push(material.slice, at: ticks * 3000, marker: isMarked, lost: isMarked ? 0 : lost)
    }
    bench.flush()
    return bench
  }

  /// Two fields are two access units (H.264 §3.1), whose packets have one timestamp.
  @Test("Two fields with one time, with a marker between them or not", arguments: [true, false])
  func fields(isMarked: Bool) throws {
    var bench = try Bench(H264.codec, isSwift: true)
    for ticks in Int64(0)..<4 {
      bench.push("658811", at: ticks * 3600, marker: isMarked)
      bench.push("419a22", at: ticks * 3600, marker: true)
    }
    bench.flush()
    let pair = [["658811"], ["419a22"]]
    #expect(bench.accessUnits.map(\.hex) == [[[String]]](repeating: pair, count: 4).flatMap(\.self))
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
    #expect(bench.statistics.misplacedMarkers == 0)
  }

  @Test("Two fields of two slices, each of which has the marker")
  func fieldsOfTwoSlices() throws {
    var bench = try Bench(H264.codec, isSwift: true)
    for ticks in Int64(0)..<4 {
      for slice in ["658811", "656222", "419a33", "416244"] {
        bench.push(slice, at: ticks * 3600, marker: true)
      }
    }
    bench.flush()
    let pair = [["658811", "656222"], ["419a33", "416244"]]
    #expect(bench.accessUnits.map(\.hex) == [[[String]]](repeating: pair, count: 4).flatMap(\.self))
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
  }

  @Test("The times of B pictures step back", arguments: Material.all)
  func timesThatStepBack(_ material: Material) throws {
    var bench = try Bench(material.codec, isSwift: true)
    for set in material.parameterSets { bench.push(set) }
    Self.send(Self.key(material), at: 0, to: &bench)
    for ticks in [3, 1, 2, 6, 4, 5] as [Int64] {
      Self.send(Self.other(material), at: ticks * 3000, to: &bench)
    }
    bench.flush()
    #expect(bench.accessUnits.map(\.time.ticks) == [0, 9000, 3000, 6000, 18_000, 12_000, 15_000])
    #expect(bench.accessUnits.dropFirst().allSatisfy { $0.units.count == 2 })
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole })
  }
}
