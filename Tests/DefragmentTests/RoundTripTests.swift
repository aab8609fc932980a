import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// What a sender packs comes back, whichever way it packs it.
@Suite("There and back")
struct RoundTripTests {
  /// Pictures of random NAL units; each begins with a first slice.
  private static func pictures(
    _ material: Material, _ random: inout SeededGenerator, count: Int
  ) -> [[[UInt8]]] {
    (0..<count).map { index in
      let first = index % 5 == 0 ? material.keySlice : material.slice
      var units = index % 5 == 0 ? material.parameterSets : []
      units.append(grown(first, &random))
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        units.append(
          grown(index % 5 == 0 ? material.laterKeySlice : material.laterSlice, &random))
      }
      return units
    }
  }

  /// `unit` with some more bytes, none of them zero, so that there is no start code in it.
  private static func grown(_ unit: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    unit
      + (0..<Int.random(in: 0...600, using: &random)).map { _ in
        UInt8.random(in: 1...255, using: &random)
      }
  }

  @Test("Single, aggregated and fragmented at random", arguments: Material.all, UInt64(1)...8)
  func mixed(_ material: Material, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pictures = Self.pictures(material, &random, count: 60)
    let packetizer = Packetizer(codec: material.codec)
    var bench = try Bench(material.codec)
    for (index, picture) in pictures.enumerated() {
      var payloads: [[UInt8]] = []
      var rest = picture[...]
      while let unit = rest.first {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          payloads.append(packetizer.single(unit))
          rest = rest.dropFirst()
        case 1:
          let size = Int.random(in: 1...200, using: &random)
          payloads += packetizer.fragments(of: unit, maximum: size).map(\.bytes)
          rest = rest.dropFirst()
        default:
          let some = rest.prefix(Int.random(in: 1...4, using: &random))
          payloads.append(packetizer.aggregate(Array(some)))
          rest = rest.dropFirst(some.count)
        }
      }
      for (place, payload) in payloads.enumerated() {
        bench.push(payload, at: Int64(index) * 3000, marker: place == payloads.count - 1)
      }
      #expect(bench.accessUnits.count == index + 1, "each comes out with its last packet")
    }
    #expect(bench.accessUnits.map(\.hex) == pictures.map { $0.map(\.hex) })
    #expect(bench.accessUnits.map(\.time.ticks) == pictures.indices.map { Int64($0) * 3000 })
    #expect(bench.statistics.troubles == 0)
    for unit in bench.accessUnits { #expect(unit.isTidy && unit.integrity == .whole) }
  }

  @Test("Fragments of every size", arguments: Material.all)
  func everySize(_ material: Material) throws {
    for unit in material.parameterSets + [material.keySlice, material.slice] {
      for size in 1...(unit.count) {
        var bench = try Bench(material.codec)
        for fragment in Packetizer(codec: material.codec).fragments(of: unit, maximum: size) {
          bench.push(fragment.bytes, marker: fragment.isLast)
        }
        bench.flush()
        #expect(bench.accessUnits.map(\.hex) == [[unit.hex]], "pieces of \(size)")
      }
    }
  }

  /// One payload of an interleaved stream, which can be sent before and after others.
  private struct Interleaved {
    let payloads: [[UInt8]]
    let ticks: Int64
  }

  @Test("H.264 out of decoding order: STAP-B, MTAP16, MTAP24, FU-B", arguments: UInt64(1)...8)
  func h264Interleaved(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pictures = Self.pictures(.h264, &random, count: 40)
    let packetizer = Packetizer(codec: H264.codec)
    var number: UInt16 = 65_500
    var groups: [Interleaved] = []
    var index = 0
    while index < pictures.count {
      let picture = pictures[index]
      let base = number
      number &+= UInt16(picture.count)
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        groups.append(
          Interleaved(
            payloads: [packetizer.aggregate(picture, number: base)], ticks: Int64(index) * 3000))
      case 1:
        for (place, unit) in picture.enumerated() {
          let fragments = packetizer.fragments(
            of: unit, maximum: 150, number: base &+ UInt16(place))
          groups.append(
            Interleaved(payloads: fragments.map(\.bytes), ticks: Int64(index) * 3000))
        }
      default:
        var entries = picture.enumerated().map { ($1, UInt8($0), UInt32(0)) }
        if index + 1 < pictures.count {
          let following = pictures[index + 1]
          entries += following.enumerated().map { ($1, UInt8(picture.count + $0), UInt32(3000)) }
          number &+= UInt16(following.count)
        }
        let payload = packetizer.aggregate(
          entries, base: base, offsetLength: Bool.random(using: &random) ? 2 : 3)
        groups.append(Interleaved(payloads: [payload], ticks: Int64(index) * 3000))
        if index + 1 < pictures.count { index += 1 }
      }
      index += 1
    }
    // Three groups at a time change places: at most 2 groups of at most 8 units come too early.
    let sent = stride(from: 0, to: groups.count, by: 3).flatMap {
      groups[$0..<min($0 + 3, groups.count)].shuffled(using: &random)
    }
    var bench = try Bench(
      H264.codec, parameters: ["packetization-mode": "2", "sprop-interleaving-depth": "20"])
    for group in sent { for payload in group.payloads { bench.push(payload, at: group.ticks) } }
    bench.flush()
    #expect(bench.accessUnits.map(\.hex) == pictures.map { $0.map(\.hex) })
    #expect(bench.accessUnits.map(\.time.ticks) == pictures.indices.map { Int64($0) * 3000 })
    #expect(bench.statistics.troubles == 0)
  }

  @Test("H.265 out of decoding order, with DONL and DOND", arguments: UInt64(1)...8)
  func h265Interleaved(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pictures = Self.pictures(.h265, &random, count: 40)
    let packetizer = Packetizer(codec: H265.codec, isNumbered: true)
    var number: UInt16 = 65_500
    var groups: [Interleaved] = []
    for (index, picture) in pictures.enumerated() {
      let ticks = Int64(index) * 3000
      if Bool.random(using: &random) {
        let payload = packetizer.aggregate(picture, number: number)
        groups.append(Interleaved(payloads: [payload], ticks: ticks))
      } else {
        for (place, unit) in picture.enumerated() {
          let own = number &+ UInt16(place)
          let payloads =
            unit.count > 200
            ? packetizer.fragments(of: unit, maximum: 150, number: own).map(\.bytes)
            : [packetizer.single(unit, number: own)]
          groups.append(Interleaved(payloads: payloads, ticks: ticks))
        }
      }
      number &+= UInt16(picture.count)
    }
    let sent = stride(from: 0, to: groups.count, by: 3).flatMap {
      groups[$0..<min($0 + 3, groups.count)].shuffled(using: &random)
    }
    var bench = try Bench(
      H265.codec, parameters: ["sprop-max-don-diff": "40", "sprop-depack-buf-nalus": "24"])
    for group in sent { for payload in group.payloads { bench.push(payload, at: group.ticks) } }
    bench.flush()
    #expect(bench.accessUnits.map(\.hex) == pictures.map { $0.map(\.hex) })
    #expect(bench.statistics.troubles == 0)
  }

  @Test("Interleaving counts pictures' units alone, as its depth does")
  func interleavingDepth() throws {
    var bench = try Bench(
      H264.codec, parameters: ["packetization-mode": "2", "sprop-interleaving-depth": "1"])
    let packetizer = Packetizer(codec: H264.codec)
    let material = Material.h264
    let sets = material.parameterSets
    bench.push(packetizer.aggregate(sets + [material.slice], number: 10), at: 3000)
    bench.push(packetizer.aggregate([material.keySlice], number: 9), at: 0)
    bench.flush()
    #expect(
      bench.accessUnits.map(\.hex) == [
        [material.keySlice.hex], (sets + [material.slice]).map(\.hex),
      ])
    #expect(bench.statistics.lateUnits == 0)
  }

  @Test("What an interleaved stream loses is missing where it belongs, not where it was sent")
  func interleavedLoss() throws {
    let packetizer = Packetizer(codec: H264.codec)
    // Pictures of two slices; the seventh unit of each eight is sent before the others.
    let first = bytes("61 e0 01")
    let second = bytes("61 48 02")
    var bench = try Bench(
      H264.codec, parameters: ["packetization-mode": "2", "sprop-interleaving-depth": "8"])
    var lost = 0
    for group in 0..<4 {
      for place in [6, 0, 1, 2, 3, 4, 5, 7] {
        let number = 8 * group + place
        // The first slice of the eighth picture.
        guard number != 14 else {
          lost = 1
          continue
        }
        bench.push(
          packetizer.aggregate([number.isMultiple(of: 2) ? first : second], number: UInt16(number)),
          at: Int64(number / 2) * 3000, lost: lost)
        lost = 0
      }
    }
    bench.flush()
    let damaged = bench.accessUnits.filter { $0.integrity == .damaged }.map(\.time.ticks)
    #expect(damaged.contains(7 * 3000) && !damaged.contains(8 * 3000))
    #expect(bench.accessUnits.map(\.lostPackets).reduce(0, +) == 1)
  }

  @Test("A unit whose turn has passed is counted")
  func lateUnit() throws {
    var bench = try Bench(
      H264.codec, parameters: ["packetization-mode": "2", "sprop-interleaving-depth": "0"])
    let packetizer = Packetizer(codec: H264.codec)
    for number in [5, 6, 4] as [UInt16] {
      bench.push(
        packetizer.aggregate([Material.h264.slice], number: number), at: Int64(number) * 3000)
    }
    bench.flush()
    #expect(bench.accessUnits.map(\.time.ticks) == [15_000, 18_000])
    #expect(bench.statistics.lateUnits == 1)
  }

  @Test("Reader indexes of packets are anything but 0", arguments: [0, 1, 2, 3, 4, 5, 6, 7, 13])
  func offsets(_ offset: Int) throws {
    let material = Material.h264
    var bench = try Bench(material.codec)
    let packet = bench.stream.packet(material.keySlice, marker: true)
    var moved = ByteBuffer(repeating: 0, count: offset)
    moved.writeImmutableBuffer(packet.packet.bytes)
    moved.moveReaderIndex(forwardBy: offset)
    bench.push(
      OrderedPacket(
        packet: try RTPPacket(parsing: moved), extendedSequence: packet.extendedSequence,
        time: packet.time, arrival: packet.arrival))
    #expect(bench.accessUnits.map(\.hex) == [[material.keySlice.hex]])
  }
}
