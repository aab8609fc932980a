import BlockingIO
import Glibc
import NIOCore
import NIOPosix
import RTPWire
import Receiver

/// Tells systemd how the service is (sd_notify(3)); without systemd it does nothing.
struct ServiceNotice: Sendable {
  private let address: String?
  /// How often the watchdog wants to hear something: twice in its time.
  private let watchdogInterval: Duration?

  /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
  init() {
    address = Environment.value(of: "NOTIFY_SOCKET")
    let isOurs = Environment.value(of: "WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    let limit = isOurs ? Environment.value(of: "WATCHDOG_USEC").flatMap { Int64($0) } : nil
    watchdogInterval = limit.flatMap { $0 > 0 ? max(.microseconds($0 / 2), Self.shortest) : nil }
  }

  /// A watchdog that wants more than this is no use to anybody.
  private static let shortest = Duration.milliseconds(10)
  private static let usualTick = Duration.seconds(2)
  /// How long a busy service manager is waited for.
  private static let patience = timeval(tv_sec: 1, tv_usec: 0)

  /// Says again and again what `status` returns, and that all event loops turn; `nil` where nobody
  /// listens.
  func keepTelling(_ status: @escaping @Sendable () async -> String) -> Task<Void, Never>? {
    guard address != nil else { return nil }
    let tick = watchdogInterval.map { min($0, Self.usualTick) } ?? Self.usualTick
    return Task(executorPreference: TaskQueue(label: "rtp-recv.service")) {
      while (try? await Task.sleep(for: tick)) != nil {
        for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
          // One that hangs keeps this waiting, and the service manager acts.
          try? await loop.submit {}.get()
        }
        send("WATCHDOG=1")
        send("STATUS=\(await status())")
      }
    }
  }

  /// Says that the configuration is being read again, until `READY=1`.
  func sendReloading() {
    send("RELOADING=1\nMONOTONIC_USEC=\(Instant.now.nanoseconds / 1000)")
  }

  /// Sends `state`; what nobody takes is lost.
  func send(_ state: String) {
    guard let address, address.utf8.count < 108 else { return }
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return }
    defer { close(socket) }
    unsafe withUnsafePointer(to: Self.patience) {
      _ = unsafe setsockopt(
        socket, SOL_SOCKET, SO_SNDTIMEO, $0, socklen_t(MemoryLayout<timeval>.size))
    }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &target.sun_path) { path in
      unsafe path.copyBytes(from: address.utf8)
      // An abstract address begins with a zero instead.
      if unsafe path[0] == UInt8(ascii: "@") { unsafe path[0] = 0 }
    }
    let length = MemoryLayout<sa_family_t>.size + address.utf8.count
    let bytes = Array(state.utf8)
    unsafe withUnsafePointer(to: target) { pointer in
      _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe sendto(
          socket, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0,
          socklen_t(length))
      }
    }
  }
}
