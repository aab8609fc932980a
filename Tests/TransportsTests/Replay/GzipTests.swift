import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// What gzip has compressed, read in pieces.
struct GzipTests {
  /// `bytes` as the program gzip compresses them.
  static func gzip(_ bytes: ByteBuffer) throws -> ByteBuffer {
    let plain = try ReplayTransportTests.File(bytes)
    return ByteBuffer(bytes: try RunningProcess.output(of: "gzip", ["-c", plain.path]))
  }

  /// Numbers that compress a little.
  private static func content(_ count: Int, seed: UInt64) -> ByteBuffer {
    var random = SeededGenerator(seed: seed)
    return ByteBuffer(bytes: (0..<count).map { _ in UInt8.random(in: 0...40, using: &random) })
  }

  private func expanded(
    _ compressed: ByteBuffer, cut: Int, atMost count: Int
  ) throws -> (bytes: ByteBuffer, reader: GzipReader) {
    let reader = GzipReader()
    var output = ByteBuffer()
    for piece in compressed.shifted.cut(into: cut) {
      reader.append(piece)
      while try reader.read(atMost: count, into: &output) > 0 {}
    }
    return (output, reader)
  }

  @Test(arguments: [1, 7, 1000, 1 << 20], [1, 13, 1 << 16])
  func whatWasCompressedComesBackHoweverItIsCut(cut: Int, count: Int) throws {
    let content = Self.content(20_000, seed: 1)
    let (bytes, reader) = try expanded(Self.gzip(content), cut: cut, atMost: count)
    #expect(bytes == content)
    #expect(!reader.isInsideMember)
  }

  @Test func severalMembersAreOneFileAndWhatStandsBehindThemIsNobodys() throws {
    let parts = [Self.content(5000, seed: 2), Self.content(7000, seed: 3)]
    var file = ByteBuffer()
    for part in parts { file.writeImmutableBuffer(try Self.gzip(part)) }
    file.writeRepeatingByte(0, count: 512)
    let (bytes, reader) = try expanded(file, cut: 100, atMost: 1000)
    var whole = parts[0]
    whole.writeImmutableBuffer(parts[1])
    #expect(bytes == whole)
    #expect(!reader.isInsideMember)
  }

  @Test func aFileThatWasCutComesUpToThere() throws {
    let content = Self.content(20_000, seed: 4)
    var file = try Self.gzip(content)
    file.moveWriterIndex(to: file.writerIndex / 2)
    let (bytes, reader) = try expanded(file, cut: 64, atMost: 1000)
    #expect(content.readableBytesView.starts(with: bytes.readableBytesView))
    #expect(bytes.readableBytes > 5000)
    #expect(reader.isInsideMember)
  }

  @Test func damageIsToldByItsPlace() throws {
    var file = try Self.gzip(Self.content(20_000, seed: 5))
    let middle = file.readableBytes / 2
    file.setRepeatingByte(0xFF, count: 200, at: middle)
    let error = #expect(throws: DamagedRecording.self) {
      try expanded(file, cut: 100, atMost: 1000)
    }
    #expect(error?.reason == .compression)
    #expect((error?.offset ?? 0) + 20_000 >= UInt64(middle))
  }

  /// A few kilobytes that become gigabytes are no capture.
  @Test func aBombIsLeftAlone() throws {
    let zeros = try Self.gzip(ByteBuffer(repeating: 0, count: 80 << 20))
    #expect(zeros.readableBytes < 200_000)
    let reader = GzipReader()
    var total = 0
    let error = #expect(throws: DamagedRecording.self) {
      for piece in zeros.cut(into: 64 << 10) {
        reader.append(piece)
        var output = ByteBuffer()
        while case let count = try reader.read(atMost: 256 << 10, into: &output), count > 0 {
          total += count
          output.clear()
        }
      }
    }
    #expect(error?.reason == .expansion(GzipReader.maximumRatio))
    #expect(total <= Int(GzipReader.freeLength) + (1 << 20))
  }

  private func expanded(
    rubbishBehind header: [UInt8], seed: UInt64
  ) throws -> (bytes: ByteBuffer, reader: GzipReader) {
    var random = SeededGenerator(seed: seed)
    var file = ByteBuffer(bytes: header)
    file.writeBytes((0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) })
    return try expanded(file, cut: Int.random(in: 1...500, using: &random), atMost: 4096)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func rubbishBehindTheHeaderEndsInAnError(seed: UInt64) throws {
    // No flags, no time, no name.
    let header = GzipReader.signature + [UInt8](repeating: 0, count: 7)
    let error = #expect(throws: DamagedRecording.self) {
      try expanded(rubbishBehind: header, seed: seed)
    }
    #expect(error?.reason == .compression)
  }

  /// The flags may promise a name or more, which takes the rubbish up to its end.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func rubbishBehindTheSignatureIsDamagedOrUnfinished(seed: UInt64) throws {
    do {
      let (bytes, reader) = try expanded(rubbishBehind: GzipReader.signature, seed: seed)
      #expect(reader.isInsideMember && bytes.readableBytes == 0)
    } catch let error as DamagedRecording {
      #expect(error.reason == .compression && error.offset <= 2003)
    }
  }

  @Test func aCompressedCaptureIsPlayedLikeTheOther() async throws {
    let capture = RecordingBytes.pcapng(ReplayTransportTests.mixed)
    let compressed = try Self.gzip(capture)
    let plain = try await ReplayTransportTests().play(capture).sink.datagrams.elements
    let datagrams = try await ReplayTransportTests().play(compressed).sink.datagrams.elements
    #expect(datagrams.map(\.bytes) == plain.map(\.bytes))
    #expect(datagrams.map(\.arrival) == plain.map(\.arrival))
    #expect(plain.count == 240)
  }

  @Test func aCompressedCaptureThatWasCutIsPlayedUpToThere() async throws {
    var compressed = try Self.gzip(RecordingBytes.pcap(ReplayTransportTests.mixed))
    compressed.moveWriterIndex(to: compressed.writerIndex - 20)
    let (sink, counters) = try await ReplayTransportTests().play(compressed)
    #expect(sink.datagrams.elements.count > 100)
    #expect(counters.diagnostics.contains { $0.words.contains("in the middle of a packet") })
  }
}
