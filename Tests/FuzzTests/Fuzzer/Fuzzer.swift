import Glibc

/// Runs one of `FuzzTarget.all` under libFuzzer.
///
/// RTP_RECV_FUZZER names it, and the arguments are libFuzzer's. Without a name it prints all names.
@main
enum Fuzzer {
  /// The most processor time that an input may take, in seconds.
  ///
  /// 64 KiB of the smallest packets or reads, each followed by all checks, take two seconds here,
  /// with AddressSanitizer. What takes more than linear time takes more than this.
  static let patience = 4.0

  static let target: FuzzTarget = {
    let name = getenv("RTP_RECV_FUZZER").map { String(cString: $0) } ?? ""
    if let target = FuzzTarget.all.first(where: { $0.name == name }) { return target }
    print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
    exit(name.isEmpty ? 0 : 64)
  }()

  static func main() {
    _ = target
    atexit { Fuzzer.say("processor time: \(Fuzzer.processorTime(CLOCK_PROCESS_CPUTIME_ID))") }
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    exit(withUnsafeMutablePointer(to: &arguments) { runDriver(&count, $0, take) })
  }

  static func run(_ input: [UInt8]) {
    let start = processorTime(CLOCK_THREAD_CPUTIME_ID)
    do {
      try target.run(input)
      let time = processorTime(CLOCK_THREAD_CPUTIME_ID) - start
      try require(time < patience, "\(input.count) bytes take \(time) s")
    } catch {
      say("\(target.name): \(error)")
      abort()
    }
  }

  /// In seconds.
  fileprivate static func processorTime(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  fileprivate static func say(_ text: String) {
    let line = text + "\n"
    _ = line.withCString { write(2, $0, strlen($0)) }
  }
}

/// libFuzzer's own main function, as a function.
@_extern(c, "LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<Int32>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Takes an input; libFuzzer's own main function, which is linked but not in use, wants this name.
@c(LLVMFuzzerTestOneInput)
public func take(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  Fuzzer.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
