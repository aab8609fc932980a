import NIOCore
import RTPProcessor
import RTPWire

/// A sender of SMPTE ST 2022-1, written from the standard's header and slow, for tests alone.
struct MatrixStream {
  /// A datagram, and whether it goes to a port for correction.
  struct Datagram {
    var bytes: ByteBuffer
    var channel: RTPWire.Datagram.Channel = .media
    /// The places, among the media, of the packets that it protects.
    var protected: [Int] = []
  }

  let columns: Int
  let rows: Int
  private(set) var sent: [Datagram] = []
  private(set) var media: [ByteBuffer] = []
  private var stream: CorrectedStream
  private var sequence: UInt16 = 0xFFF0

  /// Sends `matrices` of them, after ten packets that nothing protects.
  init(
    columns: Int, rows: Int, matrices: Int, seed: UInt64, sendsRows: Bool = true,
    sendsColumns: Bool = true
  ) {
    self.columns = columns
    self.rows = rows
    stream = CorrectedStream(seed: seed)
    send(10, timestamp: 0)
    for matrix in 0..<matrices {
      let first = media.count
      for row in 0..<rows {
        let start = media.count
        send(columns - 1, timestamp: UInt32(matrix) * 3000)
        let last = stream.sendMedia(1, timestamp: UInt32(matrix) * 3000)
        media += last
        let line = Array(start..<media.count)
        // GStreamer sends a row's packet before the last packet of the row.
        if sendsRows, row.isMultiple(of: 2) { correct(line, isRow: true) }
        sent += last.map { Datagram(bytes: $0, protected: []) }
        if sendsRows, !row.isMultiple(of: 2) { correct(line, isRow: true) }
      }
      guard sendsColumns else { continue }
      for column in 0..<columns {
        correct((0..<rows).map { first + $0 * columns + column }, isRow: false)
      }
    }
  }

  private mutating func send(_ count: Int, timestamp: UInt32) {
    let packets = stream.sendMedia(count, timestamp: timestamp)
    media += packets
    sent += packets.map { Datagram(bytes: $0) }
  }

  private mutating func correct(_ places: [Int], isRow: Bool) {
    let bytes = Self.correction(
      of: places.map { media[$0] }, offset: isRow ? 1 : UInt8(columns), isRow: isRow,
      sequence: sequence)
    sent.append(Datagram(bytes: bytes, channel: .correction, protected: places))
    sequence &+= 1
  }

  /// The packet for one row or column, with a separate SSRC.
  static func correction(
    of packets: [ByteBuffer], offset: UInt8, isRow: Bool, sequence: UInt16 = 1
  ) -> ByteBuffer {
    func parity<Field: FixedWidthInteger>(_ offset: Int, as type: Field.Type) -> Field {
      packets.reduce(0) { $0 ^ ($1.getInteger(at: $1.readerIndex + offset) ?? 0) }
    }
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      0x80 | parity(0, as: UInt8.self) & 0x3F, parity(1, as: UInt8.self) & 0x80 | 96, sequence,
      UInt32(77), UInt32(0))
    bytes.writeMultipleIntegers(
      packets.first.map(CorrectedStream.number) ?? 0,
      packets.reduce(UInt16(0)) { $0 ^ UInt16($1.readableBytes - 12) },
      0x80 | parity(1, as: UInt8.self) & 0x7F, UInt8(0), UInt16(0), parity(4, as: UInt32.self))
    bytes.writeMultipleIntegers(UInt8(isRow ? 0x40 : 0), offset, UInt8(packets.count), UInt8(0))
    for place in 0..<packets.longest { bytes.writeInteger(parity(12 + place, as: UInt8.self)) }
    return bytes
  }

  /// Changes each correction packet.
  mutating func corrupt(_ change: (inout ByteBuffer) -> Void) {
    for index in sent.indices where sent[index].channel == .correction {
      change(&sent[index].bytes)
    }
  }

  /// The places of the media that are there in the end if `lost` of ``sent`` do not come: found by
  /// going over all lines until nothing changes.
  func known(without lost: Set<Int>) -> Set<Int> {
    var known: Set<Int> = []
    var place = 0
    for (index, datagram) in sent.enumerated() where datagram.channel == .media {
      if !lost.contains(index) { known.insert(place) }
      place += 1
    }
    let lines = sent.indices.filter { !lost.contains($0) }.map { sent[$0].protected }
    var count = -1
    while count != known.count {
      count = known.count
      for line in lines {
        let missing = line.filter { !known.contains($0) }
        if missing.count == 1 { known.formUnion(missing) }
      }
    }
    return known
  }

  /// A session to which all but `lost` came, a datagram every `interval`.
  func played(
    without lost: Set<Int> = [], every interval: Duration = .milliseconds(1)
  ) -> VirtualSession {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = CorrectedStream.mediaType
    configuration.hasMatrixCorrection = true
    var session = VirtualSession(configuration: configuration, isEntryPoint: { _ in true })
    for (index, datagram) in sent.enumerated() {
      if !lost.contains(index) { session.receive(datagram.bytes, on: datagram.channel) }
      session.run(for: interval)
    }
    session.run(for: .seconds(1))
    session.finish()
    return session
  }
}
