import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Decode

/// Decoding by several threads: the same pictures, whatever they share.
@Suite struct DecoderThreadsTests {
  @Test(
    "threads with a picture each give every frame once, in order",
    arguments: VideoDecoderTests.clips + [DecoderOrderTests.clips[8], DecoderOrderTests.h265[5]],
    [2, 3])
  func pictures(_ clip: Clip, count: Int) async throws {
    let stream = try clip.encoded()
    let collector = Collector()
    var configuration = VideoDecoder.Configuration()
    configuration.threads = .count(count)
    let decoder = try collector.decoder(for: clip.codec, configuration: configuration)
    #expect(decoder.threadCount == count)
    let units = clip.accessUnits(of: stream)
    // The pictures behind a flush are decoded too.
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.count == 2 * clip.frames)
    #expect(collector.frames.allSatisfy { $0.condition == .intact })
    let expected = try clip.decodedByFFmpeg(stream)
    let isEqual = packed(collector.frames) == expected + expected
    #expect(isEqual)
  }

  @Test("fields in access units of their own") func fields() async throws {
    let units = FieldStream.accessUnits(frames: 20)
    let collector = Collector()
    var configuration = VideoDecoder.Configuration()
    configuration.threads = .count(3)
    let decoder = try collector.decoder(for: .testH264, configuration: configuration)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.map(\.time) == stride(from: 0, to: 40, by: 2).map { units[$0].time })
    let frame = try #require(collector.frames.last)
    #expect(frame.packed[0..<16].allSatisfy { $0 == 119 })
    #expect(frame.packed[16..<32].allSatisfy { $0 == 169 })
  }

  @Test(
    "each access unit has one callback, whatever is wrong with it",
    arguments: [VideoCodec.testH264, .testH265])
  func wrongBits(_ codec: VideoCodec) async throws {
    let clip = Clip(name: "damaged", codec: codec, frames: 60, encoder: ["-g", "20"])
    var generator = SeededGenerator(seed: 18)
    let units = clip.accessUnits(of: try clip.encoded()).map { unit in
      generator.integer(below: 4) == 0 ? unit.spoiled(by: &generator) : unit
    }
    let collector = Collector()
    var configuration = VideoDecoder.Configuration()
    configuration.threads = .count(3)
    let decoder = try collector.decoder(for: codec, configuration: configuration)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.events.count == 60)
    for unit in units.prefix(10) { try await decoder.decode(unit) }
    await decoder.close()
    #expect(collector.events.count == 70)
  }

  /// What is decoded where the decoder is too slow at some units, how many threads there were, and
  /// how many pictures had not come out, after each unit.
  private func frames(
    of units: [AccessUnit], _ codec: VideoCodec, behind sets: [ByteBuffer] = [],
    isBusyAt busy: Set<Int>
  ) throws -> (collector: Collector, threads: [Int], waiting: [Int]) {
    let collector = Collector()
    let gauge = DecoderGauge()
    var configuration = VideoDecoder.Configuration()
    configuration.processors = 3
    let decoder = try DecoderSuccession(
      codec: codec, configuration: configuration, gauge: gauge,
      onFrame: { collector.append(.frame($0)) }, onFailure: { collector.append(.failure($0)) })
    decoder.take(parameterSets: sets)
    var (threads, waiting): ([Int], [Int]) = ([], [])
    for (number, unit) in units.enumerated() {
      if busy.contains(number) { decoder.load.share = 1 }
      decoder.decode(unit)
      threads.append(gauge.threads)
      waiting.append(number + 1 - collector.frames.count)
    }
    decoder.flush()
    return (collector, threads, waiting)
  }

  static let clips = [
    Clip(name: "H.264", frames: 40, encoder: ["-g", "10", "-bf", "2"]),
    Clip(name: "H.264 in slices", frames: 40, encoder: ["-g", "10", "-bf", "0", "-slices", "4"]),
    Clip(
      name: "H.265 with leading pictures", codec: .testH265, frames: 40, encoder: ["-g", "10"],
      codecParameters: "bframes=3:b-adapt=0:wpp=0"),
    Clip(
      name: "H.265 in rows", codec: .testH265, frames: 40, encoder: ["-g", "10"],
      codecParameters: "wpp=1:ctu=16"),
    Clip(
      name: "H.265 with decodable leading pictures", codec: .testH265, frames: 40,
      encoder: ["-g", "10"], codecParameters: "bframes=3:b-adapt=0:radl=2:open-gop=0:wpp=0"),
  ]

  @Test(
    "more threads take over in the middle, and no picture is lost or repeated", arguments: clips)
  func takeover(_ clip: Clip) throws {
    let stream = try clip.encoded()
    // Parameter sets come once.
    let units = clip.accessUnits(of: stream).map(\.withDependency)
    let (collector, threads, _) = try frames(of: units, clip.codec, isBusyAt: [10])
    #expect(threads.first == 1 && threads.last == 3, "\(threads)")
    #expect(collector.failures == [])
    #expect(collector.frames.count == 40)
    #expect(collector.frames.allSatisfy { $0.condition == .intact })
    let expected = try clip.decodedByFFmpeg(stream)
    let isEqual = packed(collector.frames) == expected
    #expect(isEqual)
  }

  @Test("a decoder that takes over knows the parameter sets that came beside the stream")
  func setsBeside() throws {
    let clip = Self.clips[0]
    let stream = try clip.encoded()
    let all = clip.accessUnits(of: stream)
    func isSet(_ unit: NALUnit) -> Bool { clip.codec.parameterSetTypes.contains(unit.type) }
    let sets = all[0].units.filter(isSet).map { all[0].bytes(of: $0) }
    let (collector, threads, _) = try frames(
      of: all.map(\.withoutSets.withDependency), clip.codec, behind: sets, isBusyAt: [10])
    #expect(threads.last == 3, "\(threads)")
    #expect(collector.failures == [])
    #expect(collector.frames.count == 40)
  }

  @Test("slices are not enough: then each thread has a picture") func fromPartsToPictures() throws {
    let clip = Self.clips[1]
    let stream = try clip.encoded()
    let units = clip.accessUnits(of: stream).map(\.withDependency)
    let (collector, threads, waiting) = try frames(of: units, clip.codec, isBusyAt: [10, 20])
    #expect(threads.first == 1 && threads[15] == 3 && threads.last == 3, "\(threads)")
    // Slices delay nothing; the third thread's picture waits for two others.
    #expect(waiting[15] == 0 && waiting.last == 2, "\(waiting)")
    #expect(collector.frames.count == 40)
    let expected = try clip.decodedByFFmpeg(stream)
    let isEqual = packed(collector.frames) == expected
    #expect(isEqual)
  }

  @Test("another size begins with one thread again") func otherSize() throws {
    var units: [AccessUnit] = []
    var expected: [UInt8] = []
    for width in [320, 176] {
      let clip = Clip(name: "\(width)", width: width, frames: 30, encoder: ["-g", "10"])
      let stream = try clip.encoded()
      units += clip.accessUnits(of: stream, startingAt: units.count).map(\.withDependency)
      expected += try clip.decodedByFFmpeg(stream)
    }
    let (collector, threads, _) = try frames(of: units, .testH264, isBusyAt: [10])
    #expect(threads[29] == 3 && threads.last == 1, "\(threads)")
    #expect(collector.failures == [])
    let isEqual = packed(collector.frames) == expected
    #expect(isEqual)
  }

  @Test("a recording is decoded by one thread") func recording() throws {
    var configuration = VideoDecoder.Configuration()
    configuration.mustKeepUp = false
    configuration.processors = 3
    let gauge = DecoderGauge()
    let decoder = try DecoderSuccession(
      codec: .testH264, configuration: configuration, gauge: gauge, onFrame: { _ in },
      onFailure: { _ in })
    let clip = Self.clips[0]
    for unit in clip.accessUnits(of: try clip.encoded()).map(\.withDependency) {
      decoder.load.share = 1
      decoder.decode(unit)
    }
    #expect(gauge.threads == 1)
  }

  @Test("a decoder does not keep up when it works nearly all of a second") func load() {
    var load = DecoderLoad()
    var (now, worked) = (Instant(nanoseconds: 5), Int64(7))
    func pass(_ work: Int64, of step: Int64, times: Int) {
      for _ in 0..<times {
        now = now.advanced(byNanoseconds: step)
        worked += work
        load.note(worked, at: now)
      }
    }
    pass(38_000_000, of: 40_000_000, times: 20)
    // A burst is not looked at.
    #expect(!load.isFull)
    pass(38_000_000, of: 40_000_000, times: 10)
    #expect(load.isFull)
    pass(20_000_000, of: 40_000_000, times: 52)
    #expect(!load.isFull && abs(load.share - 0.5) < 0.05)
  }

  @Test("what helps next") func faster() {
    let one = ThreadUse.one
    #expect(one.faster(processors: 1, hasParts: true, mayDelay: true) == .one)
    #expect(one.faster(processors: 4, hasParts: true, mayDelay: true) == .parts(4))
    #expect(one.faster(processors: 4, hasParts: false, mayDelay: true) == .pictures(4))
    #expect(one.faster(processors: 64, hasParts: false, mayDelay: true) == .pictures(16))
    #expect(one.faster(processors: 4, hasParts: false, mayDelay: false) == .one)
    let parts = ThreadUse.parts(4)
    #expect(parts.faster(processors: 4, hasParts: true, mayDelay: true) == .pictures(4))
    let pictures = ThreadUse.pictures(4)
    #expect(pictures.faster(processors: 4, hasParts: true, mayDelay: true) == pictures)
  }
}

extension AccessUnit {
  /// The unit with what its NAL unit types say of its references.
  fileprivate var withDependency: AccessUnit {
    let slice = units.first { codec == .testH264 ? $0.type == 1 || $0.type == 5 : $0.type < 32 }
    let references: PictureDependency.References =
      codec == .testH264
      ? slice?.type == 5 ? .none : .earlier : H265.references(ofType: slice?.type ?? 0)
    return AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, isRandomAccess: isRandomAccess,
      dependency: PictureDependency(references: references), format: format)
  }

  /// The unit with some bytes of its last NAL unit changed.
  fileprivate func spoiled(by generator: inout SeededGenerator) -> AccessUnit {
    guard let last = units.last, last.length > 8 else { return self }
    var bytes = bytes
    for _ in 0..<4 {
      let place = bytes.readerIndex + last.offset + 4 + generator.integer(below: last.length - 4)
      bytes.setInteger(UInt8(1 + generator.integer(below: 255)), at: place)
    }
    return AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, isRandomAccess: isRandomAccess, dependency: dependency,
      format: format)
  }
}
