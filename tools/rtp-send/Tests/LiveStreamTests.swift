import BlockingIO
import Impairment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

@Suite struct LiveStreamTests {
  static func unit(_ number: Int, isKey: Bool = false, length: Int = 100) -> SourceAccessUnit {
    var bytes = ByteBuffer(bytes: [isKey ? 0x65 : 0x41])
    bytes.writeInteger(UInt32(number))
    bytes.writeRepeatingByte(0x55, count: max(0, length - 5))
    return SourceAccessUnit(
      units: [bytes], presentationTicks: Int64(number) * 3000, decodingTicks: Int64(number) * 3000,
      isRandomAccess: isKey)
  }

  static func stream(
    _ readership: LiveStream.Readership, isLive: Bool = true
  ) -> LiveStream {
    let stream = LiveStream(name: "test", for: readership, isLive: isLive, wanted: [.video])
    stream.open(LiveStream.Contents(video: .init(codec: .h264, parameterSets: [:])))
    return stream
  }

  /// The numbers of the units that a reader has now.
  private func numbers(_ reader: LiveVideo) throws -> [Int64] {
    var numbers: [Int64] = []
    while let unit = try reader.next().element { numbers.append(unit.decodingTicks / 3000) }
    return numbers
  }

  @Test func readersBeginAtTheNewestKeyPicture() throws {
    let stream = Self.stream(.many)
    let early = try LiveVideo(stream)
    for number in 0..<8 {
      #expect(stream.append(Self.unit(number, isKey: number == 2 || number == 5)))
    }
    let late = try LiveVideo(stream)
    #expect(try numbers(early) == [2, 3, 4, 5, 6, 7])
    #expect(try numbers(late) == [5, 6, 7])
    _ = stream.append(Self.unit(8))
    stream.finish()
    #expect(try numbers(early) == [8])
    #expect(try numbers(late) == [8])
    guard case .end = try late.next() else { return #expect(Bool(false), "no end") }
  }

  @Test func whoeverComesAgainGoesOnAtTheNewestKeyPicture() throws {
    let stream = Self.stream(.many)
    let reader = try LiveVideo(stream)
    for number in 0..<3 { _ = stream.append(Self.unit(number, isKey: number == 0)) }
    #expect(try numbers(reader) == [0, 1, 2])
    // Within the same group nothing is left out.
    _ = stream.append(Self.unit(3))
    reader.rejoin()
    #expect(try numbers(reader) == [3])
    for number in 4..<12 { _ = stream.append(Self.unit(number, isKey: number % 5 == 0)) }
    reader.rejoin()
    #expect(try numbers(reader) == [10, 11])
  }

  @Test func aReaderThatIsTooSlowGoesOnAtAKeyPicture() throws {
    let stream = Self.stream(.many)
    let (slow, quick) = (try LiveVideo(stream), try LiveVideo(stream))
    let length = LiveStream.longestLine / 10
    var seen: [Int64] = []
    for number in 0..<20 {
      _ = stream.append(Self.unit(number, isKey: number % 4 == 0, length: length))
      seen += try numbers(quick)
    }
    #expect(seen == Array(0..<20))
    let late = try numbers(slow)
    let first = try #require(late.first)
    #expect(first > 0 && first % 4 == 0)
    #expect(late == Array(first..<20))
  }

  /// One group of pictures that is longer than the line.
  @Test func aGroupThatIsTooLongIsLeftOut() throws {
    let stream = Self.stream(.many)
    let length = LiveStream.longestLine / 10
    for number in 0..<25 {
      _ = stream.append(Self.unit(number, isKey: number == 0, length: length))
    }
    let reader = try LiveVideo(stream)
    #expect(try numbers(reader) == [])
    _ = stream.append(Self.unit(25, isKey: true))
    #expect(try numbers(reader) == [25])
  }

  @Test func theOneReaderIsWaitedFor() async throws {
    let stream = Self.stream(.one)
    let length = LiveStream.longestHeldLine / 10
    let thread = try WorkerThread {
      for number in 0..<100 { _ = stream.append(Self.unit(number, length: length)) }
      stream.finish()
    }
    let seen = try await withDeadline {
      let reader = try LiveVideo(stream)
      let (wakes, continuation) = AsyncStream.makeStream(of: Void.self)
      reader.notify { continuation.yield() }
      var seen: [Int64] = []
      var wake = wakes.makeAsyncIterator()
      while true {
        switch try reader.next() {
        case .next(let unit): seen.append(unit.decodingTicks / 3000)
        case .nothingYet: _ = await wake.next()
        case .end: return seen
        }
      }
    }
    #expect(seen == Array(0..<100))
    _ = await thread.join()
  }

  @Test func stoppingEndsAWaitForRoom() async throws {
    let stream = Self.stream(.one)
    let thread = try WorkerThread {
      while stream.append(Self.unit(0, length: LiveStream.longestHeldLine)) {}
    }
    stream.stop()
    #expect(try await withDeadline { await thread.join() } == .ended)
  }

  /// A writer that changes the size of its pictures.
  @Test func whatIsKnownHasTheParameterSetsThatCameLast() throws {
    let (first, second) = (ByteBuffer(bytes: [0x67, 1]), ByteBuffer(bytes: [0x67, 2]))
    let pictures = ByteBuffer(bytes: [0x68, 1])
    let stream = LiveStream(name: "test", for: .many, isLive: true, wanted: [.video])
    stream.open(
      LiveStream.Contents(
        video: .init(codec: .h264, parameterSets: [.sequence: [first], .picture: [pictures]])))
    #expect(stream.append(Self.unit(0, isKey: true)))
    #expect(stream.knownContents?.video?.parameterSets[.sequence] == [first])
    var unit = Self.unit(1, isKey: true)
    unit.units.insert(second, at: 0)
    #expect(stream.append(unit))
    let sets = stream.knownContents?.video?.parameterSets
    #expect(sets == [.sequence: [second], .picture: [pictures]])
    #expect(try StreamDescription(of: .live(stream)).parameterSets == sets)
  }

  @Test func whoeverWaitsForTheBeginningHearsOfTheEnd() async throws {
    let stream = LiveStream(name: "test", for: .one, isLive: true, wanted: [.video])
    let contents = Task { try await stream.contents() }
    stream.finish(.noVideo(path: "test"))
    await #expect(throws: SendError.noVideo(path: "test")) { try await contents.value }
  }

  private func delivery(
    _ stream: LiveStream, _ pacing: Pacing, _ impairments: Impairments = Impairments()
  ) throws -> Delivery {
    let configuration = PacketFeed.Configuration(
      recipe: .live(stream),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    return try Delivery(
      try PacketFeed(configuration), through: NetworkSimulator(impairments, seed: 1),
      pacing: pacing)
  }

  /// Everything that leaves by `now`, as timestamps.
  private func leaving(_ delivery: inout Delivery, at now: Int64) throws -> [UInt32] {
    try delivery.prepare()
    var timestamps: [UInt32] = []
    while let deadline = delivery.deadline, deadline.nanoseconds <= now {
      delivery.step(to: Instant(nanoseconds: now))
      while let datagram = delivery.release(by: Instant(nanoseconds: now)) {
        timestamps.append(try RTPPacket(parsing: datagram.bytes).timestamp)
      }
      try delivery.prepare()
    }
    return timestamps
  }

  @Test func whatIsLiveIsSentAsItComes() throws {
    let stream = Self.stream(.many)
    var delivery = try delivery(stream, .mediaTime(speed: 1))
    delivery.begin(at: Instant(nanoseconds: 0))
    #expect(delivery.deadline == nil)
    #expect(!delivery.isFinished)
    _ = stream.append(Self.unit(0, isKey: true))
    _ = stream.append(Self.unit(1))
    #expect(try leaving(&delivery, at: 7_000_000_000) == [0, 3000])
    #expect(delivery.deadline == nil)
    // Its times say where it is in the medium, and not when it is sent.
    let second = delivery.timestamp(at: Instant(nanoseconds: 8_000_000_000), ofTrack: 0)
    #expect((92_900...93_000).contains(second))
    stream.finish()
    #expect(try leaving(&delivery, at: 8_000_000_000) == [])
    #expect(delivery.isFinished)
  }

  /// A bad network delays it from the moment at which it came.
  @Test func whatIsLiveIsDelayedFromWhenItCame() throws {
    var impairments = Impairments()
    impairments.delay.mean = 200_000_000
    let stream = Self.stream(.many)
    var delivery = try delivery(stream, .mediaTime(speed: 1), impairments)
    delivery.begin(at: Instant(nanoseconds: 0))
    _ = stream.append(Self.unit(0, isKey: true))
    #expect(try leaving(&delivery, at: 7_000_000_000) == [])
    _ = stream.append(Self.unit(1))
    #expect(try leaving(&delivery, at: 7_150_000_000) == [])
    #expect(try leaving(&delivery, at: 7_200_000_000) == [0])
    #expect(try leaving(&delivery, at: 7_349_000_000) == [])
    #expect(try leaving(&delivery, at: 7_350_000_000) == [3000])
  }

  @Test func whatIsPacedIsSentByItsTimesFromTheFirstOnThatComes() throws {
    let stream = Self.stream(.one, isLive: false)
    var delivery = try delivery(stream, .mediaTime(speed: 1))
    delivery.begin(at: Instant(nanoseconds: 0))
    #expect(delivery.deadline == nil)
    for number in 0..<4 { _ = stream.append(Self.unit(number, isKey: number == 0)) }
    #expect(try leaving(&delivery, at: 7_000_000_000) == [0])
    #expect(try leaving(&delivery, at: 7_033_000_000) == [])
    #expect(try leaving(&delivery, at: 7_067_000_000) == [3000, 6000])
  }
}
