import CLinux
import Glibc
import NIOCore

/// Sends the packets of many streams from one socket, many with each system call.
///
/// A packet goes out as a header and a payload, two pieces of memory, so that no payload is copied.
/// Where the kernel can, it cuts the packets of a picture out of one message (UDP_SEGMENT).
@safe final class LoadSocket {
  /// Messages given to the kernel at once.
  private static let messageLimit = 64
  /// What the kernel cuts out of one message: so many packets, and so many bytes.
  private static let segmentLimit = 64
  private static let messageLength = 65_000
  private static let headerLength = 12
  /// Packets that wait to be sent.
  private static let waitingLimit = 2048
  /// How often a full queue on the way is tried again, a millisecond apart.
  private static let patience = 1000

  private struct Waiting {
    var stream: Int
    var length: Int
  }

  private let descriptor: Int32
  private let loop: PacketLoop
  private let payloadType: UInt8
  private let address: SocketAddress
  private let payloads: UnsafeMutableRawPointer
  private let headers: UnsafeMutableRawPointer
  private let destinations: UnsafeMutablePointer<sockaddr_storage>
  private let destinationLength: UInt32
  private var cutsDatagrams: Bool

  /// Each has two of the pieces.
  private var waiting: [Waiting] = []
  private var pieces: [clinux_piece] = unsafe []
  private(set) var datagrams = 0
  private(set) var bytes = 0

  /// Opens a socket for `count` streams to every second port from that of `address` on.
  ///
  /// - Throws: ``SendError/network(address:reason:)``.
  init(
    _ loop: PacketLoop, to address: SocketAddress, count: Int, payloadType: UInt8
  ) throws(SendError) {
    self.loop = loop
    self.payloadType = payloadType
    self.address = address
    let family = address.protocol == .inet6 ? AF_INET6 : AF_INET
    descriptor = socket(
      family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    cutsDatagrams = clinux_cuts_datagrams(descriptor) != 0
    destinationLength = UInt32(
      family == AF_INET6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
    unsafe payloads = .allocate(byteCount: max(1, loop.bytes.count), alignment: 16)
    unsafe headers = .allocate(byteCount: Self.waitingLimit * Self.headerLength, alignment: 4)
    unsafe destinations = .allocate(capacity: count)
    unsafe loop.bytes.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress {
        unsafe payloads.copyMemory(from: start, byteCount: bytes.count)
      }
    }
    for index in 0..<count {
      var own = address
      own.port = (address.port ?? 0) + 2 * index
      let destination = unsafe destinations + index
      unsafe destination.initialize(to: sockaddr_storage())
      unsafe own.withSockAddr { source, length in
        unsafe UnsafeMutableRawPointer(destination).copyMemory(from: source, byteCount: length)
      }
    }
    guard descriptor >= 0 else { throw failure() }
    var room: Int32 = 4 << 20
    _ = unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    unsafe payloads.deallocate()
    unsafe headers.deallocate()
    unsafe destinations.deallocate()
  }

  /// Adds a picture of a stream to what waits.
  ///
  /// - Throws: ``SendError/network(address:reason:)``, as what waits may be sent.
  func send(
    _ picture: PacketLoop.Picture, of stream: Int, ssrc: UInt32, sequence: UInt16,
    timestamp: UInt32
  ) throws(SendError) {
    var number = sequence
    for packet in loop.packets[picture.packets] {
      if waiting.count == Self.waitingLimit { try flush() }
      let header = unsafe headers + waiting.count * Self.headerLength
      let type = payloadType & 0x7F | (packet.marker ? 0x80 : 0)
      let time = timestamp &+ UInt32(truncatingIfNeeded: packet.ticks)
      unsafe header.storeBytes(of: 0x80, as: UInt8.self)
      unsafe header.storeBytes(of: type, toByteOffset: 1, as: UInt8.self)
      unsafe header.storeBytes(of: number.bigEndian, toByteOffset: 2, as: UInt16.self)
      unsafe header.storeBytes(of: time.bigEndian, toByteOffset: 4, as: UInt32.self)
      unsafe header.storeBytes(of: ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
      unsafe pieces.append(clinux_piece(bytes: header, length: Self.headerLength))
      unsafe pieces.append(
        clinux_piece(
          bytes: payloads + packet.payload.lowerBound, length: packet.payload.count))
      waiting.append(Waiting(stream: stream, length: Self.headerLength + packet.payload.count))
      number &+= 1
    }
  }

  /// Sends RTCP of a stream after what waits.
  ///
  /// - Throws: ``SendError/network(address:reason:)``.
  func send(_ control: ByteBuffer, of stream: Int) throws(SendError) {
    try flush()
    let destination = unsafe UnsafeRawPointer(destinations + stream)
      .assumingMemoryBound(to: sockaddr.self)
    var failures = 0
    while true {
      let sent = unsafe control.withUnsafeReadableBytes { bytes in
        unsafe sendto(
          descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), destination,
          destinationLength)
      }
      if sent >= 0 {
        datagrams += 1
        bytes += sent
        return
      }
      try waitAfterFailure(&failures)
    }
  }

  /// Sends all that waits.
  ///
  /// - Throws: ``SendError/network(address:reason:)``.
  func flush() throws(SendError) {
    var first = 0
    var failures = 0
    while first < waiting.count {
      let runs = runs(from: first)
      let sent = send(runs)
      if sent > 0 {
        let packets = runs[0].lowerBound..<runs[sent - 1].upperBound
        datagrams += packets.count
        bytes += waiting[packets].reduce(0) { $0 + $1.length }
        first = packets.upperBound
        failures = 0
      } else if cutsDatagrams, [EIO, EINVAL, EMSGSIZE].contains(errno) {
        // The way there takes shorter packets, or has no checksums of its own.
        cutsDatagrams = false
      } else {
        try waitAfterFailure(&failures)
      }
    }
    waiting.removeAll(keepingCapacity: true)
    unsafe pieces.removeAll(keepingCapacity: true)
  }

  /// The next packets that wait, divided into messages: of a stream each, and all but the last
  /// packet of one length, or of a packet each.
  private func runs(from first: Int) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var begin = first
    while begin < waiting.count, runs.count < Self.messageLimit {
      let head = waiting[begin]
      var end = begin + 1
      var length = head.length
      while cutsDatagrams, end < waiting.count, end - begin < Self.segmentLimit,
        waiting[end].stream == head.stream, waiting[end - 1].length == head.length,
        waiting[end].length <= head.length, length + waiting[end].length <= Self.messageLength
      {
        length += waiting[end].length
        end += 1
      }
      runs.append(begin..<end)
      begin = end
    }
    return runs
  }

  /// Gives messages to the kernel; returns how many it took, or -1.
  private func send(_ runs: [Range<Int>]) -> Int {
    let messages = unsafe runs.map { run in
      let head = waiting[run.lowerBound]
      return unsafe clinux_message(
        address: UnsafeRawPointer(destinations + head.stream), address_length: destinationLength,
        first: UInt32(2 * run.lowerBound), pieces: UInt32(2 * run.count),
        segment: run.count > 1 ? UInt16(clamping: head.length) : 0)
    }
    return unsafe messages.withUnsafeBufferPointer { messages in
      unsafe pieces.withUnsafeBufferPointer { pieces in
        Int(
          unsafe clinux_send(
            descriptor, messages.baseAddress, UInt32(messages.count), pieces.baseAddress))
      }
    }
  }

  /// Waits where a queue on the way is full.
  private func waitAfterFailure(_ failures: inout Int) throws(SendError) {
    guard errno != EINTR else { return }
    failures += 1
    guard failures < Self.patience, [ENOBUFS, EAGAIN, ENOMEM].contains(errno) else {
      throw failure()
    }
    usleep(1000)
  }

  private func failure() -> SendError {
    .network(address: address.hostAndPort, reason: Libav.reason(-errno))
  }
}
