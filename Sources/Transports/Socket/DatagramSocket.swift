internal import CLinux
internal import Glibc
internal import NIOCore
internal import RTPWire

/// A UDP socket: the only place where this module asks the kernel about UDP.
///
/// It does not block, closes its descriptor when released, and is used from one thread.
final class DatagramSocket {
  enum SendOutcome: Sendable, Hashable {
    case sent
    /// The kernel did not accept it: no buffer, no route, or the network is down.
    case notSent
  }

  /// Errors reported by peers' hosts and by routers since the last query (ICMP, RFC 1122 §4.1.3.3).
  struct ReportedErrors: Sendable, Hashable {
    /// "Connection refused": nothing listens on the port.
    var refused: UInt64 = 0
    /// Anything else, such as "host unreachable" or "administratively prohibited".
    var others: UInt64 = 0
  }

  enum Family: Sendable, Hashable {
    case v4
    case v6
  }

  let family: Family
  private let descriptor: CInt
  /// The origin of the last datagram in both forms, because most come from the same one.
  private var lastSystemOrigin = sockaddr_storage()
  private var lastOrigin: SocketAddress?
  /// What the last vectored read returned about its slots.
  private var slots = [clinux_datagram](repeating: clinux_datagram(), count: slotsPerRead)

  /// - Throws: ``TransportError/system(operation:reason:)`` when no descriptor is free or the
  ///   kernel lacks the address family.
  init(family: Family) throws(TransportError) {
    self.family = family
    let domain = family == .v4 ? AF_INET : AF_INET6
    let type = CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    descriptor = socket(domain, type, 0)
    guard descriptor >= 0 else {
      throw .system(operation: "open a socket", reason: Self.lastReason)
    }
  }

  deinit { Glibc.close(descriptor) }

  // MARK: Setting up

  /// Takes both IPv6 and IPv4, which then appears as mapped addresses (RFC 4291 §2.5.5.2).
  func acceptBothFamilies(_ takesBoth: Bool = true) {
    set(CInt(IPPROTO_IPV6), IPV6_V6ONLY, CInt(takesBoth ? 0 : 1))
  }

  /// Lets several receivers on this machine share a multicast port.
  func shareAddress() { set(SOL_SOCKET, SO_REUSEADDR, CInt(1)) }

  /// Receives and sends only on the interface `name`.
  func bind(toInterface name: String) throws(TransportError) {
    try Self.bind(descriptor, toInterface: name)
  }

  /// The same for any socket.
  static func bind(_ descriptor: CInt, toInterface name: String) throws(TransportError) {
    _ = try interfaceIndex(named: name)
    var name = name
    let status = name.withUTF8 { bytes in
      unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_BINDTODEVICE, bytes.baseAddress, socklen_t(bytes.count))
    }
    if status < 0 { throw .interfaceNotPermitted(operation: "receive on one interface alone") }
  }

  func bind(to address: SocketAddress) throws(TransportError) {
    let status = unsafe address.withSockAddr { pointer, length in
      unsafe Glibc.bind(descriptor, pointer, socklen_t(length))
    }
    guard status < 0 else { return }
    switch errno {
    case EADDRINUSE: throw .portInUse(address: address.endpoint)
    case EADDRNOTAVAIL: throw .addressNotAvailable(address: address.endpoint)
    case EACCES, EPERM: throw .permissionDenied(operation: "listen on \(address.endpoint)")
    default: throw .system(operation: "listen on \(address.endpoint)", reason: Self.lastReason)
    }
  }

  /// Requests a receive buffer of `bytes`, beyond the system's limit if permitted.
  ///
  /// - Returns: the size granted, in the same measure.
  func enlargeReceiveBuffer(to bytes: Int) -> Int {
    let wanted = CInt(clamping: bytes)
    if !set(SOL_SOCKET, SO_RCVBUFFORCE, wanted) { set(SOL_SOCKET, SO_RCVBUF, wanted) }
    // Linux doubles the size for its bookkeeping, and reports the double (socket(7)).
    return Int(get(SOL_SOCKET, SO_RCVBUF) ?? 0) / 2
  }

  /// Joins `group`, from any source or from `source` only (RFC 3376, RFC 3810, RFC 3678).
  ///
  /// `interface` is an index, or 0 for the interface of the route.
  func join(
    group: SocketAddress, source: SocketAddress?, interface: UInt32
  ) throws(TransportError) {
    // Otherwise a socket also receives groups that other programs on this machine have joined.
    set(level, family == .v4 ? IP_MULTICAST_ALL : IPV6_MULTICAST_ALL, CInt(0))
    let isSet: Bool
    if let source {
      isSet = set(
        level, MCAST_JOIN_SOURCE_GROUP,
        group_source_req(
          gsr_interface: interface, gsr_group: group.storage, gsr_source: source.storage))
    } else {
      isSet = set(
        level, MCAST_JOIN_GROUP,
        group_req(gr_interface: interface, gr_group: group.storage))
    }
    if !isSet {
      throw .groupNotJoined(group: group.ipAddress ?? "", reason: Self.lastReason)
    }
  }

  /// Leaves `group`, which was joined by the interface of this index.
  func leave(_ group: SocketAddress, interface: UInt32) {
    set(
      level, MCAST_LEAVE_GROUP, group_req(gr_interface: interface, gr_group: group.storage))
  }

  /// Sends to groups by the interface of this index.
  func sendToGroups(by index: UInt32) throws(TransportError) {
    let index = CInt(clamping: index)
    // What `ip_mreqn` of ip(7) consists of: a group, an address and an index.
    let request: (UInt32, UInt32, CInt) = (0, 0, index)
    let isSet =
      family == .v4
      ? set(level, IP_MULTICAST_IF, request) : set(level, IPV6_MULTICAST_IF, index)
    if !isSet { throw .system(operation: "send to a group", reason: Self.lastReason) }
  }

  /// Asks the network not to deliver `source` to a joined group.
  ///
  /// Best effort: the receiver drops such datagrams anyway.
  func block(_ source: SocketAddress, of group: SocketAddress, interface: UInt32) {
    set(
      level, MCAST_BLOCK_SOURCE,
      group_source_req(
        gsr_interface: interface, gsr_group: group.storage, gsr_source: source.storage))
  }

  /// The index of the interface called `name`.
  static func interfaceIndex(named name: String) throws(TransportError) -> UInt32 {
    let index = unsafe if_nametoindex(name)
    guard index > 0 else { throw .noSuchInterface(name: name) }
    return index
  }

  // MARK: In use

  var localAddress: SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &length)
      }
    }
    guard status == 0 else { return nil }
    return SocketAddress(storage)
  }

  /// Has the kernel note when each datagram arrives, for ``receive(into:_:)``.
  func stampArrivals() { set(SOL_SOCKET, SO_TIMESTAMPNS, CInt(1)) }

  /// Reads what waits, at most ``slotsPerRead`` times, with one vectored call.
  ///
  /// `storage` is filled with slots of ``slot`` bytes, and `received` is replaced by a list of the
  /// datagrams in them, without those whose origin is no IP address. A slot has one datagram, or
  /// several that the kernel has merged (``DatagramReader/start()``).
  ///
  /// - Returns: how many slots were filled.
  @discardableResult
  func receive(into storage: inout ByteBuffer, _ received: inout [Received]) -> Int {
    received.removeAll(keepingCapacity: true)
    storage.clear(minimumCapacity: Self.slot * Self.slotsPerRead)
    var count = 0
    unsafe storage.writeWithUnsafeMutableBytes(
      minimumWritableBytes: Self.slot * Self.slotsPerRead
    ) { body in
      count = unsafe slots.withUnsafeMutableBufferPointer {
        Int(
          unsafe clinux_receive(
            descriptor, body.baseAddress, Self.slot, $0.baseAddress,
            CUnsignedInt(Self.slotsPerRead)))
      }
      return max(count, 0) * Self.slot
    }
    let now = count > 0 && slots[0].time != 0 ? clinux_universal_time() : 0
    for index in 0..<max(count, 0) {
      guard let origin = origin(ofSlot: index) else { continue }
      let (length, time) = (Int(slots[index].length), slots[index].time)
      let age = time == 0 ? nil : now.subtractingSaturating(time)
      for part in MergedDatagrams(length: length, segment: Int(slots[index].segment)) {
        received.append(
          Received(
            start: index * Self.slot + part.lowerBound, length: part.count, origin: origin,
            age: age))
      }
    }
    return max(count, 0)
  }

  /// A datagram that was read.
  struct Received: Sendable {
    /// Its offset in the storage.
    var start: Int
    var length: Int
    var origin: SocketAddress
    /// Nanoseconds since its arrival; `nil` unless arrivals are stamped.
    var age: Int64?
  }

  /// The origin of a slot, which is usually that of the previous one.
  private func origin(ofSlot index: Int) -> SocketAddress? {
    let size = MemoryLayout<sockaddr_storage>.size
    if let lastOrigin, unsafe memcmp(&lastSystemOrigin, &slots[index].origin, size) == 0 {
      return lastOrigin
    }
    unsafe memcpy(&lastSystemOrigin, &slots[index].origin, size)
    lastOrigin = SocketAddress(lastSystemOrigin)
    return lastOrigin
  }

  func send(_ bytes: ByteBuffer, to address: SocketAddress) -> SendOutcome {
    let count = unsafe bytes.withUnsafeReadableBytes { body in
      unsafe address.withSockAddr { pointer, length in
        unsafe sendto(
          descriptor, body.baseAddress, body.count, CInt(MSG_NOSIGNAL), pointer,
          socklen_t(length))
      }
    }
    return count < 0 ? .notSent : .sent
  }

  /// How many datagrams the kernel has dropped because the socket's buffer was full.
  ///
  /// `SO_MEMINFO` (Linux 4.12) gives the count without ancillary data on every read.
  var kernelDrops: UInt64 {
    var figures = InlineArray<9, UInt32>(repeating: 0)
    var length = socklen_t(MemoryLayout.size(ofValue: figures))
    let status = unsafe getsockopt(
      descriptor, SOL_SOCKET, Self.memoryInformation, &figures, &length)
    guard status == 0, length == MemoryLayout.size(ofValue: figures) else { return 0 }
    return UInt64(figures[Self.dropsFigure])
  }

  /// A second descriptor of the same socket, which the caller has to close.
  func duplicate() throws(TransportError) -> CInt {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else {
      throw .system(operation: "duplicate a socket", reason: Self.lastReason)
    }
    return copy
  }

  // MARK: Reported errors

  /// Whether errors reported by peers' hosts and by routers are kept for ``takeErrors()``.
  ///
  /// Must be off while SwiftNIO has a descriptor of the socket: its datagram channel (2.101) traps
  /// on any reported error but "connection refused".
  func keepErrors(_ isOn: Bool) {
    let flag: CInt = isOn ? 1 : 0
    set(level, family == .v4 ? IP_RECVERR : IPV6_RECVERR, flag)
    // Turning it off empties the queue, but not the pending error.
    if !isOn { _ = get(SOL_SOCKET, SO_ERROR) }
  }

  /// Removes the kept errors, at most ``maximumErrors``, so that the call ends.
  func takeErrors() -> ReportedErrors {
    var errors = ReportedErrors()
    for _ in 0..<Self.maximumErrors {
      guard let code = takeError() else { break }
      if code == ECONNREFUSED { errors.refused += 1 } else { errors.others += 1 }
    }
    // A pending error beside the queue must not wake waiting threads.
    _ = get(SOL_SOCKET, SO_ERROR)
    return errors
  }

  /// Waits once for a datagram or a kept error; to be cancelled before the socket is released.
  func waitUntilReady(on eventLoop: any EventLoop) throws(TransportError) -> SocketReadiness.Wait {
    try SocketReadiness.shared.wait(for: descriptor, on: eventLoop)
  }

  /// Whether there is a datagram to read.
  var isReadable: Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&request, 1, 0) > 0 && request.revents & Int16(POLLIN) != 0
  }

  private func takeError() -> CInt? {
    // One control message: a header of 16 bytes, then `sock_extended_err`, whose first field is the
    // error number (ip(7)), then the reporting address.
    var control = InlineArray<32, UInt64>(repeating: 0)
    var message = unsafe msghdr()
    let status = unsafe withUnsafeMutablePointer(to: &control) { pointer in
      unsafe message.msg_control = UnsafeMutableRawPointer(pointer)
      unsafe message.msg_controllen = MemoryLayout<InlineArray<32, UInt64>>.size
      return unsafe recvmsg(
        descriptor, &message, CInt(MSG_ERRQUEUE | MSG_DONTWAIT))
    }
    guard status >= 0, unsafe message.msg_controllen >= 20 else { return nil }
    return CInt(truncatingIfNeeded: control[2] & 0xFFFF_FFFF)
  }

  // MARK: Private

  private var level: CInt { CInt(family == .v4 ? IPPROTO_IP : IPPROTO_IPV6) }

  @discardableResult
  private func set<Value>(_ level: CInt, _ name: CInt, _ value: Value) -> Bool {
    unsafe withUnsafePointer(to: value) {
      unsafe setsockopt(descriptor, level, name, $0, socklen_t(MemoryLayout<Value>.size)) == 0
    }
  }

  private func get(_ level: CInt, _ name: CInt) -> CInt? {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
  }

  private static var lastReason: String { unsafe String(cString: strerror(errno)) }

  /// `SO_MEMINFO` and `SK_MEMINFO_DROPS` of <linux/sock_diag.h>, which Swift does not import.
  private static let memoryInformation: CInt = 55
  private static let dropsFigure = 8
  /// Errors taken at once; the kernel's queue holds few, because they use the receive buffer.
  static let maximumErrors = 256
  /// Room for a datagram of any size: UDP carries at most 65,527 bytes.
  static let maximumDatagram = 65_536
  /// The distance between slots: not a power of two, because datagrams a multiple of 64 KiB apart
  /// would evict each other from the processor's caches.
  static let slot = maximumDatagram + 2048
  /// Slots per vectored call.
  static let slotsPerRead = 32
}
