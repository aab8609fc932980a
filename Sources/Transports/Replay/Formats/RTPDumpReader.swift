internal import NIOCore
internal import RTPWire

/// Reads the files of rtpdump and rtpplay (https://github.com/irtlab/rtptools): a line of text, a
/// header and records in network byte order.
///
/// ```
/// #!rtpplay1.0 192.0.2.1/5004\n
/// | start: seconds, microseconds | source | port | padding |
/// | length with this header, 16 bits | RTP length or 0 for RTCP, 16 bits | milliseconds | packet …
/// ```
struct RTPDumpReader: RecordingReader {
  static let signature = Array("#!rtpplay1.0 ".utf8)
  /// The longest first line, which contains an address and a port.
  static let maximumLine = 256

  let oddities: [String] = []
  private var bytes = RecordBytes()
  private var line: [UInt8] = []
  private var stage = Stage.line

  private enum Stage: Sendable {
    case line
    case header
    case record(start: Int64)
    case packet(start: Int64, time: Int64, length: Int, recorded: Int)
  }

  private static let headerLength = 16
  private static let recordHeader = 8

  var unfinished: Int {
    switch stage {
    case .line: bytes.count + line.count
    case .header: bytes.count + 1
    case .record: bytes.count
    case .packet: bytes.count + Self.recordHeader
    }
  }

  mutating func append(_ bytes: ByteBuffer) { self.bytes.append(bytes) }

  mutating func next() throws(DamagedRecording) -> Recording? {
    while true {
      switch stage {
      case .line:
        guard let byte = bytes.take(1) else { return nil }
        try readLine(byte)
      case .header:
        guard let header = bytes.take(Self.headerLength) else { return nil }
        let (seconds, microseconds) =
          header.getMultipleIntegers(
            at: header.readerIndex, as: (UInt32, UInt32).self) ?? (0, 0)
        stage = .record(start: Int64(seconds) * 1_000_000_000 + Int64(microseconds) * 1000)
      case .record(let start):
        guard let header = bytes.take(Self.recordHeader) else { return nil }
        try readRecord(header, start)
      case .packet(let start, let time, let length, let recorded):
        guard let body = bytes.take(recorded) else { return nil }
        stage = .record(start: start)
        return recording(of: body, length: length, at: time)
      }
    }
  }

  private mutating func readLine(_ byte: ByteBuffer) throws(DamagedRecording) {
    line += byte.readableBytesView
    if line.last == 0x0A { return stage = .header }
    guard line.count < Self.maximumLine else {
      throw DamagedRecording(
        offset: 0, reason: .recordTooLong(UInt64(line.count), limit: Self.maximumLine))
    }
  }

  private mutating func readRecord(
    _ header: ByteBuffer, _ start: Int64
  ) throws(DamagedRecording) {
    guard
      let (length, packetLength, milliseconds) = header.getMultipleIntegers(
        at: header.readerIndex, as: (UInt16, UInt16, UInt32).self)
    else { return }
    let recorded = Int(length) - Self.recordHeader
    guard recorded >= 0 else {
      throw DamagedRecording(
        offset: bytes.offset - UInt64(Self.recordHeader), reason: .blockLength(UInt32(length)))
    }
    stage = .packet(
      start: start, time: start + Int64(milliseconds) * 1_000_000, length: Int(packetLength),
      recorded: recorded)
  }

  /// A packet of `length` bytes; 0 means RTCP.
  private func recording(of body: ByteBuffer, length: Int, at time: Int64) -> Recording {
    guard length > 0 else { return Recording(time: time, content: .packet(body, .control)) }
    let packet = body.getSlice(at: body.readerIndex, length: min(length, body.readableBytes))
    return Recording(
      time: time, content: .packet(packet ?? ByteBuffer(), .media),
      missing: max(0, length - body.readableBytes))
  }
}
