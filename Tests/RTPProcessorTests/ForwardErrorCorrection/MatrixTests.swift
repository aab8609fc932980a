import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPProcessor

/// Rows and columns on separate ports (SMPTE ST 2022-1).
struct MatrixTests {
  /// By hand: P, CC of 1 and M in the RTP header, which is no longer for it; a column of 3 of 5.
  static let column: [UInt8] = [
    0xA1, 0xE0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0,  // The RTP header, whose type is 96
    0xFF, 0xFE, 0x01, 0x02, 0x80 | 0x23, 0, 0, 0, 1, 2, 3, 4, 0x00, 5, 3, 0, 0xEE, 0xDD,
  ]

  @Test func fieldsOfAColumn() throws {
    let payload = try ST2022Payload(parsing: ByteBuffer(bytes: Self.column))
    #expect(payload.base.rawValue == 0xFFFE)
    #expect(payload.offsets == [0, 5, 10])
    #expect(
      payload.header == ParityHeader(flags: 0x21A3, timestamp: 0x0102_0304, length: 0x0102))
    #expect(payload.parity == ByteBuffer(bytes: [0xEE, 0xDD]))
  }

  @Test(
    "what cannot be used is refused",
    arguments: [
      (0, 0x40, .otherVersion(1)), (16, 0x23, .withoutMatrix), (24, 0x80, .extensionFlag),
      (24, 0x08, .otherCode(1)), (24, 0x38, .otherCode(7)), (25, 0, .emptyMask(level: 0)),
      (26, 0, .emptyMask(level: 0)), (25, 255, nil), (26, 104, .matrixTooLarge(515)),
      (26, 255, .matrixTooLarge(1270)), (26, 103, nil), (24, 0x47, nil),
    ] as [(Int, UInt8, ForwardErrorCorrectionError?)])
  func refused(place: Int, byte: UInt8, error: ForwardErrorCorrectionError?) throws {
    var bytes = Self.column
    bytes[place] = byte
    func parse() throws { _ = try ST2022Payload(parsing: ByteBuffer(bytes: bytes)) }
    if let error { #expect(throws: error, performing: parse) } else { try parse() }
  }

  @Test(arguments: 0..<28) func truncated(length: Int) {
    let error = ForwardErrorCorrectionError.truncatedHeader(needed: 28, available: length)
    #expect(throws: error) {
      try ST2022Payload(parsing: ByteBuffer(bytes: Self.column.prefix(length)))
    }
  }

  @Test("bursts as long as a row, anywhere, are mended by columns alone", arguments: 1...7)
  func bursts(length: Int) {
    let stream = MatrixStream(columns: 7, rows: 4, matrices: 2, seed: 5, sendsRows: false)
    let media = stream.sent.indices.filter { stream.sent[$0].channel == .media }
    for first in stride(from: 10, to: media.count - length, by: 7) {
      let session = stream.played(without: Set(media[first..<first + length]))
      #expect(session.deliveries.map(\.packet.packet.bytes) == stream.media)
      #expect(session.statistics.recovered == UInt64(length))
      #expect(session.statistics.lost == 0)
    }
  }

  @Test("rows alone mend one loss in each") func rows() {
    let stream = MatrixStream(columns: 6, rows: 8, matrices: 5, seed: 6, sendsColumns: false)
    var noise = SeededGenerator(seed: 1)
    let media = stream.sent.indices.filter { stream.sent[$0].channel == .media }
    let lost = (0..<40).map { media[10 + $0 * 6 + noise.integer(below: 6)] }
    let session = stream.played(without: Set(lost))
    #expect(session.deliveries.map(\.packet.packet.bytes) == stream.media)
    #expect(session.statistics.recovered == 40)
  }

  /// Whatever can be repaired is, and the output equals what was sent.
  @Test(
    arguments: [(10, 10, 0.01), (10, 10, 0.03), (20, 5, 0.03), (5, 5, 0.1)], UInt64(1)...3)
  func randomLoss(network: (columns: Int, rows: Int, loss: Double), seed: UInt64) {
    let stream = MatrixStream(
      columns: network.columns, rows: network.rows, matrices: 8, seed: seed)
    var noise = SeededGenerator(seed: seed)
    let lost = Set(
      stream.sent.indices.dropFirst(10).dropLast(30).filter { _ in
        noise.integer(below: 1000) < Int(network.loss * 1000)
      })
    let known = stream.known(without: lost)
    let session = stream.played(without: lost)
    #expect(
      session.deliveries.map(\.packet.packet.bytes) == known.sorted().map { stream.media[$0] })
    let missing = lost.count { stream.sent[$0].channel == .media }
    let statistics = session.statistics
    #expect(Int(statistics.recovered) == missing - (stream.media.count - known.count))
    #expect(missing > 0 && statistics.recovered > 0)
    #expect(
      Int(statistics.correction) == stream.sent.count { $0.channel == .correction }
        - lost.count { stream.sent[$0].channel == .correction })
    #expect(statistics.errorCorrection.packets == statistics.correction)
    #expect(statistics.errorCorrection.malformed + statistics.errorCorrection.implausible == 0)
    if network.loss == 0.01 { #expect(known.count == stream.media.count) }
  }

  @Test("correction packets for what is far ahead are refused, and cost nothing from then on")
  func farAhead() {
    var stream = MatrixStream(columns: 10, rows: 10, matrices: 4, seed: 11)
    let known = stream.played().statistics.errorCorrection
    stream.corrupt { bytes in
      let base: UInt16 = bytes.getInteger(at: bytes.readerIndex + 12) ?? 0
      bytes.setInteger(base &+ 0x7000, at: bytes.readerIndex + 12)
    }
    let session = stream.played()
    #expect(session.deliveries.map(\.packet.packet.bytes) == stream.media)
    #expect(session.statistics.errorCorrection.packets == known.packets)
    #expect(session.statistics.errorCorrection.implausible == known.packets)
  }

  @Test("the largest matrix is remembered to its end; later packets of it are late")
  func largest() {
    let stream = MatrixStream(columns: 20, rows: 20, matrices: 2, seed: 7, sendsRows: false)
    // The first packet of the first matrix, whose column comes after all of it.
    let fast = stream.played(without: [10], every: .microseconds(400))
    #expect(fast.deliveries.map(\.packet.packet.bytes) == stream.media)
    let slow = stream.played(without: [10], every: .milliseconds(1))
    #expect(slow.deliveries.count == stream.media.count - 1)
    #expect(slow.statistics.recovered == 1)
    #expect(slow.statistics.repaired == 0)
    #expect(slow.statistics.late == 1)
    #expect(slow.statistics.lost == 1)
  }

  /// Longer than the reorder window, once it is known how far columns reach.
  @Test(arguments: [(10, 10, 3), (20, 20, 1), (10, 10, 1)])
  func aColumnIsWaitedFor(columns: Int, rows: Int, milliseconds: Int) {
    let stream = MatrixStream(columns: columns, rows: rows, matrices: 3, seed: 8, sendsRows: false)
    let media = stream.sent.indices.filter { stream.sent[$0].channel == .media }
    let first = 10 + columns * rows
    let session = stream.played(
      without: Set(media[first..<first + columns]), every: .milliseconds(milliseconds))
    #expect(session.deliveries.map(\.packet.packet.bytes) == stream.media)
    #expect(session.statistics.repaired == UInt64(columns))
    #expect(session.statistics.lost == 0)
  }

  /// A gap that no column can fill any more waits no longer.
  @Test func whatCannotBeMendedIsGivenUpWithTheNextMatrix() {
    let stream = MatrixStream(columns: 5, rows: 5, matrices: 20, seed: 8, sendsRows: false)
    let media = stream.sent.indices.filter { stream.sent[$0].channel == .media }
    // Two packets of one column.
    let lost = Set([media[10 + 25 * 4], media[10 + 25 * 4 + 5]])
    let session = stream.played(without: lost, every: .milliseconds(8))
    #expect(session.statistics.lost == 2)
    let waits = session.deliveries.map { $0.packet.arrival.nanoseconds(to: $0.time) }
    #expect((waits.max() ?? 0) < 500_000_000)
  }

  @Test("every length and bit of a correction packet, and noise, spoil nothing else")
  func hostile() {
    var noise = SeededGenerator(seed: 9)
    let stream = MatrixStream(columns: 4, rows: 3, matrices: 3, seed: 9)
    var session = VirtualSession(
      configuration: {
        var configuration = RTPProcessor.Configuration()
        configuration.payloadType = CorrectedStream.mediaType
        configuration.hasMatrixCorrection = true
        return configuration
      }(), isEntryPoint: { _ in true })
    // The parity of wrong packets may by chance look right.
    session.allowsRepetition = true
    var count: UInt64 = 0
    for (index, datagram) in stream.sent.enumerated() {
      if datagram.channel == .media {
        // A gap for each to fill wrongly.
        if index != 14, index != 23 { session.receive(datagram.bytes) }
        continue
      }
      var variants = (0...datagram.bytes.readableBytes).compactMap {
        datagram.bytes.getSlice(at: datagram.bytes.readerIndex, length: $0)
      }
      for bit in 0..<8 * 28 {
        var bytes = datagram.bytes
        let place = bytes.readerIndex + bit / 8
        bytes.setInteger((bytes.getInteger(at: place) ?? 0) ^ UInt8(1 << (bit % 8)), at: place)
        variants.append(bytes)
      }
      for _ in 0..<200 {
        var bytes = datagram.bytes
        for place in 12..<28 where noise.integer(below: 3) == 0 {
          bytes.setInteger(
            UInt8(truncatingIfNeeded: noise.next()), at: bytes.readerIndex + place)
        }
        variants.append(bytes)
      }
      for bytes in variants { session.receive(bytes, on: .correction) }
      count += UInt64(variants.count)
    }
    session.run(for: .seconds(1))
    session.finish()
    #expect(session.statistics.correction == count)
    #expect(session.statistics.errorCorrection.malformed > 0)
    #expect(session.deliveries.count >= stream.media.count - 2)
    #expect(session.statistics.held == 0)
  }
}
