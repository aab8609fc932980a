import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Decode
@testable import Outputs

@Suite struct ConcealmentTests {
  static let clips: [Clip] = [
    Clip(name: "H.264", encoder: ["-bf", "0", "-g", "60"]),
    Clip(name: "H.264 slices", encoder: ["-tune", "zerolatency", "-slices", "3"]),
    Clip(name: "H.264 10 bit", pixelFormat: "yuv420p10le", encoder: ["-bf", "0", "-g", "60"]),
    Clip(name: "H.264 4:2:2", pixelFormat: "yuv422p", encoder: ["-bf", "0", "-g", "60"]),
    Clip(name: "H.264 odd size", width: 174, height: 98, encoder: ["-bf", "0", "-g", "60"]),
    Clip(name: "H.265", codec: .testH265, encoder: ["-bf", "0", "-g", "60"]),
    Clip(
      name: "H.265 10 bit", codec: .testH265, pixelFormat: "yuv420p10le",
      encoder: ["-bf", "0", "-g", "60"]),
  ]

  @Test("a picture that never came is not grey in those that refer to it", arguments: clips)
  func lostPicture(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    var units = clip.accessUnits(of: stream)
    let lost = units.remove(at: 10)
    try await expect(
      units, of: clip, golden: clip.decodedByFFmpeg(stream), without: [lost.time.ticks / 3000])
  }

  @Test("a slice that is cut leaves a picture like the one before", arguments: clips)
  func cutSlice(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    var units = clip.accessUnits(of: stream)
    units[8] = units[8].cut(toFraction: 0.4)
    try await expect(units, of: clip, golden: clip.decodedByFFmpeg(stream))
  }

  @Test("a key picture that is cut leaves a picture like the one before", arguments: clips)
  func cutKeyPicture(_ clip: Clip) async throws {
    var clip = clip
    clip.encoder += ["-g", "12", "-keyint_min", "12"]
    let stream = try clip.encoded()
    var units = clip.accessUnits(of: stream)
    let key = try #require(units.indices.dropFirst().first { units[$0].isRandomAccess })
    units[key] = units[key].cut(toFraction: 0.4)
    try await expect(units, of: clip, golden: clip.decodedByFFmpeg(stream))
  }

  @Test("a missing key picture hides none of the later ones", arguments: clips)
  func lostKeyPicture(_ clip: Clip) async throws {
    var clip = clip
    clip.encoder += ["-g", "12", "-keyint_min", "12"]
    let stream = try clip.encoded()
    var units = clip.accessUnits(of: stream)
    let key = try #require(units.indices.dropFirst().first { units[$0].isRandomAccess })
    let lost = units.remove(at: key)
    units[key] = units[key].behindLoss
    try await expect(
      units, of: clip, golden: clip.decodedByFFmpeg(stream), without: [lost.time.ticks / 3000])
  }

  /// Streams whose decoding order is not their output order.
  @Test(
    "a key picture that never came hides none of those behind it, nor their order",
    arguments: [12, 16, 24], [(2, "normal"), (3, "none"), (3, "strict"), (7, "normal")])
  func lostKeyPictureBeforeBPictures(distance: Int, bPictures: (Int, String)) async throws {
    let clip = Clip(
      name: "B", frames: 2 * distance + 12,
      encoder: ["-bf", "\(bPictures.0)", "-x264-params", "b-pyramid=\(bPictures.1):b-adapt=0"]
        + ["-g", "\(distance)", "-keyint_min", "\(distance)", "-sc_threshold", "0"])
    let stream = try clip.encoded()
    var units = clip.accessUnits(of: stream)
    // The place of each in the order of output.
    let intact = Collector()
    var decoder = try intact.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    let order = Dictionary(
      uniqueKeysWithValues: intact.frames.enumerated().map { ($1.time.ticks, Int64($0) * 3000) })
    let hashes = intact.frames.map(\.packed)
    units = try units.map { $0.at(try #require(order[$0.time.ticks])) }
    let key = try #require(units.indices.dropFirst().first { units[$0].isRandomAccess })
    let lost = units.remove(at: key).time.ticks
    units[key] = units[key].behindLoss

    let collector = Collector()
    decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    let times = collector.frames.map(\.time.ticks)
    #expect(times == (0..<Int64(clip.frames)).map { $0 * 3000 }.filter { $0 != lost })
    for frame in collector.frames where frame.condition == .intact {
      #expect(frame.packed == hashes[Int(frame.time.ticks / 3000)])
    }
    #expect(collector.frames.count { $0.condition == .intact } >= distance + 12)
  }

  @Test("wrong bits are known to be wrong in what refers to them", arguments: [0, 2])
  func wrongBits(bPictures: Int) async throws {
    let clip = Clip(name: "wrong bits", encoder: ["-bf", "\(bPictures)", "-g", "60"])
    var units = clip.accessUnits(of: try clip.encoded())
    let wrong = try #require(
      units.indices.dropFirst(8).first { number in
        // nal_ref_idc.
        let slice = units[number].units.last.map { units[number].bytes(of: $0) }
        return (slice?.readableBytesView.first ?? 0) & 0x60 != 0
      })
    units[wrong] = units[wrong].withWrongBits()
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    let conditions = collector.frames.map { ($0.time.ticks / 3000, $0.condition) }
    let first = try #require(conditions.firstIndex { $0.0 == wrong })
    #expect(conditions[first].1 == .concealed)
    #expect(conditions[first...].allSatisfy { $0.1 != .intact })
    #expect(conditions.prefix(6).allSatisfy { $0.1 == .intact })
  }

  @Test("a cut first picture leaves no black", arguments: clips)
  func cutFirstPicture(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    var units = clip.accessUnits(of: stream)
    units[0] = units[0].cut(toFraction: 0.4)
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    try await decoder.decode(units[0])
    await decoder.flush()
    await decoder.close()
    let frame = try #require(collector.frames.first)
    frame.withPlane(0) { samples, layout in
      let last = samples.extracting((layout.rows - 1) * layout.stride..<samples.byteCount)
      let first = last.unsafeLoad(as: UInt8.self)
      let second = last.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
      let isWide = clip.pixelFormat.contains("10")
      let value = isWide ? (Int(first) | Int(second) << 8) >> 2 : Int(first)
      #expect(value > 40, "the last row begins with \(value)")
    }
  }

  /// Decodes `units` and expects every frame to come out, and to look like those of `golden`.
  private func expect(
    _ units: [AccessUnit], of clip: Clip, golden: [UInt8], without lost: Set<Int64> = []
  ) async throws {
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    let frames = collector.frames
    let size = golden.count / clip.frames
    #expect(frames.count == clip.frames - lost.count)
    // Of 255. Measured are at most 6 in H.264, and in H.265 15 near the loss and 21 later; without
    // stand-ins it is 30 to 100. What is above allows for other versions of the encoders.
    let (nearby, later) = clip.codec == .testH264 ? (8.0, 8.0) : (20.0, 25.0)
    var worst = 0.0
    for frame in frames {
      let number = Int(frame.time.ticks / 3000)
      let expected = golden[(number * size)..<((number + 1) * size)]
      let error = meanDifference(packed([frame]), Array(expected), in: clip)
      worst = max(worst, error)
      if number <= Int(lost.max() ?? 0) + 3 { #expect(error < nearby) }
    }
    withKnownIssue("in these two clips, motion that is made up leads later pictures astray") {
      #expect(worst < later)
    } when: {
      clip.name == "H.265" && lost == [10] || clip.name == "H.265 10 bit" && lost == [12]
    }
  }

  /// The mean difference of two samples, as if of 8 bits.
  private func meanDifference(_ one: [UInt8], _ other: [UInt8], in clip: Clip) -> Double {
    guard clip.pixelFormat.contains("10") else {
      let sum = zip(one, other).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
      return Double(sum) / Double(one.count)
    }
    func samples(_ bytes: [UInt8]) -> [Int] {
      stride(from: 0, to: bytes.count, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
    }
    let pairs = zip(samples(one), samples(other))
    return Double(pairs.reduce(0) { $0 + abs($1.0 - $1.1) }) / Double(one.count / 2) / 4
  }
}

@Suite struct MotionFieldTests {
  private static let side = 128

  /// A plane with a textured square of 48 samples at `x`, `y` on a plain ground.
  private func picture(x: Int, y: Int) -> [UInt8] {
    var samples = [UInt8](repeating: 90, count: Self.side * Self.side)
    for row in 0..<48 {
      for column in 0..<48 {
        let wave = sin(Double(row) / 4) + sin(Double(column) / 5) + sin(Double(row + column) / 9)
        samples[(y + row) * Self.side + x + column] = UInt8(128 + 40 * wave)
      }
    }
    return samples
  }

  @Test(
    "what moves is expected further on, and what stands still where it is",
    arguments: [(0, 0), (3, 0), (-4, 2), (6, -5), (0, 12), (-13, -7)])
  func motion(_ step: (x: Int, y: Int)) {
    let pictures = (0..<3).map { picture(x: 40 + $0 * step.x, y: 40 + $0 * step.y) }
    var (first, second) = (pictures[0], pictures[1])
    let source = first.withUnsafeMutableBufferPointer { older in
      second.withUnsafeMutableBufferPointer { newer -> [Int] in
        func plane(_ samples: UnsafeMutableBufferPointer<UInt8>) -> SamplePlane<UInt8> {
          SamplePlane(
            start: samples.baseAddress!, stride: Self.side, width: Self.side, height: Self.side)
        }
        let field = MotionField(from: plane(older), to: plane(newer), bitDepth: 8)
        return (0..<Self.side * Self.side).map { index in
          let (x, y) = (index % Self.side, index / Self.side)
          let vector = field.source(x: x / 8 * 8, y: y / 8 * 8)
          return min(max(y + vector.y, 0), Self.side - 1) * Self.side
            + min(max(x + vector.x, 0), Self.side - 1)
        }
      }
    }
    let expected = source.map { pictures[1][$0] }
    let wrong = zip(expected, pictures[2]).count { abs(Int($0) - Int($1)) > 8 }
    let unmoved = zip(pictures[1], pictures[2]).count { abs(Int($0) - Int($1)) > 8 }
    #expect(wrong * 3 <= unmoved, "\(wrong) wrong, \(unmoved) if nothing had moved")
  }
}

extension AccessUnit {
  /// The unit with the second half of its last NAL unit inverted.
  fileprivate func withWrongBits() -> AccessUnit {
    guard let last = units.last else { return self }
    var bytes = bytes
    for index in (last.offset + last.length / 2)..<(last.offset + last.length) {
      let place = bytes.readerIndex + index
      bytes.setInteger(~(bytes.getInteger(at: place, as: UInt8.self) ?? 0) | 1, at: place)
    }
    return AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, isRandomAccess: isRandomAccess, dependency: dependency,
      recoveryPoint: recoveryPoint, format: format)
  }

  /// The unit with its last NAL unit cut, as where the packets of its end are missing.
  fileprivate func cut(toFraction fraction: Double) -> AccessUnit {
    var units = units
    guard let last = units.popLast() else { return self }
    let length = max(Int(Double(last.length) * fraction), 3)
    units.append(
      NALUnit(offset: last.offset, length: length, type: last.type, isWhole: false))
    return AccessUnit(
      codec: codec,
      bytes: bytes.getSlice(at: bytes.readerIndex, length: last.offset + length) ?? bytes,
      units: units, time: time, firstArrival: firstArrival, lastArrival: lastArrival,
      integrity: .damaged, gaps: [Gap(unitIndex: units.count, packets: 1)],
      isRandomAccess: isRandomAccess, dependency: dependency, recoveryPoint: recoveryPoint,
      format: format)
  }
}
