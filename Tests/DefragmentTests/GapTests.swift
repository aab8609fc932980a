import Bitstream
import Defragment
import RTPWire
import TestSupport
import Testing

/// What an access unit says of packets that did not come.
struct GapTests {
  typealias Gap = AccessUnit.Gap

  /// After an outage of unknown length.
  @Test(
    "a picture where the numbers begin anew may lack what it refers to, unless it is a key picture")
  func newNumbering() throws {
    var bench = try Bench(H264.codec)
    func pushKey(isDiscontinuity: Bool) {
      for (index, set) in Material.h264.parameterSets.enumerated() {
        bench.push(set, at: 0, isDiscontinuity: isDiscontinuity && index == 0)
      }
      bench.push(Material.h264.keySlice, at: 0, marker: true)
    }
    pushKey(isDiscontinuity: true)
    bench.push(bytes("61 e0 02"), at: 6000, marker: true, isDiscontinuity: true)
    pushKey(isDiscontinuity: true)
    let units = bench.take()
    #expect(units.map(\.integrity) == [.whole, .afterLoss, .whole])
    let unknown = [Gap(unitIndex: 0, packets: nil)]
    #expect(units.map(\.gaps) == [[], unknown, unknown])
  }

  @Test("the first picture of another sender is told apart, whatever of it came before the marker")
  func otherSource() throws {
    var bench = try Bench(H264.codec)
    for set in Material.h264.parameterSets { bench.push(set, at: 0) }
    bench.push(Material.h264.keySlice, at: 0, marker: true)
    // The former sender stopped within a picture, and the other one begins within one.
    bench.push("7c 81 e0 01", at: 3000)
    bench.push(
      bytes("7c 41 e0 01"), at: 6000, marker: true, isDiscontinuity: true, beginsOtherSource: true)
    bench.push("61 e0 02", at: 9000, marker: true)
    bench.push(bytes("61 e0 02"), at: 12000, marker: true, isDiscontinuity: true)
    let units = bench.take()
    let first = try #require(units.firstIndex { $0.time.ticks >= 6000 })
    #expect(units.indices.filter { units[$0].beginsOtherSource } == [first])
  }

  @Test("a slice between others did not come")
  func absentSlice() throws {
    var bench = try Bench(H264.codec)
    bench.push("67 42001e da0280", at: 0)
    bench.push("68 ce3c80", at: 0)
    bench.push("65 88 01", at: 0)
    bench.push("65 48 03", at: 0, marker: true, lost: 2)
    let unit = try #require(bench.take().first)
    #expect(unit.integrity == .damaged)
    #expect(unit.gaps == [Gap(unitIndex: 3, packets: 2)])
    #expect(unit.lostPackets == 2)
  }

  @Test("the end of a fragmented slice did not come")
  func cutSlice() throws {
    var bench = try Bench(H264.codec)
    bench.push("61 e0 01", at: 0, marker: true)
    bench.push("7c 81 e0 01", at: 3000)
    bench.push("61 e0 02", at: 6000, marker: true, lost: 3)
    let units = bench.take()
    #expect(units.map(\.integrity) == [.whole, .damaged, .afterLoss])
    #expect(units.map(\.lostPackets).reduce(0, +) == 3)
    #expect(units.dropFirst().first?.units.last?.isWhole == false)
  }

  @Test("a whole picture after a loss is known to be whole")
  func wholePicture() throws {
    var bench = try Bench(H264.codec)
    bench.push("61 e0 01", at: 0, marker: true)
    bench.push("61 e0 02", at: 6000, marker: true, lost: 1)
    bench.push("61 48 03", at: 9000, marker: true, lost: 1)
    let units = bench.take()
    #expect(units.map(\.integrity) == [.whole, .afterLoss, .damaged])
    #expect(
      units.map(\.gaps) == [[], [Gap(unitIndex: 0, packets: 1)], [Gap(unitIndex: 0, packets: 1)]])
  }

  @Test("a key picture with its parameter sets lacks nothing, whatever was lost before it")
  func keyPicture() throws {
    var bench = try Bench(H264.codec)
    func push(lost: Int, at ticks: Int64) {
      var lost = lost
      for set in Material.h264.parameterSets {
        bench.push(set, at: ticks, lost: lost)
        lost = 0
      }
      bench.push(Material.h264.keySlice, at: ticks, marker: true)
    }
    push(lost: 0, at: 0)
    push(lost: 4, at: 3000)
    #expect(bench.take().map(\.integrity) == [.whole, .whole])
    // Between two losses, and cut by the first.
    bench.push("7c 81 e0 01", at: 4000)
    bench.push("65 88 01", at: 5000, marker: true, lost: 2)
    #expect(bench.take().map(\.integrity) == [.damaged, .afterLoss])
    // Its parameter sets may be among what was lost, so it is not called whole.
    bench.push("65 88 01", at: 6000, marker: true, lost: 2)
    #expect(bench.take().map(\.integrity) == [.afterLoss])
    // Nor is one called less where the stream is seen to do without.
    bench.push("65 88 01", at: 7000, marker: true)
    bench.push("65 88 01", at: 8000, marker: true, lost: 2)
    #expect(bench.take().map(\.integrity) == [.whole, .whole])
  }

  @Test("a recovery point whose picture was lost is none of the next picture")
  func lostRecovery() throws {
    var bench = try Bench(H264.codec)
    bench.push("61 e0 01", at: 0, marker: true)
    bench.push("06 06 02 0860 80", at: 3000)
    bench.push("61 e0 02", at: 6000, marker: true, lost: 1)
    let unit = try #require(bench.take().last)
    #expect(unit.integrity == .afterLoss)
    #expect(unit.recoveryPoint == nil && !unit.isRandomAccess)
  }

  @Test("what follows a lost picture does no harm to a key picture behind it")
  func remains() throws {
    var bench = try Bench(H264.codec)
    bench.push("61 e0 01", at: 0, marker: true)
    // Filler, whose picture did not come.
    bench.push("0c ff ff 80", at: 3000, marker: true, lost: 2)
    for set in Material.h264.parameterSets { bench.push(set, at: 6000) }
    bench.push(Material.h264.keySlice, at: 6000, marker: true)
    let units = bench.take()
    #expect(units.map(\.integrity) == [.whole, .whole])
    #expect(units.map(\.lostPackets) == [0, 2])
    #expect(units.last?.units.count == 3)
  }

  @Test("a stream that is joined in the middle of a key picture begins with a damaged one")
  func joinedInside() throws {
    for slices in [["65 48 03"], ["65 88 01", "65 48 03"]] {
      var bench = try Bench(
        H264.codec, parameters: ["sprop-parameter-sets": "Z0IAHtoCgA==,aM48gA=="])
      for slice in slices { bench.push(slice, at: 0, marker: slice == slices.last) }
      bench.push("61 e0 02", at: 3000, marker: true)
      let first: AccessUnit.Integrity = slices.count == 1 ? .damaged : .whole
      #expect(bench.take().map(\.integrity) == [first, .whole])
    }
  }

  @Test(
    "what a picture refers to is read from its NAL unit header",
    arguments: [
      (H264.codec, "65 88 01", PictureDependency(references: .none)),
      (H264.codec, "61 e0 01", PictureDependency(references: .earlier)),
      (H264.codec, "01 e0 01", PictureDependency(references: .earlier, isReference: false)),
      (H264.codec, "61 a8 01", PictureDependency(references: .earlier, isBidirectional: true)),
      (
        H264.codec, "01 9c 01",
        PictureDependency(references: .earlier, isReference: false, isBidirectional: true)
      ),
      (H265.codec, "2601 af01", PictureDependency(references: .none)),
      (H265.codec, "2a01 af01", PictureDependency(references: .none)),
      (H265.codec, "0201 d001", PictureDependency(references: .earlier)),
      (
        H265.codec, "0003 d001",
        PictureDependency(references: .earlier, temporalLevel: 2, isReference: false)
      ),
      (
        H265.codec, "0602 d001",
        PictureDependency(references: .lowerLevels, temporalLevel: 1)
      ),
      (H265.codec, "0e01 d001", PictureDependency(references: .randomAccessPoint)),
      (
        H265.codec, "1001 d001",
        PictureDependency(references: .beforeRandomAccessPoint, isReference: false)
      ),
    ])
  func dependency(codec: VideoCodec, slice: String, expected: PictureDependency) throws {
    var bench = try Bench(codec)
    bench.push(slice, marker: true)
    #expect(bench.take().map(\.dependency) == [expected])
  }

  @Test(
    "a recovery point says when the pictures are right again",
    arguments: [
      // recovery_frame_cnt 0 and 15, as ue(v).
      (H264.codec, "06 06 01 c4 80", "61 e0 01", RecoveryPoint(distance: 0)),
      (H264.codec, "06 06 02 0860 80", "61 e0 01", RecoveryPoint(distance: 15)),
      // Its third byte is a 3, which emulation prevention precedes.
      (
        H264.codec, "06 06 07 0000030380800480 80", "61 e0 01", RecoveryPoint(distance: 65_535)
      ),
      // exact_match_flag not set.
      (H264.codec, "06 06 01 84 80", "61 e0 01", RecoveryPoint(distance: 0, isExact: false)),
      // recovery_poc_cnt 2 and -1, as se(v).
      (H265.codec, "4e01 06 01 24 80", "0201 d001", RecoveryPoint(distance: 2)),
      (H265.codec, "4e01 06 01 70 80", "0201 d001", RecoveryPoint(distance: 0)),
      (
        H265.codec, "4e01 06 07 0000030380800480 80", "0201 d001", RecoveryPoint(distance: 65_535)
      ),
      (H265.codec, "4e01 06 01 20 80", "0201 d001", RecoveryPoint(distance: 2, isExact: false)),
    ])
  func recoveryPoint(
    codec: VideoCodec, message: String, slice: String, expected: RecoveryPoint
  ) throws {
    var bench = try Bench(codec)
    bench.push(message)
    bench.push(slice, marker: true)
    let unit = try #require(bench.take().first)
    #expect(unit.recoveryPoint == expected)
    #expect(unit.isRandomAccess)
  }
}
