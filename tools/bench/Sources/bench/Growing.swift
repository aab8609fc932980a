import Foundation
import Glibc

/// Files that are still being written: the time from a picture's last byte to its last packet, what
/// waiting for more costs, and whether everything comes when writers die.
///
/// The writer notes the time before the call that writes the last byte, the kernel that at which
/// the packet with the marker is sent; on loopback it comes at once.
enum Growing {
  private static let frames = Arguments.isAll ? 300 : 900
  /// The sender begins with the first of them.
  private static let firstMeasured = 30
  private static let files = Arguments.isAll ? 200 : 1000

  static func report(rounds: Int, in folder: String) throws {
    let clips = try GrowingClip.all(
      "growing", size: "1280x720", frames: frames,
      ["-preset", "veryfast", "-bf", "2", "-b:v", "4M", "-g", "60"], in: folder)
    head(
      "Growing files, 720p30 at 4 Mbit/s, \(rounds) rounds: last byte written → last packet sent",
      [
        "file", "median (ms)", "99 % (ms)", "longest (ms)", "pictures of \(frames)",
        "idle (% of a core)",
      ],
      names: ["file"])
    let results = try inRounds(rounds, clips) { try measure($0, in: folder) }
    for (clip, results) in zip(clips, results) {
      let delays = results.flatMap(\.delays).sorted()
      row([
        clip.form.rawValue, number(median(delays)), number(delays[delays.count * 99 / 100]),
        number(delays.last ?? .nan), "\(results.map(\.pictures).min() ?? 0)",
        number(median(results.map(\.idle))),
      ])
    }
    let small = try GrowingClip.all(
      "small", size: "320x180", frames: 15, ["-bf", "2", "-g", "5"], in: folder)
    head(
      "\(files) files of one writer, each killed at any byte",
      ["file", "whole pictures", "sent", "lost", "doubled", "cut", "idle (% of a core)"],
      names: ["file"])
    for clip in small { try reportChanges(clip, in: folder) }
  }

  /// A sender that follows `name` and sends to `socket`.
  private static func follow(
    _ name: String, of clip: GrowingClip, to socket: UDPSocket, in folder: String
  ) throws -> Running {
    let log = "\(folder)/rtp-send.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    guard let diagnostics = FileHandle(forWritingAtPath: log) else {
      throw BenchError(description: "\(log) cannot be written")
    }
    let sets = clip.form == .plain ? ["--parameter-sets", clip.sets] : []
    let sender = try Running(
      [Peer.rtpSend, "--follow", name, "udp://127.0.0.1:\(socket.port)"] + sets,
      diagnostics: diagnostics)
    for _ in 0..<1000 {
      let text = try String(contentsOfFile: log, encoding: .utf8)
      if text.contains("waiting for") { return sender }
      usleep(10_000)
    }
    throw BenchError(description: "rtp-send does not wait for \(name)")
  }

  private static func measure(
    _ clip: GrowingClip, in folder: String
  ) throws -> (delays: [Double], pictures: Int, idle: Double) {
    let path = "\(folder)/cam.\(clip.form.ending)"
    try? FileManager.default.removeItem(atPath: path)
    let socket = try UDPSocket()
    socket.noteTimes()
    let sender = try follow(path, of: clip, to: socket, in: folder)
    let arrivals = Arrivals(socket)
    let thread = Thread { arrivals.run() }
    thread.start()
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    var written: [Double] = []
    let start = Latency.now()
    for (index, picture) in clip.pictures.enumerated() {
      let wait = start + Double(index) / 30 - Latency.now()
      if wait > 0 { usleep(UInt32(wait * 1e6)) }
      let bytes = index == 0 ? clip.head + picture : picture
      written.append(Arrivals.now())
      guard write(file, bytes, bytes.count) == bytes.count else {
        throw BenchError(description: "\(path) cannot be written")
      }
    }
    usleep(500_000)
    let idle = try idle(sender)
    close(file)
    sender.stop()
    let sent = arrivals.finish().filter(\.isLast).map(\.time)
    guard sent.count == written.count else { return ([.nan], sent.count, idle) }
    let delays = zip(written, sent).dropFirst(firstMeasured).map { ($1 - $0) * 1000 }
    return (delays, sent.count, idle)
  }

  /// What a sender costs while nothing is written, in per cent of a core.
  private static func idle(_ sender: Running) throws -> Double {
    let (before, start) = (sender.processorTime, Latency.now())
    sleep(10)
    return 100 * (sender.processorTime - before) / (Latency.now() - start)
  }

  private static func reportChanges(_ clip: GrowingClip, in folder: String) throws {
    let folder = "\(folder)/\(clip.form.ending)-\(clip.form)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let socket = try UDPSocket()
    socket.noteTimes()
    let sender = try follow(
      "\(folder)/cam-%05d.\(clip.form.ending)", of: clip, to: socket, in: folder)
    let arrivals = Arrivals(socket)
    let thread = Thread { arrivals.run() }
    thread.start()
    let bytes = clip.head + clip.pictures.flatMap { $0 }
    let source = "\(folder)/source"
    try Data(bytes).write(to: URL(fileURLWithPath: source))
    var ends: [Int] = []
    for picture in clip.pictures { ends.append((ends.last ?? clip.head.count) + picture.count) }
    var expected: [Int] = []
    for number in 0..<files {
      // The first one says what the video is.
      let end = number == 0 ? bytes.count : Int.random(in: 0...bytes.count)
      let name = "\(folder)/cam-\(String(format: "%05d", number)).\(clip.form.ending)"
      try kill(after: end, of: source, into: name)
      expected.append(ends.filter { $0 <= end }.count)
    }
    arrivals.waitUntilQuiet()
    let idle = try idle(sender)
    sender.stop()
    // Each file begins with the first picture; a file without a whole one leaves nothing.
    let numbers = Dictionary(uniqueKeysWithValues: zip(clip.slices, clip.slices.indices))
    let seen = Slices.of(arrivals.finish().map(\.packet)).map { numbers[$0] }
    var runs: [[Int]] = []
    for case .some(let picture) in seen {
      if picture == 0 { runs.append([]) }
      if runs.isEmpty { runs.append([]) }
      runs[runs.count - 1].append(picture)
    }
    let wanted = expected.filter { $0 > 0 }.map { Array(0..<$0) }
    var (lost, doubled) = (abs(wanted.count - runs.count), 0)
    for (wanted, run) in zip(wanted, runs) where wanted != run {
      lost += Set(wanted).subtracting(run).count
      doubled += max(0, run.count - Set(run).intersection(wanted).count)
    }
    row([
      clip.form.rawValue, "\(expected.reduce(0, +))", "\(runs.reduce(0) { $0 + $1.count })",
      "\(lost)", "\(doubled)", "\(seen.filter { $0 == nil }.count)", number(idle),
    ])
  }

  /// Has a process write the first `count` bytes of `source` to the file `name`, and kills it while
  /// it has the file open.
  private static func kill(after count: Int, of source: String, into name: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", "exec 3> '\(name)'; head -c \(count) '\(source)' >&3; kill -9 $$"]
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal else {
      throw BenchError(description: "\(name) cannot be written")
    }
  }
}

/// The packets of one stream, and when each was sent.
private final class Arrivals: @unchecked Sendable {
  struct Packet {
    let packet: [UInt8]
    let time: Double
    /// Whether it is the last one of its picture.
    var isLast: Bool { packet[1] & 0x80 != 0 }
  }

  private let socket: UDPSocket
  private let state = NSCondition()
  private var packets: [Packet] = []
  private var isOver = false
  private var hasEnded = false

  init(_ socket: UDPSocket) { self.socket = socket }

  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  func run() {
    while true {
      guard let (packet, time) = socket.receive(within: 100) else {
        if state.withLock({ isOver }) { break }
        continue
      }
      // Not RTCP (RFC 5761 §4).
      guard packet.count > 12, !(64...95).contains(packet[1] & 0x7F) else { continue }
      state.withLock { packets.append(Packet(packet: packet, time: time)) }
    }
    state.withLock {
      hasEnded = true
      state.signal()
    }
  }

  /// Waits until nothing has come for two seconds.
  func waitUntilQuiet() {
    var count = -1
    while case let next = state.withLock({ packets.count }), next != count {
      count = next
      sleep(2)
    }
  }

  /// All packets, once no more come.
  func finish() -> [Packet] {
    state.lock()
    defer { state.unlock() }
    isOver = true
    while !hasEnded { state.wait() }
    return packets
  }
}

/// The slices of an H.264 stream, out of its packets (RFC 6184).
private enum Slices {
  static func of(_ packets: [[UInt8]]) -> [[UInt8]] {
    var (slices, fragments) = ([[UInt8]](), [UInt8]())
    func take(_ unit: [UInt8]) {
      if let header = unit.first, [1, 5].contains(header & 0x1F) { slices.append(unit) }
    }
    for packet in packets {
      let payload = packet[12...]
      guard let header = payload.first else { continue }
      switch header & 0x1F {
      case 24:
        var rest = payload.dropFirst()
        while rest.count > 2 {
          let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
          take(Array(rest.dropFirst(2).prefix(length)))
          rest = rest.dropFirst(2 + length)
        }
      case 28:
        let type = payload[payload.startIndex + 1]
        if type & 0x80 != 0 { fragments = [header & 0xE0 | type & 0x1F] }
        fragments += payload.dropFirst(2)
        if type & 0x40 != 0 { take(fragments) }
      default: take(Array(payload))
      }
    }
    return slices
  }
}
