import Foundation
import Glibc
import Outputs
import Receiver
import TestSupport
import Testing
import Transports

/// A camera that cannot be reached is tried again for months.
@Suite(.serialized)
struct FailingConnectionTests {
  /// `RTP_RECV_CYCLES=10000` tries longer.
  private static var cycles: UInt64 {
    ProcessInfo.processInfo.environment["RTP_RECV_CYCLES"].flatMap { UInt64($0) } ?? 600
  }

  /// What a process holds.
  private struct Holdings {
    let bytes = Holdings.allocated
    let descriptors = Holdings.count(in: "/proc/self/fd")
    let threads = Holdings.count(in: "/proc/self/task")

    /// What malloc has given out: what it has of the system, less what is free (malloc_info(3)).
    private static var allocated: Int {
      typealias Describe = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
      var text: UnsafeMutablePointer<CChar>?
      var size = 0
      guard let function = dlsym(nil, "malloc_info"), let file = open_memstream(&text, &size) else {
        return 0
      }
      _ = unsafeBitCast(function, to: Describe.self)(0, file)
      fclose(file)
      defer { free(text) }
      // The sums over all arenas come last.
      let sums = text.map { String(cString: $0).split(separator: "</heap>").last ?? "" } ?? ""
      var given = 0
      for field in sums.split(separator: "<") {
        let words = field.split(separator: "\"")
        guard let size = words.firstIndex(of: " size=").flatMap({ Int(words[$0 + 1]) }) else {
          continue
        }
        switch words[1] {
        case "current", "mmap": given += size
        case "fast", "rest": given -= size
        default: break
        }
      }
      return given
    }

    private static func count(in folder: String) -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }
  }

  @Test("an attempt that fails leaves nothing behind", arguments: ["rtsp", "http"])
  func refused(scheme: String) async throws {
    let port = try FreePort.closed.get()
    var configuration = Receiver.Configuration()
    var reconnection = Reconnection()
    reconnection.firstDelay = .microseconds(100)
    reconnection.longestDelay = .microseconds(100)
    configuration.reconnection = reconnection
    configuration.firstMediaTimeout = .never
    configuration.outputs = try [
      OutputRequest(
        argument: Scratch.path("mkv"),
        format: #require(OutputCatalogue.standard.format(named: "mkv")), policy: .dropOldest)
    ]
    let receiver = try Receiver("\(scheme)://127.0.0.1:\(port)/x", configuration: configuration)
    let run = Task { await receiver.run() }
    defer { receiver.stop() }
    func holdings(after attempts: UInt64) async throws -> Holdings {
      try await eventually("\(attempts) attempts", within: .seconds(300)) {
        await receiver.status().connection.statistics.attempts >= attempts
      }
      return Holdings()
    }
    // Caches and the list of the latest outages are full by then.
    let before = try await holdings(after: 200)
    let after = try await holdings(after: 200 + Self.cycles)
    let growth = Double(Int(after.bytes) - Int(before.bytes)) / Double(Self.cycles)
    // A session is several times as large. Swift Testing keeps a backtrace of each error that is
    // thrown until nobody has the error, and its place for it for ever: all that grows here.
    #expect(growth < 1024, "\(before) \(after)")
    #expect(after.descriptors <= before.descriptors + 3)
    #expect(after.threads <= before.threads + 3)
    receiver.stop()
    _ = await run.value
  }
}
