import Bitstream
import BlockingIO
import Defragment
import Foundation
import Glibc
import NIOCore
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Decode

/// libavcodec in a process of its own.
@Suite(.serialized) struct BoxTests {
  static let box: DecoderBox = {
    var box = DecoderBox(executable: Product.rtpRecv, isRequired: true)
    box.restartPause = .milliseconds(1)
    // A busy machine makes no losses; those that tests make show by the end of a process.
    box.patience = .seconds(20)
    return box
  }()

  static func configuration(_ box: DecoderBox = box) -> VideoDecoder.Configuration {
    var configuration = VideoDecoder.Configuration()
    configuration.box = box
    return configuration
  }

  /// Decodes `units` in a box or without one.
  static func decoded(
    _ units: [AccessUnit], _ configuration: VideoDecoder.Configuration
  ) async throws -> Collector {
    let collector = Collector()
    let decoder = try collector.decoder(for: units[0].codec, configuration: configuration)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    return collector
  }

  /// What is to be the same in a box.
  struct Appearance: Equatable {
    var samples: [UInt8]
    var time: MediaTime
    var condition: RawFrame.Condition
    var damage: PictureDamage?
    var isKeyFrame: Bool
    var type: RawFrame.PictureType
    var scan: RawFrame.Scan
    var colour: FormatDescription.Colour
    var isRangeKnown: Bool
    var chroma: RawFrame.ChromaLocation
    var shape: Rational?
    var rate: Rational?
    var bytes: Int
    var arrivals: [Instant]
    var unitTypes: [UInt8]?

    init(_ frame: RawFrame) {
      samples = frame.packed
      time = frame.time
      (condition, damage) = (frame.condition, frame.damage)
      (isKeyFrame, type, scan) = (frame.isKeyFrame, frame.pictureType, frame.scan)
      (colour, isRangeKnown) = (frame.colour, frame.isRangeKnown)
      chroma = frame.chromaLocation
      (shape, rate) = (frame.sampleAspectRatio, frame.frameRate)
      bytes = frame.codedByteCount
      arrivals = [frame.firstArrival, frame.lastArrival]
      unitTypes = frame.origin?.unitTypes
    }
  }

  @Test("a picture is the same in a box and without one", arguments: VideoDecoderTests.clips)
  func sameAsWithout(_ clip: Clip) async throws {
    let units = clip.accessUnits(of: try clip.encoded())
    let plain = try await Self.decoded(units, .init())
    let boxed = try await Self.decoded(units, Self.configuration())
    #expect(plain.frames.count == clip.frames)
    #expect(boxed.failures == [])
    let isSame = boxed.frames.map(Appearance.init) == plain.frames.map(Appearance.init)
    #expect(isSame)
  }

  @Test(
    "what losses do to pictures is the same in a box", arguments: LossTreatment.allCases,
    [VideoCodec.testH264, .testH265])
  func sameBehindLosses(_ treatment: LossTreatment, _ codec: VideoCodec) async throws {
    let clip = Clip(
      name: "losses", codec: codec, frames: 40, encoder: ["-bf", "2", "-g", "12"])
    var random = SeededGenerator(seed: 20)
    let units = clip.accessUnits(of: try clip.encoded()).enumerated().compactMap {
      number, unit -> AccessUnit? in
      switch number > 0 ? random.integer(below: 6) : 5 {
      case 0: return nil
      case 1: return unit.cut(after: 2 * unit.bytes.readableBytes / 3)
      default: return unit
      }
    }
    var configuration = VideoDecoder.Configuration()
    configuration.lossTreatment = treatment
    let plain = try await Self.decoded(units, configuration)
    configuration.box = Self.box
    let boxed = try await Self.decoded(units, configuration)
    // Not in the words of a failure, which would show all samples.
    let isSame = boxed.frames.map(Appearance.init) == plain.frames.map(Appearance.init)
    #expect(isSame)
    #expect(boxed.failures.map(\.reason) == plain.failures.map(\.reason))
    #expect(boxed.failures.map(\.time) == plain.failures.map(\.time))
    #expect(!plain.frames.isEmpty)
  }

  @Test("fields in access units of their own become one frame", arguments: [1, 3])
  func fields(threads: Int) async throws {
    let units = FieldStream.accessUnits(frames: 12)
    var configuration = VideoDecoder.Configuration()
    configuration.threads = .count(threads)
    let plain = try await Self.decoded(units, configuration)
    configuration.box = Self.box
    let boxed = try await Self.decoded(units, configuration)
    #expect(boxed.frames.count == 12)
    let isSame = boxed.frames.map(Appearance.init) == plain.frames.map(Appearance.init)
    #expect(isSame)
  }

  @Test(
    "the key pictures of open groups are those at which decoding can begin, in a box or without",
    arguments: VideoDecoderTests.clips.filter { $0.name.contains("open GOP") })
  func keyPictures(_ clip: Clip) async throws {
    let units = clip.accessUnits(of: try clip.encoded())
    let expected = units.filter(\.isRandomAccess).map(\.time)
    #expect(expected.count > 2)
    for configuration in [VideoDecoder.Configuration(), Self.configuration()] {
      let frames = try await Self.decoded(units, configuration).frames
      #expect(frames.filter(\.isKeyFrame).map(\.time) == expected)
    }
  }

  @Test("what is missing around a process may be what a service forbids it, and that is said")
  func missingWalls() {
    #expect(BoxWalls.all.lack == nil)
    let lack = BoxWalls.limits.lack ?? ""
    #expect(lack.hasPrefix("there is no Landlock and seccomp: "), "\(lack)")
    #expect(lack.contains("filter of a service"), "\(lack)")
  }

  @Test("what is around the process stands: no privileges, a filter, limits, one descriptor")
  func walls() async throws {
    let clip = Clip(name: "walls")
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec, configuration: Self.configuration())
    for unit in clip.accessUnits(of: try clip.encoded()) { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.frames.count == clip.frames)

    let process = try DecoderProcesses.one()
    let status = DecoderProcesses.text("status", of: process)
    #expect(status.contains("NoNewPrivs:\t1\n"))
    #expect(status.contains("Seccomp:\t2\n"))
    let limits = DecoderProcesses.text("limits", of: process).split(separator: "\n")
    for name in ["Max file size", "Max core file size", "Max locked memory"] {
      let line = try #require(limits.first { $0.hasPrefix(name) })
      #expect(line.split(separator: " ").contains("0"), "\(line)")
    }
    await decoder.close()
    #expect(DecoderProcesses.all(isEnded: true) == [])
  }

  @Test("a process that stands still is replaced")
  func standingStill() async throws {
    let clip = Clip(name: "stopped", encoder: ["-g", "8", "-bf", "0"])
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = Collector()
    var box = Self.box
    // For the process that takes its place, too, which is to answer in time on a busy machine.
    box.patience = .seconds(5)
    let decoder = try collector.decoder(for: clip.codec, configuration: Self.configuration(box))
    for unit in units.prefix(4) { try await decoder.decode(unit) }
    await decoder.flush()
    let process = try DecoderProcesses.one()
    kill(process, SIGSTOP)
    for unit in units.dropFirst(4) { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.boxEvents == [.lost(cause: "it did not answer in time")])
    // The flush before it has the stream begin anew, too.
    #expect(collector.frames.count == 4 + 16)
    #expect(collector.failures.count == 4)
    await decoder.close()
    #expect(DecoderProcesses.all(isEnded: true) == [])
  }

  /// How many bytes a process may write to.
  enum MemoryLimit: Sendable {
    case all(Int)
    /// Beyond those that it may write to already.
    case more(Int)

    /// What `prlimit --data` sets for `process`.
    func bytes(for process: Int32) throws -> Int {
      switch self {
      case .all(let bytes): return bytes
      case .more(let bytes):
        let status = DecoderProcesses.text("status", of: process).split(separator: "\n")
        let line = try #require(status.first { $0.hasPrefix("VmData:") })
        let kibibytes = try #require(Int(line.filter(\.isNumber)))
        return (kibibytes << 10) + bytes
      }
    }
  }

  /// What it lacks first depends on how much more it may have: libavcodec's tables, a picture's, or
  /// those of a slice, without which it conceals the picture.
  @Test(
    "a process that has no more memory is replaced",
    arguments: [MemoryLimit.all(1 << 20), .more(256 << 10), .more(1 << 20), .more(2 << 20)])
  func grown(_ limit: MemoryLimit) async throws {
    let clip = Clip(name: "grown", width: 640, height: 360, encoder: ["-g", "8", "-bf", "0"])
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = Collector()
    var configuration = Self.configuration()
    // More of them, which a busy machine gets, would need memory of their own.
    configuration.threads = .count(1)
    let decoder = try collector.decoder(for: clip.codec, configuration: configuration)
    try await decoder.decode(units[0])
    await decoder.flush()
    let process = try DecoderProcesses.one()
    _ = try RunningProcess.output(
      of: "prlimit", ["--pid", "\(process)", "--data=\(try limit.bytes(for: process))"])
    // Another size needs other memory. Each picture of a group is kept up to its end, which takes
    // half a mebibyte for each beside its samples.
    let large = Clip(
      name: "large", width: 1280, height: 720,
      encoder: ["-g", "8", "-bf", "0", "-refs", "8", "-sc_threshold", "0"])
    let others = large.accessUnits(of: try large.encoded())
    for unit in others { try await decoder.decode(unit) }
    await decoder.flush()
    let lost = collector.boxEvents
    #expect(lost.count == 1, "\(lost)")
    #expect(collector.frames.count >= 1 + 8)
    #expect(collector.frames.count + collector.failures.count == 1 + others.count)
    // It was lost within the first group, and the next process began with a later one.
    let last = collector.frames.suffix(8)
    #expect(last.map(\.time) == others.suffix(8).map(\.time))
    #expect(last.map { $0.condition == .intact } == [Bool](repeating: true, count: 8))
    await decoder.close()
  }

  @Test("another process knows what a sender said once, however many sets came behind that")
  func setsOfLongAgo() async throws {
    let clip = Clip(name: "sets", encoder: ["-g", "8", "-bf", "0"])
    let units = clip.accessUnits(of: try clip.encoded()).enumerated().map { number, unit in
      number == 0
        ? unit.withMoreSets(100) : unit.rewritten { bytes, isSet in isSet ? [] : [bytes] }
    }
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec, configuration: Self.configuration())
    for unit in units.prefix(4) { try await decoder.decode(unit) }
    await decoder.flush()
    let process = try DecoderProcesses.one()
    kill(process, SIGKILL)
    for unit in units.dropFirst(4) { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.boxEvents == [.lost(cause: "it was ended by signal 9")])
    #expect(collector.frames.count == 4 + 16)
    #expect(collector.failures.count == 4)
    await decoder.close()
  }

  @Test("where there can be no process, decoding goes on in this one, or not at all")
  func noProcess() async throws {
    let clip = Clip(name: "none")
    let units = clip.accessUnits(of: try clip.encoded())
    for executable in ["/bin/false", "/nowhere/at/all"] {
      let collector = Collector()
      let open = DecoderBox(executable: executable)
      let decoder = try collector.decoder(for: clip.codec, configuration: Self.configuration(open))
      for unit in units { try await decoder.decode(unit) }
      await decoder.flush()
      await decoder.close()
      #expect(collector.frames.count == clip.frames)
      guard case .absent = try #require(collector.boxEvents.first) else {
        Issue.record("\(collector.boxEvents)")
        continue
      }
    }
    let collector = Collector()
    let closed = DecoderBox(executable: "/bin/false", isRequired: true)
    let decoder = try collector.decoder(for: clip.codec, configuration: Self.configuration(closed))
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.isEmpty)
    #expect(collector.failures.count == units.count)
    guard case .failed(.noBox) = try #require(collector.boxEvents.first) else {
      Issue.record("\(collector.boxEvents)")
      return
    }
  }
}

/// The decoder's process is killed at any moment.
@Suite(.serialized) struct BoxKillTests {
  /// How often; a thousand where somebody has the time.
  private static let kills =
    ProcessInfo.processInfo.environment["RTP_RECV_TEST_KILLS"].flatMap(Int.init) ?? 40

  /// Hands over a stream without end while its decoder is killed `kills` times at random moments.
  @Test("what is lost is one group of pictures at most, and all others are exact")
  func killed() async throws {
    let length = 10
    let clip = Clip(
      name: "killed", width: 640, height: 360, frames: 20,
      encoder: ["-g", "\(length)", "-bf", "0", "-sc_threshold", "0"])
    let stream = clip.accessUnits(of: try clip.encoded())
    let expected = try await BoxTests.decoded(stream, .init()).frames.map { $0.packed.hashValue }
    let before = DecoderProcesses.openDescriptors

    let results = Mutex<[Int: Bool]>([:])
    let losses = Mutex(0)
    let decoder = try VideoDecoder(
      codec: clip.codec, configuration: BoxTests.configuration(),
      onFrame: { frame in
        let number = Int(frame.time.ticks / 3000)
        let isExact =
          frame.condition == .intact
          && frame.packed.hashValue == expected[number % expected.count]
        let former = results.withLock { $0.updateValue(isExact, forKey: number) }
        #expect(former == nil)
        #expect(isExact)
      },
      onFailure: { failure in
        let number = Int(failure.time.ticks / 3000)
        #expect(results.withLock { $0.updateValue(false, forKey: number) } == nil)
      },
      onEvent: { event in
        if case .lost = event { losses.withLock { $0 += 1 } }
      })

    let isOver = Mutex(false)
    let killer = Task.detached {
      try await eventually { results.withLock { !$0.isEmpty } }
      var random = SeededGenerator(seed: 1000)
      for _ in 0..<Self.kills {
        try await Task.sleep(for: .microseconds(random.integer(below: 60_000)))
        let process = try await eventualValue { DecoderProcesses.all().first }
        kill(process, SIGKILL)
        try await eventually { !DecoderProcesses.all(isEnded: true).contains(process) }
      }
      isOver.withLock { $0 = true }
    }
    var count = 0
    while !isOver.withLock({ $0 }) {
      let unit = stream[count % stream.count]
      try await decoder.decode(unit.at(count))
      count += 1
      try await Task.sleep(for: .milliseconds(2))
    }
    try await killer.value
    for _ in 0..<2 * length {
      try await decoder.decode(stream[count % stream.count].at(count))
      count += 1
    }
    await decoder.flush()
    await decoder.close()

    let all = results.withLock { $0 }
    #expect(all.count == count)
    #expect(losses.withLock { $0 } == Self.kills)
    // From the first lost picture, a group lasts to the next key picture.
    var lost: [Int: Int] = [:]
    for (number, isShown) in all where !isShown { lost[number / length, default: 0] += 1 }
    #expect(lost.count <= Self.kills, "\(lost.count) groups lost pictures")
    #expect(DecoderProcesses.all(isEnded: true) == [])
    #expect(DecoderProcesses.openDescriptors <= before)
    print("\(Self.kills) kills, \(count) pictures, \(lost.values.reduce(0, +)) lost")
  }
}

extension AccessUnit {
  /// The same at another place of the stream.
  fileprivate func at(_ index: Int) -> AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes, units: units,
      time: MediaTime(ticks: Int64(index) * 3000, timescale: 90_000),
      firstArrival: Instant(nanoseconds: Int64(index) * 1000),
      lastArrival: Instant(nanoseconds: Int64(index) * 1000 + 500),
      isRandomAccess: isRandomAccess, format: format)
  }

  /// The same without what is behind so many bytes.
  fileprivate func cut(after count: Int) -> AccessUnit {
    let kept = units.filter { $0.offset < count }.map { entry in
      NALUnit(
        offset: entry.offset, length: min(entry.length, count - entry.offset), type: entry.type,
        isWhole: entry.offset + entry.length <= count)
    }
    return AccessUnit(
      codec: codec, bytes: bytes.getSlice(at: bytes.readerIndex, length: count) ?? bytes,
      units: kept, time: time, firstArrival: firstArrival, lastArrival: lastArrival,
      integrity: .damaged, gaps: [Gap(unitIndex: kept.count, packets: 1)],
      isRandomAccess: isRandomAccess, format: format)
  }
}
