import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// The formats of recordings, whatever the reads that bring them.
struct RecordingReaderTests {
  struct Format: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: ByteBuffer
    var times: [Int64?]
    var frames: [ByteBuffer]
  }

  static let frames = [rtp(1, payload: 5), rtp(2, payload: 0), rtp(3, payload: 41)]
  private static let milliseconds = (0..<3).map { 1_000_000_000_000 + Int64($0) * 1_000_000 }

  static let formats: [Format] =
    [Endianness.little, .big].flatMap { order -> [Format] in
      let name = order == .little ? "little-endian" : "big-endian"
      return [
        Format(
          testDescription: "pcap, \(name)", bytes: RecordingBytes.pcap(frames, order: order),
          times: milliseconds, frames: frames),
        Format(
          testDescription: "pcap with nanoseconds, \(name)",
          bytes: RecordingBytes.pcap(frames, order: order, isNano: true), times: milliseconds,
          frames: frames),
        Format(
          testDescription: "pcapng, \(name)", bytes: RecordingBytes.pcapng(frames, order),
          times: milliseconds, frames: frames),
        Format(
          testDescription: "pcapng of every kind of block, \(name)", bytes: everyBlock(order),
          times: everyTime, frames: everyFrame),
      ]
    } + [
      Format(
        testDescription: "rtpdump",
        bytes: RecordingBytes.rtpdump([
          (frames[0], false), (senderReport(), true), (frames[2], false),
        ]), times: (0..<3).map { 1_000_000_000_000 + $0 * 10_000_000 },
        frames: [frames[0], senderReport(), frames[2]]),
      Format(
        testDescription: "rtp4", bytes: RecordingBytes.framed(frames, .rtp4), times: [0, 0, 0],
        frames: frames),
    ]

  /// Two sections, the first with interfaces of several resolutions.
  private static func everyBlock(_ order: Endianness) -> ByteBuffer {
    var file = RecordingBytes.section(order)
    let offset = ByteBuffer(integer: Int64(100), endianness: order)
    let blocks = [
      RecordingBytes.interface(snap: 65_535, options: [(9, [3])], order),
      RecordingBytes.interface(
        link: 101, options: [(2, Array("eth0".utf8)), (9, [0x8A]), (0, [])], order),
      // An unknown block, and one too long to be looked into.
      RecordingBytes.block(0xBAD, ByteBuffer(repeating: 1, count: 9), order),
      RecordingBytes.block(0x0BAD_0BAD, ByteBuffer(repeating: 1, count: 1 << 20), order),
      RecordingBytes.interface(
        options: [(9, [12]), (14, Array(offset.readableBytesView))], order),
      RecordingBytes.packet(frames[0], ticks: 5, order),
      RecordingBytes.packet(frames[1], ticks: 1536, interface: 1, order),
      RecordingBytes.packet(frames[2], ticks: 7_000_000, interface: 2, isObsolete: true, order),
      RecordingBytes.simplePacket(frames[0], order),
      // A packet of no interface.
      RecordingBytes.packet(frames[1], ticks: 0, interface: 3, order),
      RecordingBytes.section(order == .big ? .little : .big),
      RecordingBytes.interface(order == .big ? .little : .big),
      RecordingBytes.packet(frames[2], ticks: 1, order == .big ? .little : .big),
    ]
    for block in blocks { file.writeImmutableBuffer(block) }
    return file
  }

  private static let everyTime: [Int64?] = [
    5_000_000, 1_500_000_000, 100_000_007_000, nil, 1000,
  ]
  private static let everyFrame = [frames[0], frames[1], frames[2], frames[0], frames[2]]

  static func read(
    _ reads: [ByteBuffer], _ format: RecordingFormat
  ) throws -> (recordings: [Recording], reader: any RecordingReader) {
    var reader = format.makeReader()
    var recordings: [Recording] = []
    for read in reads {
      reader.append(read)
      while let recording = try reader.next() { recordings.append(recording) }
    }
    return (recordings, reader)
  }

  static func format(of bytes: ByteBuffer, name: String = "x") throws -> RecordingFormat {
    try #require(RecordingFormat(beginning: bytes, name: name))
  }

  @Test(arguments: formats)
  func aFileIsReadTheSameInAnyChunks(format: Format) throws {
    let kind = try Self.format(of: format.bytes)
    for length in [1, 2, 3, 7, 16, 61, 1000, .max] {
      // A large block byte by byte takes long and shows nothing new.
      if length < 1000, format.bytes.readableBytes > 100_000 { continue }
      let (recordings, reader) = try Self.read(format.bytes.shifted.cut(into: length), kind)
      #expect(recordings.map(\.time) == format.times)
      #expect(recordings.compactMap(\.bytes) == format.frames)
      #expect(recordings.allSatisfy { $0.missing == 0 })
      #expect(reader.unfinished == 0)
    }
  }

  @Test(arguments: formats)
  func aFileThatEndsAnywhereGivesWhatIsWhole(format: Format) throws {
    let kind = try Self.format(of: format.bytes)
    let whole = try Self.read([format.bytes], kind).recordings
    let counts = Set(0..<min(600, format.bytes.readableBytes))
      .union(max(0, format.bytes.readableBytes - 600)..<format.bytes.readableBytes)
    for count in counts {
      let part = try #require(format.bytes.getSlice(at: 0, length: count))
      let (recordings, reader) = try Self.read([part], kind)
      #expect(recordings == Array(whole.prefix(recordings.count)))
      if recordings.count < whole.count, count > 0 { #expect(reader.unfinished >= 0) }
    }
  }

  @Test(arguments: formats)
  func aDamagedFileEndsInAnErrorOrNot(format: Format) throws {
    let kind = try Self.format(of: format.bytes)
    let limit = min(format.bytes.readableBytes, 2000)
    var random = SeededGenerator(seed: UInt64(format.bytes.readableBytes))
    for _ in 0..<1500 {
      var bytes = format.bytes
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let at = Int.random(in: 0..<limit, using: &random)
        bytes.setInteger(UInt8.random(in: 0...255, using: &random), at: at)
      }
      // The result is bounded by the input.
      var reader = kind.makeReader()
      var dissection = Dissection()
      reader.append(bytes)
      var count = 0
      do {
        while let recording = try reader.next() {
          count += 1
          dissection.receive(recording) { _ in }
        }
      } catch { #expect(!"\(error)".isEmpty) }
      #expect(count <= bytes.readableBytes)
    }
  }

  @Test func aPacketThatWasRecordedInPartIsMarked() throws {
    let file = RecordingBytes.pcap(Self.frames, snap: 14)
    let (recordings, _) = try Self.read([file], .pcap)
    #expect(recordings.map(\.missing) == [3, 0, 39])
    var dump = RecordingBytes.rtpdump([(Self.frames[0], false)])
    dump.setInteger(UInt16(100), at: dump.writerIndex - Self.frames[0].readableBytes - 6)
    #expect(try Self.read([dump], .rtpdump).recordings.map(\.missing) == [83])
  }

  @Test(arguments: [
    (RecordingFormat.pcap, [0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, 1] as [UInt8]),
    (.pcap, [0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1]),
  ])
  func aLengthThatCannotBeIsDamage(format: RecordingFormat, head: [UInt8]) throws {
    var file = RecordingBytes.pcap([Self.frames[0]], order: .big)
    let offset = file.readableBytes
    file.writeBytes(head)
    var reader = format.makeReader()
    reader.append(file)
    #expect(try reader.next() != nil)
    let error = #expect(throws: DamagedRecording.self) { try reader.next() }
    #expect(error?.offset == UInt64(offset))
  }

  @Test(arguments: [0, 8, 11, 13, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
  func aBlockThatCannotBeSoLongIsDamage(length: UInt32) throws {
    var file = RecordingBytes.pcapng([Self.frames[0]], .big)
    file.writeMultipleIntegers(UInt32(6), length, UInt64(0), UInt64(0))
    var reader = PcapngReader()
    reader.append(file)
    #expect(try reader.next() != nil)
    #expect(throws: DamagedRecording.self) { try reader.next() }
  }

  @Test(arguments: [
    ("MZ", nil), ("", nil), ("#!rtpplay1.0 1.2.3.4/5\n", RecordingFormat.rtpdump),
    ("v=0\r\n", nil), ("\u{0A}\u{0D}\u{0D}\u{0A}1234", nil),
  ])
  func whatAFileIsIsToldByItsBeginning(text: String, format: RecordingFormat?) {
    #expect(RecordingFormat(beginning: ByteBuffer(string: text), name: "x.pcap") == format)
    let named = RecordingFormat(beginning: ByteBuffer(string: text), name: "x.rtp4")
    #expect(named == (format ?? .rtp4))
  }

  /// Timestamps of 90 kHz over their wrap; RTCP and packets out of order come with the one before.
  @Test func whereNothingIsSaidOfTimesTheTimestampsTellThem() {
    var clock = TimestampClock()
    func packet(_ timestamp: UInt32) -> ByteBuffer {
      var bytes = rtp(1)
      bytes.setInteger(timestamp, at: 4)
      return bytes
    }
    let times = [
      packet(UInt32.max - 8999), packet(0), senderReport(), packet(UInt32.max - 4499),
      packet(9000), packet(0x8000_0000), packet(0x8000_0000 + 90_000),
    ].map { clock.time(of: $0) }
    #expect(
      times == [
        0, 100_000_000, 100_000_000, 100_000_000, 200_000_000, 200_000_000, 1_200_000_000,
      ])
  }

  /// A second of pictures, each with sound behind it; then sound alone.
  @Test(arguments: [(8, 8000), (97, 48_000), (0, 8000)] as [(UInt8, UInt32)])
  func soundBesidePicturesDoesNotHoldTheTimeUp(type: UInt8, rate: UInt32) {
    var clock = TimestampClock()
    func packet(_ type: UInt8, _ source: UInt32, _ timestamp: UInt32) -> Int64 {
      var bytes = rtp(1)
      bytes.setInteger(type, at: 1)
      bytes.setInteger(timestamp, at: 4)
      bytes.setInteger(source, at: 8)
      return clock.time(of: bytes)
    }
    var time: Int64 = 0
    for number in 0...UInt32(25) {
      time = packet(96, 1, number * 3600)
      #expect(packet(type, 2, number * rate / 25) == time)
    }
    #expect(time == 1_000_000_000)
    for number in 26...UInt32(225) { time = packet(type, 2, number * rate / 25) }
    #expect(time > 3_000_000_000)
    #expect(time <= 9_000_000_000)
  }
}

extension Recording {
  var bytes: ByteBuffer? {
    switch content {
    case .frame(let bytes, _), .packet(let bytes, _): bytes
    case .description: nil
    }
  }
}
