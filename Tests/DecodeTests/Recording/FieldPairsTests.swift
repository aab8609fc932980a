import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// Recordings of frames whose two fields come in access units of their own.
@Suite struct FieldPairsTests {
  /// Frames in each of two groups.
  private static let frames: Int64 = 19

  /// Two groups, whose fields have times of their own, or each two of them one time; with
  /// `bidirectional` B pictures between two others.
  private static func units(areApart: Bool, bidirectional count: Int = 0) -> [AccessUnit] {
    let group = FieldStream.accessUnits(frames: Int(frames), bidirectional: count)
    let format = FormatDescription(
      codec: .testH264, width: 16, height: 32, profile: 77, level: 30,
      reorderDepth: count > 0 ? 1 : 0, mayHaveFields: true)
    return (0..<2).flatMap { (number: Int64) in
      group.enumerated().map { index, unit in
        let own = areApart ? unit.time.ticks : unit.time.ticks / 3000 * 3000
        let arrival = (number * Int64(group.count) + Int64(index)) * 16_000_000
        var unit = unit.at(
          MediaTime(ticks: number * frames * 3000 + own, timescale: 90_000),
          arriving: Instant(nanoseconds: arrival)
        ).with(format: format)
        unit.fields = index.isMultiple(of: 2) ? .first : .second
        return unit
      }
    }
  }

  @Test(
    "the two fields of a frame are one picture, at the time of the first",
    arguments: Container.recordings, [false, true])
  func pictures(_ container: Container, areApart: Bool) throws {
    let units = Self.units(areApart: areApart)
    let disk = try VirtualDisk.record(units, as: container)
    #expect(disk.files.map(\.ending?.frames) == [38])
    #expect(disk.files.map(\.ending?.reason) == [.end])
    let file = try #require(disk.files.first)
    #expect(disk.skipped == 0 && file.lengths.last?.items == units.count)

    let folder = try TemporaryFolder()
    try Data(units.flatMap { Array($0.bytes.readableBytesView) }).write(to: folder.url("stream"))
    let path = folder("a." + container.name)
    try Data(file.bytes).write(to: URL(fileURLWithPath: path))
    let expected = try FFmpeg.frameHashes(of: folder("stream"), options: ["-f", "h264"])
    #expect(expected.count == 38)
    #expect(try FFmpeg.frameHashes(of: path) == expected)
    // FFmpeg's reader of transport streams divides the frames again.
    guard container.name != "ts" else { return }
    let times = try Probe(path).packets.map { try #require(Double($0["pts_time"] ?? "")) }
    #expect(times.count == 38)
    for (number, time) in times.enumerated() {
      // Matroska counts milliseconds.
      #expect(abs(time - Double(number) / 30) < 0.0011)
    }
  }

  @Test(
    "B pictures in fields are reordered no further than the stream says", arguments: [false, true])
  func reordering(areApart: Bool) throws {
    let disk = try VirtualDisk.record(
      Self.units(areApart: areApart, bidirectional: 2), as: .mp4)
    #expect(disk.files.map(\.ending?.frames) == [38])
    #expect(disk.files.map(\.ending?.reason) == [.end])
  }

  @Test("a field whose other one does not come is a picture, also the last")
  func loneFields() throws {
    var units = Self.units(areApart: false)
    units.remove(at: 11)
    units.removeLast()
    let disk = try VirtualDisk.record(units, as: .matroska)
    #expect(disk.files.map(\.ending?.frames) == [38])
    #expect(disk.files.first?.lengths.last?.items == units.count)
  }

  @Test("a connection that ends between two fields leaves the first one in the file")
  func interruption() throws {
    let units = Self.units(areApart: false)
    let items =
      units[..<11].map { OutputItem.unit($0) } + [.interruption] + units[38...].map { .unit($0) }
    let disk = try VirtualDisk.record(items: items, as: .matroska)
    #expect(disk.files.map(\.ending?.frames) == [6, 19])
    #expect(disk.skipped == 0)
  }

  @Test("no file begins with a frame of which one field lacks something")
  func damagedField() throws {
    var units = Self.units(areApart: false)
    units[1] = units[1].damaged
    units[1].fields = .second
    let disk = try VirtualDisk.record(units, as: .mp4)
    #expect(disk.files.map(\.ending?.frames) == [19])
    #expect(disk.skipped == 38)
    var recordable = RecordableUnits(inFiles: true)
    let isHeld = units.map { recordable.takes($0) }
    // What was said of the first one is taken back with the second.
    #expect(isHeld == units.indices.map { $0 == 0 || $0 >= 38 })
  }
}
