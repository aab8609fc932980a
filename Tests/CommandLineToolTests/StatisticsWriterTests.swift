import Glibc
import Outputs
import TestSupport
import Testing

@testable import CommandLineTool

/// The file of the statistics on a disk that is full for a while.
@Suite struct StatisticsWriterTests {
  private static func line(_ number: Int) -> JSONLine {
    var line = JSONLine()
    line.add("number", number)
    line.add("padding", String(repeating: "x", count: 600))
    return line
  }

  @Test("a file on a full disk ends with a whole line, and goes on when there is room again")
  func fullDisk() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let writer = try StatisticsWriter(folder("stats.jsonl"), limit: 1 << 20)
      // The longest file that this process may write ends inside the second line.
      let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      var limit = rlimit()
      let result = unsafe getrlimit(resource, &limit)
      #expect(result == 0)
      limit.rlim_cur = 1000
      #expect(unsafe setrlimit(resource, &limit) == 0)
      for number in 1...2 { writer.write(Self.line(number), hasReceived: true) }
      let complaint = try await eventualValue { writer.takeComplaint() }
      #expect(complaint.hasSuffix(": File too large; lines are left out until it can be"))
      limit.rlim_cur = limit.rlim_max
      #expect(unsafe setrlimit(resource, &limit) == 0)
      writer.write(Self.line(3), hasReceived: true)
      await writer.finish(until: ContinuousClock.now + .seconds(60))
      let found = String(decoding: try folder.contents("stats.jsonl"), as: UTF8.self)
      #expect(found == Self.line(1).text + "\n" + Self.line(3).text + "\n")
      #expect(writer.takeComplaint() == nil)
      #expect(writer.status == .outputFailed)
    }
  }
}
