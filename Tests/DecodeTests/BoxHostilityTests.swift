import Bitstream
import Decode
import Defragment
import Foundation
import NIOCore
import RTPWire
import Synchronization
import TestSupport
import Testing

/// A decoder's process in which somebody else is: nothing that it says is believed.
@Suite(.serialized) struct BoxHostilityTests {
  private static let deedsThatEndByTime: Set = ["silent", "greedy", "busy"]

  /// A program that misbehaves in the way that `deed` names.
  private func box(_ deed: String, in folder: TemporaryFolder) throws -> DecoderBox {
    let source = try #require(Bundle.module.resourceURL)
      .appendingPathComponent("Decoders/hostile.py")
    try Data(contentsOf: source).write(to: folder.url("hostile.py"))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: folder("hostile.py"))
    try FileManager.default.createSymbolicLink(
      atPath: folder(deed), withDestinationPath: folder("hostile.py"))
    var box = DecoderBox(executable: folder(deed), isRequired: true)
    box.restartPause = .milliseconds(1)
    // A busy machine is no lie. Only what ends by the time, or may end by anything, has little.
    if Self.deedsThatEndByTime.contains(deed) || deed.hasPrefix("random-") {
      (box.patience, box.longestWork) = (.milliseconds(500), .milliseconds(1500))
    } else {
      (box.patience, box.longestWork) = (.seconds(20), .seconds(20))
    }
    box.pictureMemory = 8 << 20
    return box
  }

  private func decoded(_ deed: String, units count: Int = 3) async throws -> Collector {
    let folder = try TemporaryFolder()
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: count)
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = try await BoxTests.decoded(
      units, BoxTests.configuration(try box(deed, in: folder)))
    // Whatever it said, each access unit has come to one end.
    let ends = collector.frames.map(\.time.ticks) + collector.failures.map(\.time.ticks)
    #expect(ends.sorted() == units.map(\.time.ticks))
    return collector
  }

  @Test("the process of these tests can tell the truth")
  func honest() async throws {
    let collector = try await decoded("honest")
    #expect(collector.boxEvents == [])
    #expect(collector.frames.count == 3)
    #expect(collector.frames.allSatisfy { $0.width == 64 && $0.packed.allSatisfy { $0 == 0 } })
  }

  static let deeds: KeyValuePairs = [
    "silent": "in time", "leaving": "status 7", "unknown-report": "unknown", "short": "too short",
    "long": "too long", "very-long": "too long", "ready-again": "wrong time",
    "other-unit": "nothing that was given", "backwards": "no order",
    "other-field": "nothing that was given", "no-memory": "no memory",
    "dropped-memory": "no memory", "foreign-drop": "does not have", "beyond": "beyond",
    "at-the-end": "beyond", "far": "beyond", "negative": "out of range", "narrow": "beyond",
    "wide": "beyond", "huge": "size", "empty": "size", "odd-samples": "beyond",
    "few-planes": "samples", "many-planes": "samples", "unknown-format": "samples",
    "packed-format": "samples", "unknown-colour": "out of range", "unknown-condition": "unknown",
    "descriptor": "descriptor", "greedy": "in time", "busy": "in time",
  ]

  @Test("it is ended for any lie, and another one takes its place", arguments: deeds.map(\.key))
  func lies(_ deed: String) async throws {
    let words = try #require(Self.deeds.first { $0.key == deed }?.value)
    let collector = try await decoded(deed)
    #expect(collector.frames.isEmpty)
    guard case .lost(let cause)? = collector.boxEvents.first else {
      Issue.record("\(collector.boxEvents)")
      return
    }
    #expect(cause.contains(words), "\(cause)")
    #expect(DecoderProcesses.all(isEnded: true) == [])
  }

  @Test("whoever takes frames may take longer than a decoder may work")
  func slowTaker() async throws {
    let folder = try TemporaryFolder()
    var box = try box("asking-later", in: folder)
    (box.patience, box.longestWork) = (.seconds(10), .seconds(5))
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: 1)
    let units = clip.accessUnits(of: try clip.encoded())
    let events = Mutex<[DecoderBoxEvent]>([])
    let decoder = try VideoDecoder(
      codec: units[0].codec, configuration: BoxTests.configuration(box),
      onFrame: { _ in usleep(5_500_000) }, onFailure: { _ in },
      onEvent: { event in events.withLock { $0.append(event) } })
    try await decoder.decode(units[0])
    await decoder.close()
    #expect(events.withLock { $0 } == [])
  }

  @Test("one that is never ready is no reason to decode without a box", arguments: [true, false])
  func neverReady(isRequired: Bool) async throws {
    let folder = try TemporaryFolder()
    var box = try box("never-ready", in: folder)
    (box.startingPatience, box.isRequired) = (.milliseconds(100), isRequired)
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: 3)
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = try await BoxTests.decoded(units, BoxTests.configuration(box))
    #expect(collector.frames.isEmpty)
    #expect(collector.failures.map(\.time.ticks) == units.map(\.time.ticks))
    #expect(!collector.boxEvents.isEmpty)
    for event in collector.boxEvents { #expect(event == .lost(cause: "it did not answer in time")) }
  }

  @Test("one that parameter sets end, behind one that was never ready, is no reason either")
  func endedBySets() async throws {
    let folder = try TemporaryFolder()
    var box = try box("ended-by-sets", in: folder)
    (box.startingPatience, box.restartPause, box.isRequired) = (.seconds(1), .zero, false)
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: 8)
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = try await BoxTests.decoded(units, BoxTests.configuration(box))
    #expect(collector.frames.isEmpty)
    for event in collector.boxEvents {
      guard case .lost = event else {
        Issue.record("\(event)")
        continue
      }
    }
  }

  @Test("a parameter set that ends a process ends one, and another set of its number is decoded")
  func endedByOneSet() async throws {
    let folder = try TemporaryFolder()
    // Each picture brings its sets.
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: 8, encoder: ["-g", "1"])
    var units = clip.accessUnits(of: try clip.encoded())
    func firstSet(of unit: AccessUnit) throws -> ByteBuffer {
      let type = clip.codec.parameterSetTypes.first
      let part = try #require(unit.units.first { $0.type == type })
      return unit.bytes(of: part)
    }
    let usual = try firstSet(of: units[2])
    units[2] = units[2].sayingReorderDepth(3)
    let fatal = try firstSet(of: units[2])
    let next = try firstSet(of: units[3])
    let names = [usual, fatal, next].map { clip.codec.parameterSetNames(of: $0)?.own?.identifier }
    try #require(fatal != usual && next == usual && names == [0, 0, 0])
    try Data(fatal.readableBytesView).write(to: folder.url("set"))

    let collector = try await BoxTests.decoded(
      units, BoxTests.configuration(try box("ended-by-a-set", in: folder)))
    #expect(collector.boxEvents == [.lost(cause: "it ended with status 9")])
    #expect(collector.failures.map(\.time) == [units[2].time])
    units.remove(at: 2)
    #expect(collector.frames.map(\.time) == units.map(\.time))
  }

  @Test("known parameter sets for which the next process has no time reach the one behind it")
  func lateForKnownSets() async throws {
    let folder = try TemporaryFolder()
    // Its sets come once, with the first picture.
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: 8)
    let units = clip.accessUnits(of: try clip.encoded())
    var box = try box("late-for-sets", in: folder)
    // For the last process, too, which is to answer in time on a busy machine.
    box.patience = .seconds(5)
    let collector = try await BoxTests.decoded(units, BoxTests.configuration(box))
    #expect(
      collector.boxEvents == [
        .lost(cause: "it ended with status 9"), .lost(cause: "it did not answer in time"),
      ])
    #expect(collector.failures.map(\.time) == units[2...3].map(\.time))
    #expect(collector.frames.map(\.time) == (units[..<2] + units[4...]).map(\.time))
  }

  @Test("known parameter sets that end the next process reach no other one")
  func endedByKnownSets() async throws {
    let folder = try TemporaryFolder()
    // Its sets come once, with the first picture.
    let clip = Clip(name: "hostile", width: 64, height: 48, frames: 8)
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = try await BoxTests.decoded(
      units, BoxTests.configuration(try box("ended-by-known-sets", in: folder)))
    // The first process ends at the third unit, the second one before it has any.
    let lost = DecoderBoxEvent.lost(cause: "it ended with status 9")
    #expect(collector.boxEvents == [lost, lost])
    #expect(collector.failures.map(\.time) == units[2...3].map(\.time))
    #expect(collector.frames.map(\.time) == (units[..<2] + units[4...]).map(\.time))
  }

  @Test("memory counts for as long as a frame in it is used")
  func droppedFrame() async throws {
    let collector = try await decoded("dropped-frame")
    #expect(
      collector.boxEvents.first == .lost(cause: "it broke the protocol: it drops memory of a frame")
    )
  }

  @Test("a frame that comes twice comes once")
  func twice() async throws {
    let collector = try await decoded("twice")
    #expect(!collector.frames.isEmpty)
    #expect(!collector.boxEvents.isEmpty)
  }

  @Test("it may keep what it was given, but not all of it")
  func keeping() async throws {
    let collector = try await decoded("keeping", units: 200)
    #expect(collector.frames.isEmpty)
    #expect(
      collector.boxEvents == [.lost(cause: "it broke the protocol: it keeps what it was given")])
  }

  @Test("whatever it says, nothing breaks", arguments: fuzzSeeds)
  func anything(_ seed: UInt64) async throws {
    _ = try await decoded("honest", units: 12)
    let before = DecoderProcesses.openDescriptors
    let collector = try await decoded("random-\(seed)", units: 12)
    for frame in collector.frames { _ = frame.packed }
    #expect(DecoderProcesses.all(isEnded: true) == [])
    #expect(DecoderProcesses.openDescriptors <= before)
  }
}
