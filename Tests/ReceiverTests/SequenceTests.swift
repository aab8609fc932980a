import RTPSend
import RTPWire
import Receiver
import Testing

/// Frames and access units as asynchronous sequences, of a sender that sends all at once.
struct SequenceTests {
  private static let count = 40

  private static func receiver(end: TransportEnd? = .ended) throws -> Receiver {
    let stream = try PatternStream(
      .h264, frames: count, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    var script = ScriptedTransport.Script()
    script.media = [stream.media]
    script.datagrams = stream.packets.map {
      Datagram(bytes: $0, arrival: Instant(nanoseconds: 0))
    }
    script.end = end
    script.readSize = 8
    return try Receiver(
      transport: ScriptedTransport(script), configuration: Receiver.Configuration())
  }

  @Test func everyFrameComesInOrderHoweverSlowTheLoopIs() async throws {
    let receiver = try Self.receiver()
    var times: [Int64] = []
    for await frame in receiver.frames(.everyOne) {
      times.append(frame.time.ticks)
      for _ in 0..<20 { await Task.yield() }
    }
    #expect(times.count == Self.count)
    #expect(times == times.sorted())
    #expect(await receiver.run().status.delivery.frames == UInt64(Self.count))
  }

  @Test(arguments: [(BackPressure.latest, 1), (.atMost(3), 3), (.atMost(0), 1), (.atMost(99), 40)])
  func whoComesLateHasTheNewest(_ pressure: BackPressure, _ expected: Int) async throws {
    let receiver = try Self.receiver()
    let frames = receiver.frames(pressure)
    let all = receiver.frames(.atMost(Self.count))
    _ = await receiver.run()
    var times: [Int64] = []
    for await frame in all { times.append(frame.time.ticks) }
    var late: [Int64] = []
    for await frame in frames { late.append(frame.time.ticks) }
    #expect(times.count == Self.count)
    #expect(late == Array(times.suffix(expected)))
  }

  @Test func nothingIsDecodedForAccessUnits() async throws {
    let receiver = try Self.receiver()
    var count = 0
    for await unit in receiver.accessUnits() {
      #expect(unit.integrity == .whole)
      count += 1
    }
    #expect(count == Self.count)
    #expect(await receiver.run().status.delivery.frames == 0)
  }

  @Test func leavingTheLoopEndsTheRun() async throws {
    let receiver = try Self.receiver(end: nil)
    for await _ in receiver.frames(.latest) { break }
    guard case .stopped = await receiver.run().reason else {
      Issue.record("the run went on")
      return
    }
  }

  @Test func cancellingTheTaskEndsTheLoopAndTheRun() async throws {
    let receiver = try Self.receiver(end: nil)
    let task = Task {
      var count = 0
      for await _ in receiver.frames() { count += 1 }
      return count
    }
    for await _ in receiver.frames(.latest) { break }
    task.cancel()
    _ = await task.value
    guard case .stopped = await receiver.run().reason else {
      Issue.record("the run went on")
      return
    }
  }

  @Test func cancellingTheTaskThatRunsEndsTheRun() async throws {
    let receiver = try Self.receiver(end: nil)
    let frames = receiver.frames()
    let task = Task { await receiver.run() }
    // All have come, and the sender is silent.
    var count = 0
    for await _ in frames {
      count += 1
      if count == Self.count { task.cancel() }
    }
    guard case .stopped = await task.value.reason else {
      Issue.record("the run went on")
      return
    }
  }

  @Test func aTaskThatWasCancelledBeforehandRunsNothingForLong() async throws {
    let receiver = try Self.receiver(end: nil)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await receiver.run()
    }
    task.cancel()
    guard case .stopped = await task.value.reason else {
      Issue.record("the run went on")
      return
    }
  }

  @Test(.timeLimit(.minutes(1))) func aLoopThatBeginsBehindTheEndIsOver() async throws {
    let receiver = try Self.receiver()
    for await _ in receiver.frames() {}
    _ = await receiver.run()
    for await _ in receiver.frames() { Issue.record("a picture behind the end") }
    for await _ in receiver.accessUnits() { Issue.record("an access unit behind the end") }
    for await _ in receiver.sound() { Issue.record("sound behind the end") }
  }
}
