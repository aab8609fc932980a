import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// What senders of `mpeg4-generic` do (RFC 3640).
@Suite("AAC in RTP")
struct AACPayloadTests {
  private func bench(
    _ changes: [String: String?] = [:], clock: UInt32 = 48_000, channels: Int? = 2
  ) throws -> SoundBench {
    var parameters = AccessUnitPacketizer.highRate
    for (key, value) in changes { parameters[key] = value }
    return try SoundBench("mpeg4-generic", clock: clock, channels: channels, parameters)
  }

  @Test("Puts a unit in each packet")
  func single() throws {
    var bench = try bench()
    // RFC 3640 §3.3.6: 16 bits of header, of which 13 are the size.
    bench.push(bytes("0010 0018 211b8f"), at: 1000)
    bench.push(bytes("0010 0010 2122"), at: 2024)
    #expect(bench.hex == ["211b8f", "2122"])
    #expect(bench.ticks == [1000, 2024])
    let format = try #require(bench.defragmenter.format)
    #expect(format.codec == AAC.codec && format.sampleRate == 48_000 && format.channels == 2)
    #expect(format.configuration == bytes("1190"))
    #expect(bench.units.map(\.sampleCount) == [1024, 1024])
    #expect(bench.units.map(\.isDiscontinuity) == [true, false])
    #expect(bench.statistics.silentSamples == 0 && bench.statistics.isBalanced)
  }

  @Test("Puts several units in a packet: each has a time of its own")
  func several() throws {
    var bench = try bench()
    let packetizer = AccessUnitPacketizer()
    bench.push(packetizer.packet([[1], [2, 2], [3]]), at: 0)
    bench.push(packetizer.packet([[4], [5]]), at: 3072)
    #expect(bench.hex == ["01", "0202", "03", "04", "05"])
    #expect(bench.ticks == [0, 1024, 2048, 3072, 4096])
  }

  @Test("Describes no index: some have it, those of AMS do not and call the stream another type")
  func withoutIndices() throws {
    let changes: [String: String?] = ["indexlength": nil, "indexdeltalength": nil]
    var bench = try bench(changes.merging(["streamtype": "3"]) { $1 })
    // 13 bits of size alone, of one unit and of two.
    bench.push(bytes("000d 0018 211b8f"), at: 0)
    bench.push(bytes("001a 0018 0080 211b8f 2122"), at: 1024)
    #expect(bench.hex == ["211b8f", "211b8f", "2122"])
    #expect(bench.ticks == [0, 1024, 2048])
    var indexed = try self.bench(changes)
    indexed.push(bytes("0010 0018 211b8f"), at: 0)
    #expect(indexed.hex == ["211b8f"])
    // A camera that says the lengths means them.
    var said = try self.bench()
    said.push(bytes("000d 0018 211b8f"), at: 0)
    #expect(said.units.isEmpty && said.statistics.malformedPayloads == 1)
  }

  @Test("Replicates bands: units are twice as long, at either clock")
  func bandReplication() throws {
    var bench = try bench(["config": "2b920800"], clock: 44_100)
    bench.push(AccessUnitPacketizer().packet([[1], [2]]), at: 0)
    #expect(bench.ticks == [0, 2048])
    #expect(bench.units.first?.sampleCount == 2048)
    #expect(bench.defragmenter.format?.sampleRate == 44_100)
    var slow = try self.bench(["config": "2b920800"], clock: 22_050)
    slow.push(AccessUnitPacketizer().packet([[1], [2]]), at: 0)
    #expect(slow.ticks == [0, 1024])
  }

  @Test("Fragments a unit; each fragment says the size of the whole")
  func fragments() throws {
    var bench = try bench()
    let unit = (0..<30).map { UInt8($0) }
    let packetizer = AccessUnitPacketizer()
    for (number, range) in [0..<12, 12..<24, 24..<30].enumerated() {
      bench.push(
        packetizer.packet([Array(unit[range])], sizes: [30]), at: 1024, marker: number == 2)
    }
    #expect(bench.units.map { Array($0.bytes.readableBytesView) } == [unit])
    #expect(bench.units[0].firstArrival < bench.units[0].lastArrival)
    // The middle one is lost: nothing comes out, and what follows is not affected.
    bench.push(packetizer.packet([Array(unit[0..<12])], sizes: [30]), at: 2048, marker: false)
    bench.push(packetizer.packet([Array(unit[24..<30])], sizes: [30]), at: 2048, lost: 1)
    bench.push(packetizer.packet([[9]]), at: 3072)
    #expect(bench.hex.dropFirst() == ["09"])
    #expect(bench.units.last?.lostBefore == 1)
    #expect(bench.statistics.cutUnits == 2 && bench.statistics.orphanFragments == 1)
    #expect(bench.statistics.missingSamples == 1024)
    #expect(bench.statistics.isBalanced)
  }

  @Test("Fragments a unit; each fragment says its own size, as mediamtx does")
  func ownSizes() throws {
    var bench = try bench()
    let packetizer = AccessUnitPacketizer()
    bench.push(packetizer.packet([[1, 2]]), at: 0, marker: false)
    bench.push(packetizer.packet([[3, 4]]), at: 0, marker: false)
    bench.push(packetizer.packet([[5]]), at: 0)
    bench.push(packetizer.packet([[6]]), at: 1024)
    #expect(bench.hex == ["0102030405", "06"])
    // The last fragment alone is no unit.
    bench.push(packetizer.packet([[7]]), at: 2048, marker: false)
    bench.push(packetizer.packet([[8]]), at: 2048, lost: 1)
    bench.push(packetizer.packet([[9]]), at: 3072)
    #expect(bench.hex == ["0102030405", "06", "09"])
    // Behind the marker everything is known again, where each unit is in two packets too.
    bench.push(packetizer.packet([[10]]), at: 4096, marker: false, lost: 1)
    bench.push(packetizer.packet([[11]]), at: 4096)
    for unit: UInt8 in [12, 14] {
      bench.push(packetizer.packet([[unit]]), at: 1024 * Int64(unit), marker: false)
      bench.push(packetizer.packet([[unit + 1]]), at: 1024 * Int64(unit))
    }
    #expect(bench.hex == ["0102030405", "06", "09", "0c0d", "0e0f"])
  }

  @Test("Never sets the marker")
  func withoutMarkers() throws {
    var bench = try bench()
    let packetizer = AccessUnitPacketizer()
    for number in 0..<5 {
      bench.push(packetizer.packet([[UInt8(number)]]), at: Int64(number) * 1024, marker: false)
    }
    #expect(bench.hex == ["00", "01", "02", "03", "04"])
    #expect(bench.ticks == [0, 1024, 2048, 3072, 4096])
    #expect(bench.statistics.cutUnits == 0)
  }

  struct Layout: Sendable {
    let packetizer: AccessUnitPacketizer
    let parameters: [String: String]
  }

  static let layouts = [
    Layout(
      packetizer: AccessUnitPacketizer(sizeLength: 6, indexLength: 2, indexDeltaLength: 2),
      parameters: ["mode": "AAC-lbr", "sizelength": "", "indexlength": "", "indexdeltalength": ""]),
    Layout(packetizer: AccessUnitPacketizer(), parameters: ["mode": "aac_hbr", "sizelength": ""]),
    Layout(
      packetizer: AccessUnitPacketizer(
        sizeLength: 15, indexLength: 0, indexDeltaLength: 0, compositionLength: 9,
        decodingLength: 7, streamStateLength: 4, hasRandomAccess: true, auxiliaryLength: 5),
      parameters: [
        "mode": "generic", "sizelength": "15", "indexlength": "0", "indexdeltalength": "0",
        "ctsdeltalength": "9", "dtsdeltalength": "7", "streamstateindication": "4",
        "randomaccessindication": "1", "auxiliarydatasizelength": "5",
      ]),
  ]

  @Test("Lays out its headers as it says", arguments: layouts)
  func layout(_ layout: Layout) throws {
    var bench = try bench(layout.parameters.mapValues { $0.isEmpty ? nil : $0 })
    bench.push(layout.packetizer.packet([[1, 1], [2], [3, 3, 3]]), at: 0)
    bench.push(layout.packetizer.packet([[4]]), at: 3072)
    #expect(bench.hex == ["0101", "02", "030303", "04"])
    #expect(bench.ticks == [0, 1024, 2048, 3072])
    #expect(bench.statistics.unpacked == 2)
  }

  @Test("Gives the times of units beside their order")
  func compositionOffsets() throws {
    let layout = Self.layouts[2]
    var bench = try bench(layout.parameters.mapValues { $0 })
    bench.push(layout.packetizer.packet([[1], [2], [3]], offsets: [nil, 200, -100]), at: 1000)
    #expect(bench.ticks == [1000, 1200, 900])
  }

  @Test("Sends units of one size without headers")
  func constantSize() throws {
    var bench = try bench([
      "mode": "generic", "sizelength": nil, "indexlength": nil, "indexdeltalength": nil,
      "constantsize": "2", "constantduration": "512",
    ])
    bench.push([1, 1, 2, 2, 3, 3], at: 0)
    bench.push([4, 4], at: 1536)
    #expect(bench.hex == ["0101", "0202", "0303", "0404"])
    #expect(bench.ticks == [0, 512, 1024, 1536])
  }

  @Test("Sends a unit in each packet without headers, up to the marker", arguments: [true, false])
  func bare(_ setsMarkers: Bool) throws {
    var bench = try bench([
      "mode": "generic", "sizelength": nil, "indexlength": nil, "indexdeltalength": nil,
    ])
    bench.push([1, 1], at: 0, marker: setsMarkers)
    bench.push([2], at: 1024, marker: setsMarkers)
    if setsMarkers {
      bench.push([3], at: 2048, marker: false)
      bench.push([4], at: 2048)
    } else {
      bench.push([3, 4], at: 2048, marker: false)
    }
    #expect(bench.hex == ["0101", "02", "0304"])
  }

  @Test("Interleaves its units: they come out in the order of their times")
  func interleaving() throws {
    var bench = try bench()
    let packetizer = AccessUnitPacketizer()
    func send(_ first: Int, lost: Int = 0) {
      let units = [first, first + 3, first + 6].map { [UInt8($0)] }
      bench.push(
        packetizer.packet(units, skipped: [0, 2, 2]), at: Int64(first) * 1024, lost: lost)
    }
    for first in [0, 1, 2, 9, 10, 11] { send(first) }
    #expect(bench.ticks == (0..<18).map { Int64($0) * 1024 })
    #expect(
      bench.hex
        == bench.units.indices.map { "0" + String($0, radix: 16) }.map { String($0.suffix(2)) })
    #expect(bench.statistics.missingSamples == 0 && bench.statistics.silentSamples == 0)
    // A packet is lost: its three units are missing, and nothing else.
    send(18)
    send(20, lost: 1)
    for first in [27, 28, 29] { send(first) }
    bench.flush()
    let places = bench.ticks.dropFirst(18).map { $0 / 1024 }
    #expect(places == (18..<36).filter { ![19, 22, 25].contains($0) })
    #expect(bench.units.reduce(0) { $0 + $1.lostBefore } == 1)
  }

  @Test("Sets its clock back: nothing is taken for late for long", arguments: [true, false])
  func clockSetBack(_ isInterleaved: Bool) throws {
    var bench = try bench()
    let packetizer = AccessUnitPacketizer()
    let begin: Int64 = 10_000_000
    // One packet is marked as interleaved.
    bench.push(packetizer.packet([[1], [2]], skipped: [0, 2]), at: begin)
    for number in 2..<50 { bench.push(packetizer.packet([[3]]), at: begin + Int64(number) * 1024) }
    for number in 0..<100 {
      let units: [[UInt8]] = isInterleaved ? [[4], [5]] : [[4]]
      bench.push(
        packetizer.packet(units, skipped: isInterleaved ? [0, 0] : [0]),
        at: 1000 + Int64(number * units.count) * 1024)
    }
    bench.flush()
    #expect(bench.statistics.lateUnits == 1)
    #expect(bench.units.count == 49 + (isInterleaved ? 200 : 100))
  }

  @Test("Sends the times backwards, interleaved: what waits is bounded")
  func endlessInterleaving() throws {
    var bench = try bench()
    let packetizer = AccessUnitPacketizer()
    for number in 0..<400 {
      bench.push(packetizer.packet([[1], [2]], skipped: [0, 7]), at: Int64(number) * -8192)
    }
    #expect(bench.statistics.lateUnits > 0)
    bench.flush()
    let waited = bench.statistics.units + bench.statistics.lateUnits
    #expect(waited == 800)
  }

  @Test("Sends ADTS frames in place of units, bare or inside them", arguments: [true, false])
  func audioDataTransportStream(_ isInside: Bool) throws {
    var bench = try bench(["config": nil], clock: 16_000, channels: 1)
    let config = try #require(AudioSpecificConfig(sampleRate: 16_000, channels: 1))
    for number in 0..<3 {
      let unit = [UInt8](repeating: UInt8(number), count: 20)
      let header = try #require(ADTSHeader(of: config, byteCount: unit.count))
      let frame = header.bytes + unit
      bench.push(
        isInside ? AccessUnitPacketizer().packet([frame]) : frame, at: Int64(number) * 1024)
    }
    #expect(bench.units.map(\.bytes.readableBytes) == [20, 20, 20])
    #expect(bench.defragmenter.format == config.format)
    #expect(bench.statistics.unpacked == 3)
  }

  @Test("Spreads ADTS frames over packets, several in one")
  func framesAcrossPackets() throws {
    var bench = try SoundBench("AAC", clock: 8_000)
    let config = try #require(AudioSpecificConfig(sampleRate: 44_100, channels: 2))
    let frame = try #require(ADTSHeader(of: config, byteCount: 10)).bytes + [UInt8](1...10)
    bench.push(frame + frame, at: 0)
    bench.push(frame + frame.prefix(9), at: 371)
    bench.push(Array(frame.dropFirst(9)), at: 371)
    #expect(bench.hex == Array(repeating: "0102030405060708090a", count: 4))
    // The header knows better than the description.
    #expect(bench.defragmenter.format?.sampleRate == 44_100)
    #expect(bench.statistics.unpacked == 3)
  }

  @Test(
    "Cuts ADTS frames wherever a packet is full: each has its own time",
    arguments: [
      // The timestamp is that of the first frame that begins in the packet, or of the rest before.
      (cuts: [27, 41], times: [0, 2048, 3072]), (cuts: [27, 41], times: [0, 1024, 2048]),
      // A frame in three packets, of one time or of three.
      (cuts: [20, 25], times: [0, 1024, 1024]), (cuts: [20, 25], times: [0, 1024, 2048]),
    ])
  func framesCutAnywhere(_ sent: (cuts: [Int], times: [Int64])) throws {
    var bench = try bench(["config": nil], clock: 16_000, channels: 1)
    let config = try #require(AudioSpecificConfig(sampleRate: 16_000, channels: 1))
    let frame = try #require(ADTSHeader(of: config, byteCount: 10)).bytes + [UInt8](1...10)
    let frames = Array([frame, frame, frame, frame].joined())
    let ends = sent.cuts + [frames.count]
    for (number, time) in sent.times.enumerated() {
      bench.push(Array(frames[(number == 0 ? 0 : ends[number - 1])..<ends[number]]), at: time)
    }
    #expect(bench.ticks == [0, 1024, 2048, 3072])
    #expect(bench.statistics.silentSamples == 0 && bench.statistics.unpacked == 3)
  }

  @Test("Leaves an ADTS frame unfinished: the next one is whole")
  func unfinishedFrame() throws {
    var bench = try bench(["config": nil], clock: 16_000, channels: 1)
    let config = try #require(AudioSpecificConfig(sampleRate: 16_000, channels: 1))
    let frame = try #require(ADTSHeader(of: config, byteCount: 10)).bytes + [UInt8](1...10)
    bench.push(frame + frame.prefix(9), at: 0)
    bench.push(frame, at: 2048)
    #expect(bench.ticks == [0, 2048])
    #expect(bench.statistics.cutUnits == 1)
  }

  @Test("Describes no configuration: the clock and the channels tell one")
  func withoutConfiguration() throws {
    for config in [nil, "", "ff", "1690"] as [String?] {
      let bench = try bench(["config": config], clock: 16_000, channels: nil)
      #expect(bench.defragmenter.format?.configuration == bytes("1408"), "\(config ?? "none")")
    }
    var bench = try SoundBench("MPEG4-GENERIC", clock: 16_000)
    bench.push(AccessUnitPacketizer().packet([[1], [2]]), at: 0)
    #expect(bench.ticks == [0, 1024])
  }

  @Test("Describes something other than AAC")
  func otherCodings() {
    let parameters = [
      ["mode": "CELP-cbr", "constantsize": "27"], ["streamtype": "4"], ["config": "4590"],
      ["mode": "generic", "sizelength": "33"],
    ]
    for parameters in parameters {
      let media = MediaDescription(
        kind: .audio, payloadType: 96, encodingName: "mpeg4-generic", clockRate: 8000,
        formatParameters: parameters)
      #expect(SoundDefragmenter(media: media) == nil, "\(parameters)")
    }
  }

  @Test(
    "Sends lengths that do not fit",
    arguments: [
      "00", "0000", "0010", "ffff 0018 211b8f", "0010 0018 211b8fff", "0020 0008 0018 2122",
      "0011 0018 80 211b8f", "0001 00",
    ])
  func malformed(_ hex: String) throws {
    var bench = try bench()
    bench.push(bytes(hex), at: 0)
    bench.push(AccessUnitPacketizer().packet([[7]]), at: 1024)
    #expect(bench.hex.last == "07")
    #expect(bench.statistics.malformedPayloads == 1 && bench.statistics.isBalanced)
  }

  @Test("Forged units of a far time do not silence those that come")
  func forgedTimes() throws {
    var bench = try bench(["ctsdeltalength": "32"])
    var packetizer = AccessUnitPacketizer()
    packetizer.compositionLength = 32
    bench.push(packetizer.packet([[1]]), at: 0)
    let far = (0..<400).map { 2_000_000_000 + $0 * 1024 }
    bench.push(
      packetizer.packet(
        Array(repeating: [6], count: 400), skipped: Array(repeating: 1, count: 400), offsets: far),
      at: 1024)
    for number in 2..<20 { bench.push(packetizer.packet([[2]]), at: Int64(number) * 1024) }
    #expect(bench.hex.count { $0 == "02" } == 18)
  }
}
