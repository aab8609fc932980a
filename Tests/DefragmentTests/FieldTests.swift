import Bitstream
import Defragment
import RTPWire
import TestSupport
import Testing

/// Fields in access units of their own, as broadcast encoders send them.
@Suite("Which fields are of one frame")
struct FieldTests {
  /// Main profile, 16 × 32, fields.
  private static let sets = ["674d001ee54c90", "68ce3c80"]
  /// Top and bottom of two frames that others refer to, and of two with one number that nothing
  /// refers to.
  private static let fields = [
    "65888500aaac", "618886035558", "61888c055558", "61888e075558", "018894095558", "0188960b5558",
    "0188940d5558", "0188960f5558",
  ]

  /// What comes of `fields`, two of which follow each other at one time or at times of their own;
  /// before some of them, packets are `lost`.
  private static func received(
    _ fields: [String] = Self.fields, areApart: Bool = false, lost: [Int: Int] = [:]
  ) throws -> [AccessUnit] {
    var bench = try Bench(H264.codec)
    for set in sets { bench.push(set) }
    for (number, field) in fields.enumerated() {
      let ticks = Int64(areApart ? number : number / 2 * 2) * 1800
      bench.push(field, at: ticks, marker: true, lost: lost[number] ?? 0)
    }
    bench.flush()
    return bench.accessUnits
  }

  @Test("Two that follow each other, whether or not they have one time", arguments: [false, true])
  func pairs(areApart: Bool) throws {
    let units = try Self.received(areApart: areApart)
    let pair: [AccessUnit.Fields?] = [.first, .second]
    #expect(units.map(\.fields) == pair + pair + pair + pair)
  }

  @Test("A field behind a loss belongs to the one before if it has its time")
  func loss() throws {
    var fields = Self.fields
    // What is left of the last two frames, which have one number, are a top and a bottom field.
    fields.removeSubrange(5...6)
    let apart = try Self.received(fields, areApart: true, lost: [5: 2])
    #expect(apart.map(\.fields) == [.first, .second, .first, .second, .first, .first])
    let together = try Self.received(fields, lost: [5: 1])
    #expect(together.map(\.fields) == [.first, .second, .first, .second, .first, .second])
  }

  @Test("Fields of two frames, of one parity, or of which one is referred to make no pair")
  func others() throws {
    let fields = [0, 3, 4, 6].map { Self.fields[$0] }
    #expect(try Self.received(fields).map(\.fields) == [.first, .first, .first, .first])
    let mixed = ["018894095558", "6188960b5558"]
    #expect(try Self.received([Self.fields[0]] + mixed).map(\.fields) == [.first, .first, .first])
  }

  @Test("The field of another source makes no pair with the one before")
  func otherSource() throws {
    var bench = try Bench(H264.codec)
    for set in Self.sets { bench.push(set) }
    bench.push(bytes(Self.fields[0]), marker: true)
    bench.push(
      bytes(Self.fields[1]), marker: true, isDiscontinuity: true, beginsOtherSource: true)
    bench.flush()
    #expect(bench.accessUnits.map(\.fields) == [.first, .first])
  }

  @Test("Both as one picture: what came first, and all that is missing")
  func joined() throws {
    let units = try Self.received(areApart: true, lost: [1: 1])
    var second = units[1]
    second.fields = .second
    let whole = units[0].joined(with: second)
    #expect(whole.hex == Self.sets + Self.fields[..<2])
    #expect(whole.isTidy)
    #expect(whole.time == units[0].time && whole.lastArrival == second.lastArrival)
    #expect(whole.isRandomAccess && whole.dependency == units[0].dependency)
    #expect(whole.fields == .both && whole.accessUnitCount == 2)
    #expect(units[0].integrity == .whole && whole.integrity == second.integrity)
    #expect(whole.gaps == [AccessUnit.Gap(unitIndex: 3, packets: 1)])
  }
}
