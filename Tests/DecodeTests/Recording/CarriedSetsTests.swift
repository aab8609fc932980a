import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// Streams whose key pictures do not bring the parameter sets that they use.
@Suite("Parameter sets that are carried over")
struct CarriedSetsTests {
  private static let clips = RecorderTests.closedGroups

  /// A stream whose first key picture is as its encoder made it, and whose later ones bring
  /// `sets`, made of each of its own, instead; with FFmpeg's hashes of its pictures.
  private static func stream(
    _ clip: Clip, bringing sets: (ByteBuffer) -> [ByteBuffer]
  ) throws -> (units: [AccessUnit], hashes: [String]) {
    let folder = try TemporaryFolder()
    let encoded = try clip.encoded()
    try Data(encoded).write(to: folder.url("stream"))
    let hashes = try FFmpeg.frameHashes(
      of: folder("stream"), options: ["-f", clip.codec == .testH264 ? "h264" : "hevc"])
    let units = try clip.timedUnits(of: encoded).enumerated().map { number, unit in
      number == 0 ? unit : unit.replacingSets(with: sets)
    }
    return (units, hashes)
  }

  private static func hashes(of disk: VirtualDisk, _ container: Container) throws -> [String] {
    let folder = try TemporaryFolder()
    var hashes: [String] = []
    for (number, file) in disk.files.enumerated() {
      let path = folder("\(number)." + container.name)
      try Data(file.bytes).write(to: URL(fileURLWithPath: path))
      let found = try FFmpeg.frameHashes(of: path)
      #expect(found.count == file.ending?.frames, "file \(number)")
      hashes += found
    }
    return hashes
  }

  /// A file begins where others come than before, and with each segment.
  @Test(
    "later key pictures repeat a pair of sets that is never used", arguments: clips,
    Container.recordings)
  func unusedSets(_ clip: Clip, _ container: Container) throws {
    let (units, hashes) = try Self.stream(clip) { [$0.numbered(1, in: clip.codec)] }
    let whole = try VirtualDisk.record(units, as: container)
    #expect(whole.files.map(\.ending?.frames) == [12, 36])
    #expect(try Self.hashes(of: whole, container) == hashes)
    let parts = try VirtualDisk.record(units, as: container, segment: .seconds(0.3))
    #expect(parts.files.map(\.ending?.frames) == [12, 12, 12, 12])
    #expect(try Self.hashes(of: parts, container) == hashes)
  }

  @Test(
    "later key pictures bring a sequence parameter set that is cut", arguments: clips,
    Container.recordings)
  func malformedSet(_ clip: Clip, _ container: Container) throws {
    let sequenceType = clip.codec.parameterSetTypes.dropLast().last
    let (units, hashes) = try Self.stream(clip) { set in
      guard clip.codec.type(of: NALUnitHead(of: set)) == sequenceType else { return [set] }
      return [set.numbered(1, in: clip.codec).prefix(6)]
    }
    let disk = try VirtualDisk.record(units, as: container, segment: .seconds(0.3))
    #expect(disk.files.map(\.ending?.frames) == [12, 12, 12, 12])
    #expect(try Self.hashes(of: disk, container) == hashes)
  }

  @Test(
    "a stream changes its size and then repeats nothing", arguments: clips, Container.recordings)
  func replacedSets(_ clip: Clip, _ container: Container) throws {
    var large = clip
    (large.width, large.height) = (320, 240)
    let small = try Self.stream(clip) { _ in [] }
    let other = try Self.stream(large) { _ in [] }
    let later = other.units.map { $0.moved(by: .milliseconds(1600)) }
    let disk = try VirtualDisk.record(small.units + later, as: container, segment: .seconds(0.3))
    #expect(disk.files.count == 8)
    #expect(try Self.hashes(of: disk, container) == small.hashes + other.hashes)
  }

  /// Some cameras change `pic_init_qp_minus26` with every group.
  @Test(
    "a key picture changes a picture parameter set alone", arguments: clips, Container.recordings)
  func changedPictureSet(_ clip: Clip, _ container: Container) throws {
    var other = clip
    if clip.codec == .testH264 {
      other.h264Parameters = "chroma-qp-offset=3"
    } else {
      other.codecParameters += ":cbqpoffs=3"
    }
    let (first, firstHashes) = try Self.stream(clip) { [$0] }
    // Its later key pictures bring none.
    let (second, secondHashes) = try Self.stream(other) { _ in [] }
    let sets = try [first, second].map { StreamSets(in: try #require($0.first)) }
    try #require(
      sets[0] != sets[1]
        && sets[0].withoutPictureSets(of: clip.codec) == sets[1].withoutPictureSets(of: clip.codec))
    let units = [first, second, first].enumerated().flatMap { number, units in
      units.map { $0.moved(by: .milliseconds(1600 * number)) }
    }
    let disk = try VirtualDisk.record(units, as: container)
    // Apple's players take the sets of an MP4 from its header alone.
    #expect(disk.files.map(\.ending?.frames) == (container.name == "mp4" ? [48, 48, 48] : [144]))
    #expect(try Self.hashes(of: disk, container) == firstHashes + secondHashes + firstHashes)
    guard container.name == "mkv", let changed = sets[1].sets.last else { return }
    // A reader may begin with each of them.
    let parts = Data(disk.files[0].bytes).split(separator: Data(changed.readableBytesView))
    #expect(parts.count - 1 == 4)
  }

  @Test("the sets that a key picture uses have not come", arguments: clips, Container.recordings)
  func missingSets(_ clip: Clip, _ container: Container) throws {
    var units = try clip.timedUnits(of: clip.encoded())
    units[0] = units[0].replacingSets { [$0.numbered(1, in: clip.codec)] }
    let disk = try VirtualDisk.record(units, as: container)
    #expect(disk.files.map(\.ending?.frames) == [36])
    #expect(disk.skipped == 12)
    #expect(try Self.hashes(of: disk, container).count == 36)
    var recordable = RecordableUnits(inFiles: true)
    #expect(units.count { recordable.takes($0) } == 36)
  }

  /// Where they are in the header alone, it would be nowhere.
  @Test("a picture parameter set comes between key pictures", arguments: Container.recordings)
  func setBetween(_ container: Container) throws {
    let clip = Self.clips[1]
    var units = try clip.timedUnits(of: clip.encoded())
    let last = try #require(clip.codec.parameterSetTypes.last)
    let used = try #require(units[0].units.first { $0.type == last })
    let set = units[0].bytes(of: used).numbered(1, sequence: 0, in: clip.codec)
    units[5] = units[5].adding(set)
    let disk = try VirtualDisk.record(units, as: container)
    #expect(disk.files.map(\.ending?.frames) == [48])
    #expect(Data(disk.files[0].bytes).range(of: Data(set.readableBytesView)) != nil)
    #expect(try Self.hashes(of: disk, container).count == 48)
  }

  @Test("a header has the sets of its first picture, and those that its sequence may use")
  func header() throws {
    let clip = Self.clips[0]
    let key = try #require(clip.timedUnits(of: clip.encoded()).first)
    let own = StreamSets(in: key).sets
    var latest = LatestSets()
    latest.take(key.replacingSets { [$0.numbered(3, in: clip.codec)] })
    #expect(latest.sets(for: key) == nil)
    latest.take(key)
    #expect(latest.sets(for: key) == own)
    #expect(latest.all.count == 4)
    // Another picture parameter set of the same sequence.
    let second = own[1].numbered(7, sequence: 0, in: clip.codec)
    latest.take(key.adding(second))
    #expect(latest.sets(for: key) == own + [second])
  }

  @Test("what is no parameter set of the base layer, or is malformed, has no name")
  func malformed() throws {
    for clip in Self.clips {
      let key = try #require(clip.timedUnits(of: clip.encoded()).first)
      let sets = StreamSets(in: key).sets
      #expect(sets.count == clip.codec.parameterSetTypes.count)
      for set in sets {
        let names = clip.codec.parameterSetNames(of: set)
        #expect(names?.own?.type == clip.codec.type(of: NALUnitHead(of: set)))
        #expect(names?.own?.identifier == 0)
        #expect(clip.codec.parameterSetNames(of: set.prefix(2)) == nil)
      }
    }
    let video = ByteBuffer(bytes: [
      0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0xB0, 0x00, 0x00,
      0x03, 0x00, 0x00, 0x03, 0x00, 0x5A, 0xAC, 0x0C, 0x00, 0x00, 0x03, 0x00, 0x04, 0x00, 0x00,
      0x03, 0x00, 0x32, 0xA8,
    ])
    let name = ParameterSetNames.Name(type: 32, identifier: 0)
    #expect(H265.codec.parameterSetNames(of: video)?.own == name)
    // Cut in its profile; vps_reserved_0xffff_16bits is another; of another layer.
    var others = [video.prefix(12), video, video]
    others[1].setInteger(0xFE, at: 4, as: UInt8.self)
    others[2].setInteger(0x09, at: 1, as: UInt8.self)
    for set in others { #expect(H265.codec.parameterSetNames(of: set) == nil) }
  }
}

extension ByteBuffer {
  fileprivate func prefix(_ count: Int) -> ByteBuffer {
    getSlice(at: readerIndex, length: count) ?? self
  }
}

extension AccessUnit {
  /// With what `change` makes of each of its parameter sets.
  fileprivate func replacingSets(with change: (ByteBuffer) -> [ByteBuffer]) -> AccessUnit {
    rewritten { bytes, isSet in
      isSet ? change(ByteBuffer(bytes: bytes)).map { Array($0.readableBytesView) } : [bytes]
    }
  }

  /// With `set` before its other units, behind its delimiter if it has one.
  fileprivate func adding(_ set: ByteBuffer) -> AccessUnit {
    let delimiter = codec.accessUnitDelimiterType
    var isAdded = false
    return rewritten { bytes, _ in
      let isDelimiter = codec.type(of: NALUnitHead(of: ByteBuffer(bytes: bytes))) == delimiter
      if isAdded || isDelimiter { return [bytes] }
      isAdded = true
      return [Array(set.readableBytesView), bytes]
    }
  }
}
