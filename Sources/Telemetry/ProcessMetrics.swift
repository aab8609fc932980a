import BlockingIO
public import CoreMetrics
import Glibc
import Synchronization

/// What this process uses, under the names that Prometheus' clients have for it, and which program
/// it is.
public final class ProcessMetrics: Sendable {
  private let figures: Mutex<[(MetricFamily, Figure)]>
  private let build: Figure

  /// Makes them for the program of that version.
  public init(version: String, factory: any MetricsFactory = MetricsSystem.factory) {
    var build = Figure(Reading(.build, now: 1), [("version", version)], factory)
    build.set(.now(1))
    self.build = build
    figures = Mutex(Self.readings().map { ($0.family, Figure($0, [], factory)) })
    note()
  }

  /// Notes what it uses now.
  public func note() {
    let readings = Self.readings()
    figures.withLock { figures in
      for place in figures.indices {
        guard let reading = readings.first(where: { $0.family == figures[place].0 })
        else { continue }
        figures[place].1.set(reading.value)
      }
    }
  }

  /// The figures of `/proc`, those of them that can be read.
  private static func readings() -> [Reading] {
    var readings: [Reading] = []
    let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    // The name of the program, in parentheses, may have spaces.
    let fields = (text(of: "/proc/self/stat")?.split(separator: ")").last ?? "").split(
      separator: " ")
    func field(_ number: Int) -> Double? {
      // They are counted from 1, and the first two are gone (proc(5)).
      fields.indices.contains(number - 3) ? Double(fields[number - 3]) : nil
    }
    if let user = field(14), let system = field(15) {
      readings.append(Reading(.processorTime, seconds: (user + system) / ticks))
    }
    if let threads = field(20) { readings.append(Reading(.threads, now: threads)) }
    if let start = field(22), let boot = bootTime {
      readings.append(Reading(.startTime, now: boot + start / ticks))
    }
    if let size = field(23) { readings.append(Reading(.virtualMemory, now: size)) }
    if let pages = field(24) {
      readings.append(Reading(.residentMemory, now: pages * Double(sysconf(Int32(_SC_PAGESIZE)))))
    }
    if let count = openDescriptors { readings.append(Reading(.openDescriptors, now: count)) }
    var limit = rlimit()
    if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      readings.append(Reading(.descriptorLimit, now: Double(limit.rlim_cur)))
    }
    return readings
  }

  private static func text(of path: String) -> String? {
    (try? ShortFile(at: path, limit: 64 << 10)).map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// When the machine started, in Unix time.
  private static let bootTime: Double? = {
    let line = text(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
    return line.flatMap { Double($0.dropFirst("btime ".count)) }
  }()

  private static var openDescriptors: Double? {
    guard let stream = unsafe opendir("/proc/self/fd") else { return nil }
    defer { unsafe closedir(stream) }
    // Those of the folder itself, of its parent, and of what reads it.
    var count = -3.0
    while unsafe readdir(stream) != nil { count += 1 }
    return count
  }
}

extension MetricFamily {
  static let build = MetricFamily(.info, "build", "Which version this is.")
  static let processorTime = MetricFamily(
    ofProcess: .counter, "cpu_seconds_total", "Processor time that the process has used.")
  static let residentMemory = MetricFamily(
    ofProcess: .gauge, "resident_memory_bytes", "Memory of the process that is in use.")
  static let virtualMemory = MetricFamily(
    ofProcess: .gauge, "virtual_memory_bytes", "Memory that the process has reserved.")
  static let startTime = MetricFamily(
    ofProcess: .gauge, "start_time_seconds", "When the process began, in Unix time.")
  static let openDescriptors = MetricFamily(
    ofProcess: .gauge, "open_fds", "Descriptors that are open.")
  static let descriptorLimit = MetricFamily(
    ofProcess: .gauge, "max_fds", "Descriptors that may be open.")
  static let threads = MetricFamily(ofProcess: .gauge, "threads", "Threads of the process.")
}
