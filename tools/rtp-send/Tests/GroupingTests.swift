import Bitstream
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// H.264 §7.4.1.2.3 and §7.4.1.2.4, H.265 §7.4.2.4.4 and §7.4.2.4.5, with NAL units made by hand.
@Suite struct GroupingTests {
  /// A parameter set of sequences with fields, 4 bits of frame_num and 4 of the order count.
  static func sequence(_ order: UInt32 = 0, framesOnly: Bool = false) -> ByteBuffer {
    var bits = Bitstream.BitWriter()
    bits.append(77, bits: 8)
    bits.append(0, bits: 8)
    bits.append(30, bits: 8)
    bits.append(unsigned: 0)
    bits.append(unsigned: 0)
    bits.append(unsigned: order)
    if order == 0 { bits.append(unsigned: 0) }
    if order == 1 {
      bits.append(false)
      bits.append(signed: 0)
      bits.append(signed: 0)
      bits.append(unsigned: 0)
    }
    bits.append(unsigned: 2)
    bits.append(false)
    bits.append(unsigned: 9)
    bits.append(unsigned: 4)
    bits.append(framesOnly)
    if !framesOnly { bits.append(false) }
    for _ in 0..<3 { bits.append(false) }
    bits.align()
    return bits.unit(header: [0x67])
  }

  static func picture(_ identifier: UInt32 = 0) -> ByteBuffer {
    var bits = Bitstream.BitWriter()
    bits.append(unsigned: identifier)
    bits.append(unsigned: 0)
    bits.append(false)
    // bottom_field_pic_order_in_frame_present_flag.
    bits.append(true)
    bits.append(unsigned: 0)
    for _ in 0..<2 { bits.append(unsigned: 0) }
    for _ in 0..<3 { bits.append(false) }
    for _ in 0..<3 { bits.append(signed: 0) }
    bits.append(0, bits: 2)
    // redundant_pic_cnt_present_flag.
    bits.append(true)
    bits.align()
    return bits.unit(header: [0x68])
  }

  /// The fields of a slice header that tell pictures apart.
  struct Slice: Sendable {
    var type: UInt8 = 1
    var importance: UInt8 = 2
    var first: UInt32 = 0
    var set: UInt32 = 0
    var frame: UInt32 = 1
    var field: Int?
    var identifier: UInt32 = 0
    var low: UInt32 = 2
    var difference: Int32 = 0
    var redundancy: UInt32 = 0
    /// `pic_order_cnt_type`.
    var order = 0

    func with(_ change: (inout Slice) -> Void) -> Slice {
      var slice = self
      change(&slice)
      return slice
    }

    var unit: ByteBuffer {
      var bits = Bitstream.BitWriter()
      bits.append(unsigned: first)
      bits.append(unsigned: 7)
      bits.append(unsigned: set)
      bits.append(frame, bits: 4)
      bits.append(field != nil)
      if let field { bits.append(field == 1) }
      if type == 5 { bits.append(unsigned: identifier) }
      if order == 0 { bits.append(low, bits: 4) }
      if order < 2 {
        if order == 1 { bits.append(signed: difference) }
        if field == nil { bits.append(signed: order == 0 ? difference : 0) }
      }
      bits.append(unsigned: redundancy)
      bits.append(0x5A, bits: 8)
      bits.align()
      return bits.unit(header: [importance << 5 | type])
    }
  }

  static let slice = Slice()
  static let key = Slice(type: 5, importance: 3, frame: 0, low: 0)

  /// How many NAL units each access unit has.
  private func sizes(_ units: [ByteBuffer], _ codec: Codec = .h264) -> [Int] {
    var grouper = AccessUnitGrouper(codec)
    var groups = units.compactMap { grouper.take($0) }
    if let last = grouper.finish() { groups.append(last) }
    #expect(groups.flatMap(\.units).count <= units.count)
    return groups.map(\.units.count)
  }

  /// A second slice that differs in one way, and whether it is another picture.
  static let differences: [(String, Slice, Slice, Bool)] = [
    ("nothing", slice, slice.with { $0.first = 5 }, false),
    (
      "any macroblock, with arbitrary order", slice.with { $0.first = 7 },
      slice.with { $0.first = 3 }, false
    ),
    ("first macroblock comes later", slice.with { $0.first = 7 }, slice, false),
    ("frame_num", slice, slice.with { ($0.first, $0.frame) = (5, 2) }, true),
    ("picture set", slice, slice.with { $0.set = 1 }, true),
    ("picture set inside a picture", slice, slice.with { ($0.first, $0.set) = (5, 1) }, false),
    ("field_pic_flag", slice, slice.with { $0.field = 0 }, true),
    ("the other field", slice.with { $0.field = 0 }, slice.with { $0.field = 1 }, true),
    (
      "the same field", slice.with { $0.field = 1 }, slice.with { ($0.first, $0.field) = (4, 1) },
      false
    ),
    ("importance, one 0", slice, slice.with { ($0.first, $0.importance) = (5, 0) }, true),
    ("importance, none 0", slice, slice.with { ($0.first, $0.importance) = (5, 1) }, false),
    ("order count", slice, slice.with { ($0.first, $0.low) = (5, 4) }, true),
    (
      "order count of the bottom field", slice, slice.with { ($0.first, $0.difference) = (5, 1) },
      true
    ),
    ("IDR and not", key, slice.with { ($0.frame, $0.low) = (0, 0) }, true),
    ("idr_pic_id", key, key.with { ($0.first, $0.identifier) = (5, 1) }, true),
    ("equal idr_pic_id", key, key, true),
    ("slices of an IDR picture", key, key.with { $0.first = 9 }, false),
    ("redundant", slice, slice.with { $0.redundancy = 1 }, false),
    ("redundant, of another", slice, slice.with { ($0.first, $0.redundancy) = (5, 2) }, false),
    ("partition A", slice.with { $0.type = 2 }, slice.with { ($0.type, $0.first) = (2, 5) }, false),
    (
      "partition A of the next", slice.with { $0.type = 2 },
      slice.with { ($0.type, $0.frame) = (2, 2) }, true
    ),
  ]

  @Test(arguments: differences.indices) func slicesArePutTogether(index: Int) {
    let (name, one, other, isNew) = Self.differences[index]
    let sets = [Self.sequence(), Self.picture(), Self.picture(1)]
    #expect(
      sizes(sets + [one.unit, other.unit]) == (isNew ? [4, 1] : [5]), "\(name)")
  }

  @Test func aCycleOfOrderCountsTellsPicturesApart() {
    let one = Slice(order: 1)
    let sets = [Self.sequence(1), Self.picture()]
    #expect(
      sizes(sets + [one.unit, one.with { ($0.first, $0.difference) = (3, 2) }.unit]) == [3, 1])
    #expect(sizes(sets + [one.unit, one.with { $0.first = 3 }.unit]) == [4])
  }

  /// What comes between two slices of one picture, and how the NAL units are divided.
  @Test(arguments: [
    (UInt8(6), true), (7, true), (8, true), (9, true), (15, true), (16, true), (17, true),
    (18, true), (10, true), (11, true), (3, false), (4, false), (12, false), (13, false),
    (14, false), (19, false), (20, false), (21, false), (22, false), (0, false), (24, false),
    (31, false),
  ]) func typesBeginAccessUnitsOrDoNot(type: UInt8, begins: Bool) {
    let sets = [Self.sequence(), Self.picture()]
    let unit =
      type == 7
      ? Self.sequence() : type == 8 ? Self.picture() : ByteBuffer(bytes: [type, 0x80, 0x55])
    let second = Self.slice.with { $0.first = 5 }.unit
    let sizes = sizes(sets + [Self.slice.unit, unit, second])
    // An end belongs to what it ends.
    #expect(sizes == (!begins ? [5] : type == 10 || type == 11 ? [4, 1] : [3, 2]))
  }

  @Test func aPrefixBelongsToTheSliceBehindIt() {
    let prefix = ByteBuffer(bytes: [0x6E, 0x40, 0x80, 0x55])
    let next = Self.slice.with { ($0.frame, $0.low) = (2, 4) }
    let layer = ByteBuffer(bytes: [0x74, 0x40, 0x80, 0x55])
    #expect(
      sizes([
        Self.sequence(), Self.picture(), prefix, Self.slice.unit, layer, prefix,
        Self.slice.with { $0.first = 5 }.unit, layer, prefix, next.unit, layer,
      ]) == [8, 3])
  }

  @Test func withoutParameterSetsTheFirstMacroblockDecides() {
    let second = Self.slice.with { $0.first = 5 }
    #expect(sizes([Self.slice.unit, second.unit, Self.slice.unit, second.unit]) == [2, 2])
  }

  @Test func aDelimiterWhosePictureNeverCameIsLeftOut() {
    #expect(
      sizes([Self.sequence(), Self.picture(), Self.slice.unit, ByteBuffer(bytes: [9, 0xF0])]) == [3]
    )
  }

  /// Where a file broke off, its last NAL unit has a header and nothing more.
  @Test func whatIsCutBehindItsHeaderBelongsToNothing() {
    #expect(
      sizes([Self.sequence(), Self.picture(), Self.slice.unit, ByteBuffer(bytes: [0x41])]) == [3])
    #expect(sizes([unit(19), ByteBuffer(bytes: [0x02, 0x01])], .h265) == [1])
    // An end has nothing else.
    #expect(sizes([Self.slice.unit, ByteBuffer(bytes: [0x0A]), Self.slice.unit]) == [2, 1])
    #expect(sizes([unit(19), ByteBuffer(bytes: [0x48, 0x01]), unit(1)], .h265) == [2, 1])
  }

  @Test func aPictureThatWasThoughtToBeWholeGoesOn() {
    var grouper = AccessUnitGrouper(.h264)
    for unit in [Self.sequence(), Self.picture(), Self.slice.unit] { _ = grouper.take(unit) }
    #expect(grouper.settle()?.units.count == 3)
    #expect(grouper.settle() == nil)
    #expect(grouper.take(Self.slice.with { $0.first = 5 }.unit) == nil)
    let next = Self.slice.with { ($0.frame, $0.low) = (2, 4) }
    let rest = grouper.take(next.unit)
    #expect(rest?.isContinued == true)
    #expect(rest?.units.count == 1)
    #expect(grouper.finish()?.isContinued == false)
  }

  /// NAL units of H.265 as type, layer and the first byte of the slice.
  private func unit(_ type: UInt8, layer: UInt8 = 0, first: Bool = true) -> ByteBuffer {
    ByteBuffer(bytes: [type << 1 | layer >> 5, layer << 3 | 1, first ? 0x80 : 0x20, 0x55])
  }

  @Test(arguments: [
    (UInt8(35), true), (32, true), (33, true), (34, true), (39, true), (41, true), (44, true),
    (48, true), (55, true), (40, false), (38, false), (45, false), (47, false), (56, false),
    (63, false),
  ]) func typesOfH265BeginAccessUnitsOrDoNot(type: UInt8, begins: Bool) {
    let units = [unit(1), unit(type), unit(1, first: false)]
    #expect(sizes(units, .h265) == (begins ? [1, 2] : [3]))
    // No other layer begins anything.
    #expect(sizes([unit(1), unit(type, layer: 1), unit(1, first: false)], .h265) == [3])
  }

  @Test func slicesOfH265AreDividedByTheFirstOfAPicture() {
    #expect(sizes([unit(19), unit(19, first: false), unit(1), unit(1)], .h265) == [2, 1, 1])
    #expect(sizes([unit(19), unit(19, layer: 1), unit(1), unit(1, layer: 1)], .h265) == [2, 2])
    // The first segment of the second picture is lost.
    #expect(sizes([unit(19), unit(1, first: false)], .h265) == [1, 1])
    #expect(sizes([unit(1), unit(36), unit(1, first: false)], .h265) == [2, 1])
  }

  /// With arbitrary slice order (§7.4.1.2.4), no first macroblock tells where the next picture
  /// begins.
  @Test func slicesInAnyOrderMakeTheSamePictures() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h264")
    try FFmpeg.makeClip(
      file, frames: 40,
      ["-c:v", "libx264", "-profile:v", "baseline", "-g", "10", "-x264-params", "slices=6"])
    let bytes = ByteBuffer(bytes: try Data(contentsOf: file))
    var grouper = AccessUnitGrouper(.h264)
    var groups = AnnexB.units(in: bytes).compactMap { grouper.take($0)?.units }
    if let last = grouper.finish() { groups.append(last.units) }
    #expect(groups.count == 40)
    var dice = SeededGenerator(seed: 9)
    for _ in 0..<20 {
      let shuffled = groups.map { units -> [ByteBuffer] in
        let isSlice = { (unit: ByteBuffer) in [1, 5].contains(Codec.h264.type(of: unit) ?? 0) }
        // Without messages and delimiters, which would begin the next picture.
        return units.filter { Codec.h264.parameterSet($0) != nil }
          + units.filter(isSlice).shuffled(using: &dice)
      }
      #expect(sizes(shuffled.flatMap { $0 }) == shuffled.map(\.count))
    }
  }

  /// Streams of encoders: as many access units as FFmpeg finds packets, wherever they are cut.
  @Test(arguments: [
    ("h264", ["-c:v", "libx264", "-bf", "3", "-g", "12", "-x264-params", "slices=3"]),
    ("h264", ["-c:v", "libx264", "-flags", "+ilme+ildct", "-x264-params", "tff=1:aud=1"]),
    ("h265", ["-c:v", "libx265", "-x265-params", "log-level=none:bframes=4:slices=2"]),
  ]) func picturesOfEncodersAreCounted(ending: String, options: [String]) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.\(ending)")
    try FFmpeg.makeClip(file, frames: 30, options)
    let bytes = try [UInt8](Data(contentsOf: file))
    let codec: Codec = ending == "h264" ? .h264 : .h265
    func groups(_ cut: (Int) -> Int) -> [[ByteBuffer]] {
      var (splitter, grouper, groups) = (
        AnnexBSplitter(), AccessUnitGrouper(codec), [[ByteBuffer]]()
      )
      var place = 0
      while place < bytes.count {
        let end = min(bytes.count, place + cut(place))
        splitter.append(ByteBuffer(bytes: bytes[place..<end]))
        while let unit = splitter.next() {
          if let group = grouper.take(unit) { groups.append(group.units) }
        }
        place = end
      }
      if let unit = splitter.finish(), let group = grouper.take(unit) { groups.append(group.units) }
      if let group = grouper.finish() { groups.append(group.units) }
      return groups
    }
    let whole = groups { _ in bytes.count }
    #expect(whole.count == 30)
    #expect(whole.flatMap { $0 } == AnnexB.units(in: ByteBuffer(bytes: bytes)))
    #expect(groups { _ in 1 } == whole)
    var dice = SeededGenerator(seed: 3)
    #expect(groups { _ in dice.number(upTo: 700) } == whole)
  }
}
