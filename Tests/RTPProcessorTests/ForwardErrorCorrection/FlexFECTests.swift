import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPProcessor

/// Correction packets in a separate source (RFC 8627), and those of the draft that browsers use.
struct FlexFECTests {
  static let formats: [CorrectionFormat] = [.flexfec, .flexfecDraft]

  static func packet(_ payload: [UInt8], sources: [UInt32] = []) throws -> RTPPacket {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      0x80 | UInt8(sources.count), UInt8(97), UInt16(1), UInt32(0), UInt32(0xB))
    for source in sources { bytes.writeInteger(source) }
    bytes.writeBytes(payload)
    return try RTPPacket(parsing: bytes)
  }

  /// By hand: the three lengths of masks, with the k bits of the RFC and those of the draft.
  @Test(
    arguments: [
      ([0x60, 0x01], [0x60 | 0x80, 0x01], [0, 1, 14]),
      (
        [0xC0, 0x00, 0x40, 0, 0, 0x01], [0x40, 0x00, 0xC0, 0, 0, 0x01],
        [0, 15, 45]
      ),
      (
        [0xC0, 0x00, 0x80, 0, 0, 0x01, 0x80, 0, 0, 0, 0, 0, 0, 0x02],
        [0x40, 0x00, 0x00, 0, 0, 0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0x01],
        [0, 45, 46, 108]
      ),
    ] as [([UInt8], [UInt8], [Int])])
  func masks(final: [UInt8], draft: [UInt8], offsets: [Int]) throws {
    let start: [UInt8] = [0x2A, 0x81, 0x01, 0x02, 1, 2, 3, 4]
    let own: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0xA]
    for isDraft in [false, true] {
      let bytes = start + (isDraft ? own : []) + [9, 8] + (isDraft ? draft : final) + [0xEE]
      let packet = try Self.packet(bytes, sources: isDraft ? [] : [0xA])
      let payload = try FlexFECPayload(parsing: packet, isDraft: isDraft, source: 0xA)
      #expect(payload.offsets == offsets)
      #expect(payload.base.rawValue == 0x0908)
      #expect(
        payload.header == ParityHeader(flags: 0x2A81, timestamp: 0x0102_0304, length: 0x0102))
      #expect(payload.parity == ByteBuffer(bytes: [0xEE]))
    }
  }

  @Test(
    arguments: [(5, 0, [0, 1, 2, 3, 4]), (5, 1, [0, 1, 2, 3, 4]), (5, 3, [0, 5, 10])]
      as [(UInt8, UInt8, [Int])])
  func matrices(columns: UInt8, rows: UInt8, offsets: [Int]) throws {
    let packet = try Self.packet([0x40, 96, 0, 9, 0, 0, 0, 0, 0, 7, columns, rows, 1])
    let payload = try FlexFECPayload(parsing: packet, isDraft: false, source: 0xA)
    #expect(payload.offsets == offsets)
  }

  @Test(
    "what cannot be used is refused",
    arguments: [
      ([0x80, 96, 0, 9, 0, 0, 0, 0, 0, 7, 0x40, 0], [0xA], .retransmission),
      ([0x00, 96, 0, 9, 0, 0, 0, 0, 0, 7, 0x40, 0], [0xC], .otherSources),
      ([0x00, 96, 0, 9, 0, 0, 0, 0, 0, 7, 0x40, 0], [0xA, 0xC], .otherSources),
      ([0x00, 96, 0, 9, 0, 0, 0, 0, 0, 7, 0x00, 0], [0xA], .emptyMask(level: 0)),
      ([0x40, 96, 0, 9, 0, 0, 0, 0, 0, 7, 0, 9], [0xA], .emptyMask(level: 0)),
      ([0x00, 96, 0, 9, 0, 0, 0, 0, 0, 7, 0xC0, 0, 1], [0xA], .truncatedMask),
      ([0x00, 96, 0, 9], [0xA], .truncatedHeader(needed: 12, available: 4)),
    ] as [([UInt8], [UInt32], ForwardErrorCorrectionError)])
  func refused(payload: [UInt8], sources: [UInt32], error: ForwardErrorCorrectionError) throws {
    let packet = try Self.packet(payload, sources: sources)
    #expect(throws: error) {
      try FlexFECPayload(parsing: packet, isDraft: false, source: 0xA)
    }
  }

  /// Masks of any reach, with one packet lost in each set; correction packets leave no gaps.
  @Test(arguments: formats, UInt64(1)...15)
  func oneLossInEachSet(format: CorrectionFormat, seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var stream = CorrectedStream(seed: seed)
    var lost: Set<Int> = []
    for group in 0..<15 {
      let first = stream.packets.count
      let media = stream.sendMedia(2 + noise.integer(below: 105), timestamp: UInt32(group) * 3000)
      let ways = 1 + noise.integer(below: 4)
      let members = Dictionary(grouping: media.indices) { _ in noise.integer(below: ways) }
      for way in members.keys.sorted() {
        let indices = members[way, default: []]
        stream.sendFlexFEC(indices.map { media[$0] }, isDraft: format == .flexfecDraft)
        lost.insert(first + indices[noise.integer(below: indices.count)])
      }
    }
    lost.remove(0)
    let packets = stream.packets.indices.filter { !lost.contains($0) }.map { stream.packets[$0] }
    let session = played(packets, format: format)
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.reportedLosses.isEmpty)
    #expect(session.statistics.recovered == UInt64(lost.count))
    #expect(session.statistics.sourceChanges == 0)
    #expect(
      session.statistics.correction
        == UInt64(stream.packets.count { !CorrectedStream.isMedia($0) }))
  }

  /// Rows and columns of 6 × 5: three losses in a corner need both, one after the other.
  @Test(arguments: formats)
  func rowsAndColumns(format: CorrectionFormat) {
    let isDraft = format == .flexfecDraft
    var stream = CorrectedStream(seed: 3)
    _ = stream.sendMedia(4, timestamp: 0)
    let media = stream.sendMedia(30, timestamp: 3000)
    for row in 0..<5 {
      stream.sendFlexFEC(
        Array(media[row * 6..<row * 6 + 6]), isDraft: isDraft, matrix: (columns: 6, rows: 1))
    }
    for column in 0..<6 {
      stream.sendFlexFEC(
        stride(from: column, to: 30, by: 6).map { media[$0] }, isDraft: isDraft,
        matrix: (columns: 6, rows: 5))
    }
    let lost = [7, 8, 13].map { media[$0] }
    let session = played(stream.packets.filter { !lost.contains($0) }, format: format)
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.statistics.recovered == 3)

    // Four that share rows and columns are beyond it, and nothing wrong is made of them.
    let square = [7, 8, 13, 14].map { media[$0] }
    let other = played(stream.packets.filter { !square.contains($0) }, format: format)
    #expect(other.statistics.recovered == 0)
    #expect(other.statistics.lost == 4)
  }

  /// Longer than the longest mask reaches.
  @Test func columnsOfALargeMatrix() {
    var stream = CorrectedStream(seed: 5)
    _ = stream.sendMedia(4, timestamp: 0)
    let media = stream.sendMedia(400, timestamp: 3000)
    for column in 0..<20 {
      stream.sendFlexFEC(
        stride(from: column, to: 400, by: 20).map { media[$0] }, isDraft: false,
        matrix: (columns: 20, rows: 20))
    }
    let lost = Array(media[100..<120])
    let session = played(stream.packets.filter { !lost.contains($0) }, format: .flexfec)
    #expect(session.statistics.errorCorrection.rebuilt == 20)
  }

  @Test("noise that would rebuild one packet again and again")
  func boundedFailures() {
    var stream = CorrectedStream(seed: 21)
    let media = stream.sendMedia(12, timestamp: 0)
    stream.sendFlexFEC(media, isDraft: true)
    var noise = stream.packets[12]
    // Another payload type is rebuilt than that of the media.
    let place = noise.readerIndex + 13
    noise.setInteger((noise.getInteger(at: place) ?? UInt8(0)) ^ 1, at: place)
    let without = Array(media[..<5] + media[7...])
    let copies = [ByteBuffer](repeating: noise, count: 100)
    let before = played(without + copies, format: .flexfecDraft, allowsRepetition: true)
    #expect(before.statistics.errorCorrection.implausible == 0)
    let session = played(
      without + copies + [media[6]], format: .flexfecDraft, allowsRepetition: true)
    #expect((1...4).contains(session.statistics.errorCorrection.implausible))
    #expect(session.statistics.recovered == 0)
  }

  @Test("every length and every bit of the header, and noise", arguments: formats)
  func hostile(format: CorrectionFormat) {
    var noise = SeededGenerator(seed: 21)
    var stream = CorrectedStream(seed: 21)
    let media = stream.sendMedia(12, timestamp: 0)
    stream.sendFlexFEC(media, isDraft: format == .flexfecDraft)
    let correction = stream.packets[12]
    var variants = (12...correction.readableBytes).map { length in
      correction.getSlice(at: correction.readerIndex, length: length) ?? ByteBuffer()
    }
    for bit in 0..<8 * 24 {
      var packet = correction
      let place = packet.readerIndex + 12 + bit / 8
      let byte: UInt8 = packet.getInteger(at: place) ?? 0
      packet.setInteger(byte ^ (1 << UInt8(bit % 8)), at: place)
      variants.append(packet)
    }
    for _ in 0..<2000 {
      var packet = correction
      for place in 12..<40 where noise.integer(below: 3) == 0 {
        packet.setInteger(
          UInt8(truncatingIfNeeded: noise.next()), at: packet.readerIndex + place)
      }
      variants.append(packet)
    }
    var packets = Array(media[..<5] + media[6...])
    packets += variants
    // The parity of wrong packets may by chance look right.
    let session = played(packets, format: format, allowsRepetition: true)
    #expect(session.deliveries.count >= 11)
    let statistics = session.statistics
    #expect(statistics.correction + statistics.malformed == UInt64(variants.count))
    #expect(session.statistics.held == 0)
  }
}
