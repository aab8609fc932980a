import Foundation
import Glibc

/// A receiver under measurement, and the command that starts it.
struct Peer: Sendable {
  let name: String
  var contender: Contender?
  /// The command for a stream on `port`, described by the SDP file, writing to `output`; `-` is
  /// standard output.
  let command: @Sendable (_ port: UInt16, _ sdp: String, _ output: String) -> [String]

  static let rtpRecv =
    ProcessInfo.processInfo.environment["RTP_RECV"] ?? "../../.build/release/rtp-recv"

  static let rtpSend =
    ProcessInfo.processInfo.environment["RTP_SEND"] ?? "../../.build/release/rtp-send"

  /// Another `rtp-recv`, such as one from before a change, which is measured beside this one.
  static let rtpRecvBefore = Arguments.value(of: "--before")

  /// Our receiver as a user gets it: default settings, the codec recognized from the packets.
  static func ours(format: String) -> Peer { receiver(rtpRecv, .ours, format) }

  /// Empty without `--before`.
  static func before(format: String) -> [Peer] {
    rtpRecvBefore.map { [receiver($0, .before, format)] } ?? []
  }

  private static func receiver(
    _ program: String, _ contender: Contender, _ format: String
  ) -> Peer {
    Peer(name: contender.rawValue, contender: contender) { port, _, output in
      [program, "rtp://127.0.0.1:\(port)", "-o", output, "--format", format, "--quiet"]
    }
  }

  // Receivers of raw frames, on standard output.

  static let ffmpegFrames =
    [ffmpegFrames("ffmpeg", .ffmpeg)]
    + (FFmpegProgram.newer.map { [ffmpegFrames($0, .newerFFmpeg)] } ?? [])

  private static func ffmpegFrames(_ program: String, _ contender: Contender) -> Peer {
    Peer(name: contender == .ffmpeg ? "ffmpeg" : "newer ffmpeg", contender: contender) {
      _, sdp, _ in
      [
        program, "-v", "quiet", "-protocol_whitelist", "file,udp,rtp", "-i", sdp,
        "-fps_mode", "passthrough", "-f", "rawvideo", "-",
      ]
    }
  }

  static func gstreamerFrames(latency: Int?) -> Peer {
    let jitterBuffer = latency.map { "rtpjitterbuffer latency=\($0)" } ?? "rtpjitterbuffer"
    let name = "gstreamer" + (latency.map { " latency=\($0)" } ?? "")
    return Peer(name: name, contender: latency == nil ? nil : .gstreamer) { port, _, _ in
      gstreamer(
        port, "! \(jitterBuffer) ! rtph264depay ! avdec_h264 max-threads=1 ! fdsink fd=1 sync=false"
      )
    }
  }

  // Receivers of the elementary stream, to a file.

  static let ffmpegCopy =
    [ffmpegCopy("ffmpeg", .ffmpeg)]
    + (FFmpegProgram.newer.map { [ffmpegCopy($0, .newerFFmpeg)] } ?? [])

  private static func ffmpegCopy(_ program: String, _ contender: Contender) -> Peer {
    let name = contender == .ffmpeg ? "ffmpeg -c copy" : "newer ffmpeg -c copy"
    return Peer(name: name, contender: contender) { _, sdp, output in
      [
        program, "-v", "quiet", "-y", "-protocol_whitelist", "file,udp,rtp", "-buffer_size",
        "4194304",
        "-i", sdp, "-c", "copy", "-f", "h264", output,
      ]
    }
  }

  static let gstreamerCopy = Peer(name: "gstreamer", contender: .gstreamer) { port, _, output in
    gstreamer(
      port,
      "! rtpjitterbuffer latency=0 ! rtph264depay ! video/x-h264,stream-format=byte-stream "
        + "! filesink location=\(output)")
  }

  static let bareLoop = Peer(name: "bare loop", contender: .bare) { port, _, output in
    [".build/release/bare-loop", "\(port)", output]
  }

  private static func gstreamer(_ port: UInt16, _ rest: String) -> [String] {
    let capabilities =
      "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96"
    return ["gst-launch-1.0", "-q"]
      + "udpsrc address=127.0.0.1 port=\(port) buffer-size=4194304 caps=\(capabilities) \(rest)"
      .split(separator: " ").map(String.init)
  }
}

/// A program that runs during a measurement and is killed afterwards.
///
/// It is not Foundation's `Process`, in which what this program ignores is ignored too: in the
/// background a shell lets programs ignore SIGINT, which is what ends most of those here.
final class Running {
  let output = Pipe()
  private let command: [String]
  private var processIdentifier: pid_t = 0
  /// Once it has ended.
  private var exitStatus: Int32?

  init(_ command: [String], diagnostics: FileHandle = .nullDevice) throws {
    self.command = command
    let ends = [output.fileHandleForReading, output.fileHandleForWriting].map(\.fileDescriptor)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, diagnostics.fileDescriptor, STDERR_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let fault = posix_spawnp(&processIdentifier, command[0], &actions, &attributes, &words, environ)
    try output.fileHandleForWriting.close()
    guard fault == 0 else {
      throw BenchError(description: "\(command[0]): \(String(cString: strerror(fault)))")
    }
  }

  deinit { kill() }

  func kill() {
    guard exitStatus == nil, processIdentifier > 0 else { return }
    Glibc.kill(processIdentifier, SIGKILL)
    awaitExit()
  }

  /// Waits until it has ended; returns its exit status, or the signal that ended it.
  @discardableResult
  private func awaitExit() -> Int32 {
    if let exitStatus { return exitStatus }
    var status: Int32 = 0
    while waitpid(processIdentifier, &status, 0) < 0, errno == EINTR {}
    let result = status & 0x7F == 0 ? status >> 8 & 0xFF : status & 0x7F
    exitStatus = result
    return result
  }

  /// The first line of its output: a server's port.
  func readLine() -> String {
    var line: [UInt8] = []
    while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 {
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Reads `count` bytes of its output, which are dropped.
  func read(_ count: Int) throws {
    var missing = count
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while missing > 0 {
      let count = Glibc.read(
        output.fileHandleForReading.fileDescriptor, &buffer, min(buffer.count, missing))
      guard count > 0 else {
        throw BenchError(description: "too little from \(command)")
      }
      missing -= count
    }
  }

  /// Asks the program to end, and waits until it has; returns its exit status.
  @discardableResult
  func stop() -> Int32 {
    if exitStatus == nil { Glibc.kill(processIdentifier, SIGINT) }
    return awaitExit()
  }

  func waitUntilExit() -> String {
    let text = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    awaitExit()
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The processor time that it has taken so far, in seconds, with that of the programs that it has
  /// started, such as a decoder in a process of its own.
  var processorTime: Double {
    processes.reduce(0) { sum, process in
      var clock = clockid_t()
      var time = timespec()
      guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
        return sum
      }
      return sum + Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
  }

  /// The peak resident memory of all its processes, in MiB; what they share counts for each.
  var peakMemory: Double {
    processes.reduce(0) { sum, process in
      let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
      let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
      return sum
        + (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0)
        / 1024
    }
  }

  /// It, and what it has started.
  private var processes: [pid_t] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    var children: [pid_t: [pid_t]] = [:]
    for process in all.compactMap({ pid_t($0) }) {
      let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
      // Behind the name in brackets, which may be anything: the state, and the parent.
      let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 1, let parent = pid_t(fields[1]) else { continue }
      children[parent, default: []].append(process)
    }
    var found = [processIdentifier]
    var next = 0
    while next < found.count {
      found += children[found[next]] ?? []
      next += 1
    }
    return found
  }
}

/// The processor time of all child processes that have ended, in seconds.
func childrensTime() -> Double {
  var usage = rusage()
  getrusage(RUSAGE_CHILDREN.rawValue, &usage)
  return [usage.ru_utime, usage.ru_stime].reduce(0) {
    $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
  }
}

/// Waits until a program has bound UDP `port`, by the kernel's table; 10 s at most.
func waitUntilBound(_ port: UInt16) -> Bool {
  let wanted = ":" + String(format: "%04X", port)
  for _ in 0..<1000 {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].compactMap {
      try? String(contentsOfFile: $0, encoding: .utf8)
    }
    let isBound = tables.joined().split(separator: "\n").contains { line in
      line.split(separator: " ").dropFirst().first?.hasSuffix(wanted) == true
    }
    if isBound { return true }
    usleep(10_000)
  }
  return false
}
