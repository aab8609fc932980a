import Foundation
import Glibc
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

struct DatagramReaderTests {
  /// Received datagrams are kept, so that no read may overwrite what an earlier one delivered.
  ///
  /// Spacing begins after the pacer's first window, and pauses whenever a read finds nothing, so
  /// both ways of reading and the changes between them come up many times here.
  @Test(arguments: [Double.infinity, 1])
  func whatIsSentComesWholeAndInOrderHoweverItIsRead(fastRate: Double) async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: fastRate, slowRate: fastRate))
    let sender = try await FarEnd()
    let sizes = [0, 20, 1388, 1388, 1388, 8000]
    let packets = (0..<3000).map { rtp(UInt16($0), payload: sizes[$0 % sizes.count]) }
    for start in stride(from: 0, to: packets.count, by: 10) {
      for packet in packets[start..<start + 10] {
        try await sender.send(packet, to: receiver.address)
      }
      // No more in flight than the smallest buffer holds.
      _ = try await receiver.received.first(start)
    }
    let received = try await receiver.received.first(packets.count)
    #expect(received.map(\.bytes) == packets)
    #expect(received.allSatisfy { $0.origin == sender.address })
    try await receiver.close()
    try await sender.close()
  }

  @Test(arguments: [Double.infinity, 1])
  func datagramsOfNoBytesAreReadLikeOthers(fastRate: Double) async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: fastRate, slowRate: fastRate))
    let sender = try await FarEnd()
    for number in 0..<500 as Range<UInt16> {
      try await sender.send(ByteBuffer(), rtp(number), ByteBuffer(), to: receiver.address)
      _ = try await receiver.received.first(3 * max(0, Int(number) - 10))
    }
    let received = try await receiver.received.first(1500).map(\.bytes)
    #expect(received.filter { $0.readableBytes > 0 } == (0..<500).map { rtp($0) })
    try await receiver.close()
    try await sender.close()
  }

  /// The sender hands the kernel many datagrams at once, which cuts them apart only where nobody
  /// takes them together.
  @Test(
    .enabled(if: System.supportsUDPSegmentationOffload), arguments: [Double.infinity, 1],
    [false, true])
  func datagramsThatTheKernelMergedComeApart(fastRate: Double, areStamped: Bool) async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: fastRate, slowRate: fastRate))
    let sender = try await FarEnd()
    if areStamped { try await receiver.set(SOL_SOCKET, SO_TIMESTAMPNS, 1) }
    let length = rtp(0, payload: 1388).readableBytes
    try await sender.set(CInt(IPPROTO_UDP), Self.segment, CInt(length))
    var packets: [ByteBuffer] = []
    for picture in 0..<200 {
      var joint = ByteBuffer()
      for part in 0..<7 {
        // The last part of a picture is shorter.
        let packet = rtp(UInt16(picture * 7 + part), payload: part < 6 ? 1388 : 100)
        packets.append(packet)
        joint.writeImmutableBuffer(packet)
      }
      try await sender.send(joint, to: receiver.address)
      _ = try await receiver.received.first(max(0, packets.count - 70))
    }
    let received = try await receiver.received.first(packets.count)
    #expect(received.map(\.bytes) == packets)
    #expect(received.allSatisfy { $0.origin == sender.address })
    try await receiver.close()
    try await sender.close()
  }

  /// `UDP_SEGMENT` of <linux/udp.h>, which Swift does not import.
  private static let segment: CInt = 103

  @Test func sendersAreToldApartInASpacedRead() async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: 1, slowRate: 1))
    let senders = try await [FarEnd(), FarEnd("127.0.0.2"), FarEnd()]
    for number in 0..<900 as Range<UInt16> {
      try await senders[Int(number) % 3].send(rtp(number), to: receiver.address)
      _ = try await receiver.received.first(max(0, Int(number) - 20))
    }
    let received = try await receiver.received.first(900)
    for datagram in received {
      let number: UInt16 = try #require(
        datagram.bytes.getInteger(at: datagram.bytes.readerIndex + 2))
      #expect(datagram.origin == senders[Int(number) % 3].address)
    }
    for end in senders + [receiver] { try await end.close() }
  }

  /// A machine that has no time may read long after the time for which datagrams were to gather.
  @Test func whatIsReadLateHasTheTimesAtWhichItCame() async throws {
    // The kernel's times are those of a clock that may be set meanwhile, more often on a virtual
    // machine. Then they say nothing.
    let stamping = try await Self.awaitStamping()
    let before = Self.universalOffset
    let distance = try await Self.distanceOfLateReads()
    withExtendedLifetime(stamping) {}
    guard abs(Self.universalOffset - before) < 0.01 else { return }
    #expect(distance >= .milliseconds(200))
  }

  /// The first report since media gathers is read at once, and the media before it; the others when
  /// the media is.
  @Test func reportsWakeNobodyWhileMediaGathers() async throws {
    // One of its own, whose turns are counted.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    let received = Record<Datagram.Channel>()
    let (readers, addresses) = try await Self.gatheringReaders(into: received, on: eventLoop)
    let sender = try await FarEnd()
    // The first read of media begins to gather.
    try await sender.send(rtp(0), to: addresses[0])
    _ = try await received.first(1)
    // What has read is done with it.
    try await eventLoop.submit {}.get()
    try await sender.send(senderReport(), to: addresses[1])
    #expect(try await received.first(2) == [.media, .control])
    try await eventLoop.submit {}.get()
    try await sender.send(senderReport(), to: addresses[1])
    for _ in 0..<5 { try await eventLoop.submit {}.get() }
    #expect(received.elements.count == 2)
    try await sender.send(rtp(1), rtp(2), to: addresses[0])
    try await eventLoop.submit { readers.value[0].readGathered() }.get()
    #expect(try await received.first(5).dropFirst(2) == [.media, .media, .control])
    // Where no media comes, reports are read as they come.
    try await eventLoop.submit { readers.value[0].readGathered() }.get()
    try await sender.send(senderReport(), to: addresses[1])
    #expect(try await received.first(6).last == .control)
    try await eventLoop.submit { readers.value.forEach { $0.stop() } }.get()
    try await sender.close()
    try await group.shutdownGracefully()
  }

  @Test func whatHasGatheredIsReadWhenNothingIsToGatherAnyMore() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    let received = Record<Datagram.Channel>()
    let (readers, addresses) = try await Self.gatheringReaders(into: received, on: eventLoop)
    let sender = try await FarEnd()
    try await sender.send(rtp(0), to: addresses[0])
    _ = try await received.first(1)
    try await eventLoop.submit {}.get()
    try await sender.send(rtp(1), rtp(2), to: addresses[0])
    try await eventLoop.submit {
      readers.value[0].gather(for: .zero, bufferSize: 1 << 20)
    }.get()
    #expect(received.elements.count == 3)
    try await eventLoop.submit { readers.value.forEach { $0.stop() } }.get()
    try await sender.close()
    try await group.shutdownGracefully()
  }

  @Test("a reader that is paused inside of a read tells the read's end, and goes on later")
  func pausedInsideOfARead() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    let arrivals = Record<Instant>()
    let ends = Record<Int>()
    let (address, bound) = try await eventLoop.submit {
      let socket = try DatagramSocket.bound(to: endpoint("127.0.0.1", 0))
      var reader: DatagramReader?
      let made = DatagramReader(
        socket, as: .media, on: eventLoop,
        for: .init(
          datagram: { datagram, _ in
            arrivals.append(datagram.arrival)
            if arrivals.elements.count == 1 { reader?.pause() }
          }, readCompleted: { _ in ends.append(arrivals.elements.count) },
          failed: { Issue.record("the reader failed: \($0)") }))
      reader = made
      _ = made.start()
      return (try #require(socket.localAddress), NIOLoopBound(made, eventLoop: eventLoop))
    }.get()
    let sender = try await FarEnd()
    try await sender.send(rtp(0), to: address)
    #expect(try await ends.first(1) == [1])
    try await sender.send(rtp(1), to: address)
    try await eventLoop.flatSubmit { bound.value.start() }.get()
    let times = try await arrivals.first(2)
    #expect(times[0] < times[1])
    #expect(try await ends.first(2) == [1, 2])
    try await eventLoop.submit { bound.value.stop() }.get()
    try await sender.close()
    try await group.shutdownGracefully()
  }

  /// RTCP is read inside of the reads of media, whose memory is free again by then.
  @Test func readsOfAThreadShareTheirMemory() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    let received = Record<Datagram.Channel>()
    let (readers, addresses) = try await Self.gatheringReaders(into: received, on: eventLoop)
    let sender = try await FarEnd()
    try await sender.send(rtp(0), to: addresses[0])
    _ = try await received.first(1)
    var places: Set<UInt> = []
    for number in 1...6 as ClosedRange<UInt16> {
      try await sender.send(rtp(number), to: addresses[0])
      try await eventLoop.submit { readers.value[0].readGathered() }.get()
      _ = try await received.first(Int(number) + 1)
      places.insert(
        try await eventLoop.submit {
          let memory = VectorMemory.ofThread
          let (storage, gathered) = memory.take()
          defer { memory.giveBack(storage, gathered) }
          return storage.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }.get())
    }
    #expect(places.count == 1)
    try await eventLoop.submit { readers.value.forEach { $0.stop() } }.get()
    try await sender.close()
    try await group.shutdownGracefully()
  }

  /// Starts both on sockets of their own; returns them with their addresses.
  private static func gatheringReaders(
    into received: Record<Datagram.Channel>, on eventLoop: any EventLoop
  ) async throws -> (NIOLoopBoundBox<[DatagramReader]>, [SocketAddress]) {
    let readers = NIOLoopBoundBox<[DatagramReader]>.makeBoxSendingValue([], eventLoop: eventLoop)
    let addresses = try await eventLoop.flatSubmit {
      eventLoop.makeCompletedFuture {
        let sockets = try (0..<2).map { _ in
          try DatagramSocket.bound(to: endpoint("127.0.0.1", 0))
        }
        readers.value = gatheringReaders(sockets, into: received, on: eventLoop)
        return try sockets.map { try #require($0.localAddress) }
      }.flatMap { (addresses: [SocketAddress]) in
        EventLoopFuture.andAllSucceed(readers.value.map { $0.start() }, on: eventLoop)
          .map { addresses }
      }
    }.get()
    return (readers, addresses)
  }

  /// A reader of media that gathers for long, and one of RTCP that it leads.
  private static func gatheringReaders(
    _ sockets: [DatagramSocket], into received: Record<Datagram.Channel>,
    on eventLoop: any EventLoop
  ) -> [DatagramReader] {
    var pacer = ReadPacer()
    let now = Instant(NIODeadline.now())
    for past in (1...60).reversed() {
      _ = pacer.delay(afterReading: 8, now: now.advanced(by: .milliseconds(-40 * past)))
    }
    let readers = zip(sockets, [Datagram.Channel.media, .control]).map { socket, channel in
      DatagramReader(
        socket, as: channel, on: eventLoop, pacer: channel == .media ? pacer : ReadPacer(),
        for: .init(
          datagram: { datagram, _ in received.append(datagram.channel) }, readCompleted: { _ in },
          failed: { Issue.record("the reader failed: \($0)") }))
    }
    readers[0].gather(for: .seconds(60), bufferSize: 256 << 20)
    readers[0].lead(readers[1])
    return readers
  }

  /// Waits until the kernel notes arrivals.
  ///
  /// It begins some time after a socket asks for it; what came before has the time at which it is
  /// read.
  ///
  /// - Returns: a socket that has it go on.
  private static func awaitStamping() async throws -> DatagramSocket {
    let socket = try DatagramSocket.bound(to: endpoint("127.0.0.1", 0))
    socket.stampArrivals()
    let address = try #require(socket.localAddress)
    let sender = try await FarEnd()
    var storage = ByteBuffer()
    var received: [DatagramSocket.Received] = []
    let deadline = ContinuousClock.now + .seconds(60)
    while (received.first?.age ?? 0) < 4_000_000 {
      try #require(ContinuousClock.now < deadline, "the kernel does not note arrivals")
      try await sender.send(rtp(0), to: address)
      // So long is what waits to be read late.
      try await Task.sleep(for: .milliseconds(5))
      socket.receive(into: &storage, &received)
    }
    try await sender.close()
    return socket
  }

  /// Seconds between the universal clock and the one that is never set.
  private static var universalOffset: Double {
    Date().timeIntervalSince1970 - Double(NIODeadline.now().uptimeNanoseconds) / 1e9
  }

  /// Between the arrivals of two datagrams that came a quarter of a second apart, and were read
  /// together.
  private static func distanceOfLateReads() async throws -> Duration {
    let arrivals = Record<Instant>()
    let pause = DispatchSemaphore(value: 0)
    // One of its own, which this test stops.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    let address = try await eventLoop.submit {
      try gather(arrivals, pausing: pause, on: eventLoop)
    }.get()
    let sender = try await FarEnd()
    try await sender.send(rtp(0), to: address)
    _ = try await arrivals.first(1)
    try await sender.send(rtp(1), to: address)
    try await Task.sleep(for: .milliseconds(250))
    try await sender.send(rtp(2), to: address)
    pause.signal()
    let times = try await arrivals.first(3)
    try await sender.close()
    try await group.shutdownGracefully()
    return times[1].duration(to: times[2])
  }

  /// Reads three datagrams of a camera's stream of which there was some already, and does nothing
  /// between the first and the others until `pause` ends.
  private static func gather(
    _ arrivals: Record<Instant>, pausing pause: DispatchSemaphore, on eventLoop: any EventLoop
  ) throws -> SocketAddress {
    let socket = try DatagramSocket.bound(to: endpoint("127.0.0.1", 0))
    var pacer = ReadPacer()
    let now = Instant(NIODeadline.now())
    for past in (1...60).reversed() {
      _ = pacer.delay(afterReading: 8, now: now.advanced(by: .milliseconds(-40 * past)))
    }
    var reader: DatagramReader?
    let made = DatagramReader(
      socket, as: .media, on: eventLoop, pacer: pacer,
      for: .init(
        datagram: { datagram, _ in
          arrivals.append(datagram.arrival)
          switch arrivals.elements.count {
          case 1: _ = pause.wait(timeout: .now() + 60)
          case 3: reader?.stop()
          default: break
          }
        }, readCompleted: { _ in }, failed: { Issue.record("the reader failed: \($0)") }))
    reader = made
    made.gather(for: .milliseconds(100), bufferSize: 8 << 20)
    _ = made.start()
    return try #require(socket.localAddress)
  }
}
