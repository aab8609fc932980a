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
      let isDeep = clip.pixelFormat.contains("10")
      let differences = try #require(
        SampleDifferences(packed([frame])[...], expected, bytesPerSample: isDeep ? 2 : 1))
      let error = differences.mean / (isDeep ? 4 : 1)
      worst = max(worst, error)
      if number <= Int(lost.max() ?? 0) + 3 { #expect(error < nearby) }
    }
    withKnownIssue("in these two clips, motion that is made up leads later pictures astray") {
      #expect(worst < later)
    } when: {
      clip.name == "H.265" && lost == [10] || clip.name == "H.265 10 bit" && lost == [12]
    }
  }
}

@Suite struct PictureRepairTests {
  private static let side = 128

  /// A plane with a textured square of 48 samples at `x`, `y` on a ground with another texture,
  /// which is at `ground`; half samples are fine.
  private func picture(
    x: Double, y: Double, ground: (x: Double, y: Double) = (0, 0), gain: Double = 1
  ) -> [UInt8] {
    (0..<Self.side * Self.side).map { index in
      let (column, row) = (Double(index % Self.side), Double(index / Self.side))
      let isSquare = column >= x && column < x + 48 && row >= y && row < y + 48
      let value =
        isSquare
        ? 150 + 40 * wave(column - x, row - y) / 2
        : 100 + 30 * wave(1.3 * (column - ground.x) + 40, 0.8 * (row - ground.y)) / 2
      return UInt8(min(max(gain * value, 0), 255))
    }
  }

  private func wave(_ x: Double, _ y: Double) -> Double {
    sin(y / 4) + sin(x / 5) + sin((x + y) / 9)
  }

  /// The PSNR in dB of the lower half of `picture`, if only its upper half comes.
  private func quality(of picture: [UInt8], behind earlier: [[UInt8]]) throws -> Double {
    let format = try #require(PixelFormat(named: "gray"))
    var planes = earlier + [picture]
    var area = LostArea(width: Self.side, height: Self.side, isLost: true)
    for row in 0..<area.rows / 2 { for column in 0..<area.columns { area[column, row] = false } }
    for index in planes[2].indices.dropFirst(planes[2].count / 2) { planes[2][index] = 0 }
    var samples = planes.flatMap { $0 }
    try samples.withUnsafeMutableBufferPointer { samples in
      let start = try #require(samples.baseAddress)
      func plane(_ index: Int) -> SamplePlane<UInt8> {
        SamplePlane(
          start: start + index * Self.side * Self.side, stride: Self.side, width: Self.side,
          height: Self.side)
      }
      PictureRepair(
        of: [plane(2)], in: area, from: [plane(1)], and: [plane(0)], ratio: 1, format: format
      ).fill()
    }
    let repaired = samples.suffix(picture.count)
    let error = zip(repaired, picture).reduce(0) { sum, pair in
      let difference = Int(pair.0) - Int(pair.1)
      return sum + difference * difference
    }
    return 10 * log10(255 * 255 * Double(picture.count) / 2 / Double(max(error, 1)))
  }

  @Test(
    "what moves is expected further on, and what stands still where it is",
    arguments: [(0, 0), (3, 0), (-4, 2), (2.5, -1.25), (0, 12), (-9, 3)])
  func motion(_ step: (x: Double, y: Double)) throws {
    let pictures = (0..<3).map { picture(x: 40 + Double($0) * step.x, y: 44 + Double($0) * step.y) }
    let unmoved = quality(pictures[2], pictures[1])
    let found = try quality(of: pictures[2], behind: Array(pictures.prefix(2)))
    #expect(found > min(unmoved + 2, 60), "\(found) dB, \(unmoved) if unmoved")
  }

  @Test(
    "a camera that shakes is followed by what came of the picture",
    arguments: [(5, 0), (0, -6), (-4.5, 3.25)])
  func shake(_ jump: (x: Double, y: Double)) throws {
    // The square moves with the ground, and nothing before shows how.
    let pictures = (0..<3).map { number in
      let place: (x: Double, y: Double) = number == 2 ? jump : (0, 0)
      return picture(x: 40 + place.x, y: 30 + place.y, ground: place)
    }
    let unmoved = quality(pictures[2], pictures[1])
    let found = try quality(of: pictures[2], behind: Array(pictures.prefix(2)))
    #expect(found > unmoved + 8, "\(found) dB, \(unmoved) if unmoved")
  }

  @Test("a fade goes on in what is lost", arguments: [0.9, 0.75, 1.1])
  func fade(gain: Double) throws {
    let pictures = (0..<3).map { number in
      picture(
        x: 40 + 2 * Double(number), y: 44, ground: (Double(number), 0),
        gain: pow(gain, Double(number)))
    }
    let found = try quality(of: pictures[2], behind: Array(pictures.prefix(2)))
    #expect(found > 30, "\(found) dB")
  }

  @Test("behind a cut, nothing of the scene before is shown")
  func cut() throws {
    let scene = picture(x: 40, y: 44)
    let other = (0..<Self.side * Self.side).map { index in
      let (column, row) = (Double(index % Self.side), Double(index / Self.side))
      return UInt8(200 + 25 * wave(column * 1.7, row * 2.3) / 2)
    }
    let found = try quality(of: other, behind: [scene, scene])
    #expect(found > quality(other, scene) + 6, "\(found) dB")
  }

  /// The PSNR in dB of the lower half.
  private func quality(_ one: [UInt8], _ other: [UInt8]) -> Double {
    let error = zip(one, other).dropFirst(one.count / 2).reduce(0) { sum, pair in
      let difference = Int(pair.0) - Int(pair.1)
      return sum + difference * difference
    }
    return 10 * log10(255 * 255 * Double(one.count) / 2 / Double(max(error, 1)))
  }
}

@Suite struct LostAreaTests {
  @Test("what a decoder did not write is lost, whatever filters do at its edges")
  func marks() throws {
    var samples = [UInt8](repeating: 0, count: 64 * 40)
    let area = try samples.withUnsafeMutableBufferPointer { samples in
      let start = try #require(samples.baseAddress)
      let plane = SamplePlane(start: start, stride: 64, width: 60, height: 36)
      plane.chequer(bitDepth: 8)
      for row in 0..<19 { for column in 0..<64 { samples[row * 64 + column] = 7 } }
      return LostArea(of: plane, bitDepth: 8)
    }
    #expect((area.columns, area.rows) == (8, 5))
    for row in 0..<5 {
      for column in 0..<8 { #expect(area[column, row] == (row > 1), "\(column), \(row)") }
    }
  }
}

@Suite struct PictureTimelineTests {
  private func order(
    _ count: Int, begins: Bool = false, isB: Bool = false, depth: Int? = nil
  ) -> PictureOrder {
    var order = PictureOrder(count: count)
    (order.beginsSequence, order.isBidirectional, order.reorderDepth) = (begins, isB, depth)
    return order
  }

  @Test("positions go on where counts restart, with or without the picture that begins")
  func restarts() {
    var timeline = PictureTimeline()
    let orders = [
      order(0, begins: true), order(2), order(4), order(0, begins: true), order(2), order(2),
      order(4),
    ]
    let positions = orders.map { timeline.position(of: $0) }
    #expect(zip(positions, positions.dropFirst()).allSatisfy { $1 - $0 == 2 })
  }

  @Test("pictures that are reordered lie between others")
  func reordered() {
    var timeline = PictureTimeline()
    let orders = [
      order(0, begins: true), order(8), order(4, isB: true), order(2, isB: true),
      order(6, isB: true), order(16),
    ]
    let positions = orders.map { timeline.position(of: $0) }
    #expect(positions.map { $0 - positions[0] } == [0, 8, 4, 2, 6, 16])
    // H.265 says it in the sequence's parameter set, and not in its slices.
    var second = PictureTimeline()
    let counts = [0, 8, 4, 2, 6, 16]
    let places = counts.map { second.position(of: order($0, begins: $0 == 0, depth: 2)) }
    #expect(places.map { $0 - places[0] } == counts)
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
