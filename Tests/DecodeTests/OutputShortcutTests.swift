import Bitstream
import Defragment
import Glibc
import NIOCore
import RTPWire
import Synchronization
import Testing

@testable import Decode
@testable import Outputs

@Suite struct OutputShortcutTests {
  /// Units that arrive so many milliseconds apart.
  private func units(_ count: Int, every milliseconds: Int64) -> [AccessUnit] {
    (0..<Int64(count)).map { number in
      let arrival = Instant(nanoseconds: number * milliseconds * 1_000_000)
      return AccessUnit(
        codec: .testH264, bytes: ByteBuffer(bytes: [0, 0, 0, 1, 0x65, 0x88]), units: [],
        time: MediaTime(ticks: number, timescale: 90_000), firstArrival: arrival,
        lastArrival: arrival, integrity: .whole, isRandomAccess: true, format: nil)
    }
  }

  @Test(
    "only units that come in quick succession are written where they are",
    arguments: [
      (1, true), (3, true), (6, false), (8, false), (33, false),
    ])
  func rate(_ distance: Int64, _ isQuick: Bool) {
    var shortcut = OutputShortcut()
    let answers = units(400, every: distance).map { shortcut.isOpen(for: $0) }
    #expect(answers.first == false)
    #expect(answers.last == isQuick)
  }

  @Test("a write that takes long leaves the writing to the output's thread for a while")
  func longWrite() {
    var shortcut = OutputShortcut()
    let units = units(20_000, every: 1)
    for unit in units[..<400] { _ = shortcut.isOpen(for: unit) }
    let start = units[400].lastArrival
    shortcut.note(writeFrom: start, to: start.advanced(by: .milliseconds(19)))
    let isOpen = shortcut.isOpen(for: units[400])
    #expect(isOpen)
    shortcut.note(writeFrom: start, to: start.advanced(by: .milliseconds(21)))
    let answers = units[401...].map { shortcut.isOpen(for: $0) }
    #expect(answers.firstIndex(of: true) == 10_021 - 401 + 400)
  }

  @Test("whoever brings work does it alone, and the consumer gets what came meanwhile")
  func turns() async throws {
    let queue = BoundedQueue<Int>(limits: QueueLimits(count: 10, bytes: 10))
    #expect(queue.whileIdle { true } == nil, "before the consumer has come")
    let taken = Mutex<[Int]>([])
    let consumer = try WorkerThread {
      while let next = queue.take() { taken.withLock { $0.append(next) } }
    }
    try await eventually {
      queue.whileIdle {
        _ = queue.offer(1, bytes: 1)
        // Long enough for a consumer that does not wait its turn to take it.
        usleep(20_000)
        return taken.withLock(\.isEmpty)
      } == true
    }
    try await eventually { taken.withLock { $0 == [1] } }
    queue.close()
    await consumer.join()
    #expect(queue.whileIdle { true } == nil, "after the end")
  }

  @Test("units in quick succession are all in the file, in order, whoever wrote them")
  func file() async throws {
    let clip = Clip(name: "plain", encoder: ["-tune", "zerolatency"])
    let units = clip.accessUnits(of: try clip.encoded())
    let folder = try TemporaryFolder()
    var configuration = OutputLane.Configuration(
      target: .path(folder("a.h264")), format: ElementaryStreamOutput.format(of: .testH264))
    configuration.queueLimits = QueueLimits(count: 10_000, bytes: 1 << 30)
    let lane = try OutputLane(configuration)
    var expected: [UInt8] = []
    for number in 0..<5000 {
      let unit = units[number % units.count]
      let arrival = Instant(nanoseconds: Int64(number) * 1_000_000)
      expected += Array(unit.bytes.readableBytesView)
      lane.write(
        AccessUnit(
          codec: unit.codec, bytes: unit.bytes, units: unit.units, time: unit.time,
          firstArrival: arrival, lastArrival: arrival, isRandomAccess: unit.isRandomAccess))
      if number == 2500 { try await eventually { lane.counters.written == 2501 } }
    }
    let summary = await lane.finish()
    #expect(try folder.contents("a.h264") == expected)
    #expect(summary.counters.written == 5000)
    #expect(summary.counters.offered == 5000)
  }

  @Test("a file as long as it may be is an error, not the end of the process")
  func fileLimit() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      var limit = rlimit(rlim_cur: 60_000, rlim_max: 60_000)
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let lane = try OutputLane(
        OutputLane.Configuration(
          target: .path(folder("a.h264")), format: ElementaryStreamOutput.format(of: .testH264)))
      for number in 0..<1000 {
        let arrival = Instant(nanoseconds: Int64(number) * 1_000_000)
        lane.write(
          AccessUnit(
            codec: .testH264, bytes: ByteBuffer(repeating: 7, count: 1000), units: [],
            time: MediaTime(ticks: 0, timescale: 1), firstArrival: arrival, lastArrival: arrival,
            isRandomAccess: true))
        if number == 20 { try await eventually { lane.counters.written == 21 } }
      }
      let summary = await lane.finish()
      #expect(summary.error == .writeFailed(errno: EFBIG))
      #expect(try folder.contents("a.h264").count == 60_000)
    }
  }
}
