import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// A capture whose disk accepts nothing more: a pipe that is not read.
struct StalledCaptureTests {
  /// Notes whether it is held, and delivers what it is told to.
  private final class Carrier: RTPTransport {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let holds = Record<Bool>()
    private let sink: NIOLoopBoundBox<(any DatagramSink)?>

    init() { sink = .makeBoxSendingValue(nil, eventLoop: eventLoop) }

    var clock: ArrivalClock { .monotonic }
    var isPassive: Bool { false }
    var longestSilence: Duration? { nil }
    var takesReports: Bool { false }

    func open(delivering sink: any DatagramSink) async throws {
      try await eventLoop.submit { [box = self.sink] in box.value = sink }.get()
    }

    func deliver(_ count: Int) async throws {
      try await eventLoop.submit { [sink] in
        let packet = rtp(1, payload: 60_000)
        for _ in 0..<count {
          sink.value?.receive(
            Datagram(bytes: packet, arrival: Instant(NIODeadline.now())))
        }
      }.get()
    }

    func sendFeedback(_ bytes: ByteBuffer, track: Int) {}
    func holdReading(_ isHeld: Bool) { holds.append(isHeld) }
    func counters() async -> TransportCounters { TransportCounters() }
    func close() {
      eventLoop.execute { [sink] in
        let open = sink.value
        sink.value = nil
        open?.transportEnded(.closed)
      }
    }
  }

  private let path = NSTemporaryDirectory() + "\(UUID().uuidString).pipe"

  /// Has the thread write what it cannot write whole: a pipe takes a mebibyte at most.
  private func fill(_ reader: Int32, from carrier: Carrier) async throws {
    try await carrier.deliver(20)
    try await eventually("the pipe is full") {
      var waiting: Int32 = 0
      return ioctl(reader, UInt(FIONREAD), &waiting) == 0
        && waiting >= min(fcntl(reader, 1032), 1 << 20) - 65_536
    }
  }

  @Test func theCarrierWaitsOnceAndThenTheCaptureLosesWhatComes() async throws {
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { Glibc.close(reader) }
    let file = try CaptureFile(path: path)
    let carrier = Carrier()
    let transport = CapturingTransport(carrier, to: file)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    try await fill(reader, from: carrier)
    // More than half of what may wait.
    try await carrier.deliver(600)
    #expect(try await carrier.holds.first(2) == [true, false])
    // As much as may wait, and more: the carrier is not held for it again.
    try await carrier.deliver(400)
    #expect(file.counters.dropped > 0)
    #expect(carrier.holds.elements == [true, false])
    #expect(try await sink.datagrams.first(1020).count == 1020)
    transport.close()
    _ = try await sink.ends.first(1)
    #expect(await file.finish().failure == "its reader is too slow")
  }

  @Test func closingEndsTheWait() async throws {
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    let file = try CaptureFile(path: path)
    let carrier = Carrier()
    let sink = RecordingSink()
    let transport = CapturingTransport(carrier, to: file)
    try await transport.open(delivering: sink)
    try await fill(reader, from: carrier)
    try await carrier.deliver(600)
    #expect(carrier.holds.elements == [true])
    transport.close()
    _ = try await sink.ends.first(1)
    Glibc.close(reader)
    _ = await file.finish()
    try await carrier.eventLoop.submit {}.get()
    #expect(carrier.holds.elements == [true])
  }

  @Test func aPipeThatNobodyReadsIsSaidToBeOne() throws {
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let error = #expect(throws: TransportError.self) { try CaptureFile(path: path) }
    #expect("\(try #require(error))".contains("nobody reads this pipe"))
  }
}
