import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// F4 and F5: the bytes of an RTSP connection, valid or not, however they are cut.
  static let interleavedConnection = FuzzTarget("rtsp-connection") { choices in
    if choices.flag() {
      let (bytes, reads) = choices.reads()
      let whole = try ConnectionReading([bytes], channels: [0, 1]).checked(against: bytes)
      let cut = try ConnectionReading(reads, channels: [0, 1]).checked(against: bytes)
      // How much is skipped depends on how much of what follows is there to be looked at.
      guard whole.skipped == 0, cut.skipped == 0 else { return }
      // A fault ends one reading before the other, if it shows before its element is whole.
      let count =
        whole.fault == nil && cut.fault == nil
        ? Int.max : min(whole.elements.count, cut.elements.count)
      try requireEqual(
        Array(cut.elements.prefix(count)), Array(whole.elements.prefix(count)),
        "cut into \(reads.map(\.count))")
    } else {
      let lengths = (0..<choices.number(upTo: 8)).map { _ in max(1, Int(choices.byte())) }
      let stream = validStream(&choices)
      let whole = try ConnectionReading([stream], channels: [0, 1, 2, 3])
        .checked(against: stream)
      try require(whole.fault == nil && whole.skipped == 0, "\(whole.fault as Any)")
      var reads: [[UInt8]] = []
      var rest = stream[...]
      while !rest.isEmpty {
        let length = lengths.isEmpty ? rest.count : lengths[reads.count % lengths.count]
        reads.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
      }
      // At once, because a long frame in small reads would be given up in time.
      let cut = try ConnectionReading(reads, channels: [0, 1, 2, 3], apart: 0)
        .checked(against: stream)
      try requireEqual(cut.elements, whole.elements, "cut into \(reads.map(\.count))")
    }
  }

  /// Messages and frames as a faultless server sends them, with any content.
  private static func validStream(_ choices: inout Choices) -> [UInt8] {
    var stream: [UInt8] = []
    for _ in 0..<16 where !choices.isEmpty {
      switch choices.number(upTo: 3) {
      case 0:
        let body = choices.piece()
        stream += Array("RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
        stream += body
      case 1:
        stream += Array("SET_PARAMETER * RTSP/1.0\r\nCSeq: 2\r\n\r\n".utf8)
      default:
        let payload = choices.piece().prefix(60_000)
        // RTP of one type, because others are taken for what they are only behind garbage.
        let packet: [UInt8] = [0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3] + payload
        stream += [0x24, choices.byte() & 3, UInt8(packet.count >> 8), UInt8(packet.count & 0xFF)]
        stream += packet
      }
    }
    return stream
  }
}

/// What a connection's reader makes of reads.
private struct ConnectionReading {
  var elements: [RTSPElement] = []
  var fault: RTSPError?
  var skipped: UInt64 = 0
  private var count = 0

  init(_ reads: [[UInt8]], channels: [UInt8], apart interval: Int64 = 1_000_000) throws {
    var input = RTSPInput()
    input.assignedChannels = channels
    defer { skipped = input.skipped }
    var now = Instant(nanoseconds: 0)
    do throws(RTSPError) {
      for read in reads {
        count += read.count
        input.append(ByteBuffer(sliceOf: read))
        while let element = try input.next(at: now) { elements.append(element) }
        now = now.advanced(byNanoseconds: interval)
      }
      // What began is given up in time, or was garbage, which waits for nothing.
      if let deadline = input.deadline {
        _ = try input.next(at: deadline)
        _ = try input.deadline.map { (deadline) throws(RTSPError) in try input.next(at: deadline) }
      }
    } catch {
      if count == reads.reduce(0, { $0 + $1.count }), case .stalled = error { return }
      fault = error
    }
  }

  func checked(against bytes: [UInt8]) throws -> ConnectionReading {
    var taken = skipped
    for element in elements {
      switch element {
      case .frame(_, let packet): taken += UInt64(packet.readableBytes + 4)
      case .response(let response): taken += UInt64(response.body.count + 8)
      case .request(let request): taken += UInt64(request.body.count + 8)
      }
    }
    try require(taken <= UInt64(bytes.count), "\(taken) of \(bytes.count) bytes")
    return self
  }
}
