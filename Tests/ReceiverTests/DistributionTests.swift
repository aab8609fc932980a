import Bitstream
import Decode
import Defragment
import Foundation
import NIOCore
import NIOPosix
import Outputs
import RTPSend
import RTPWire
import TestSupport
import Testing
import Transports

@testable import Receiver

struct DistributionTests {
  private func unit(_ number: Int64, isRandomAccess: Bool) -> AccessUnit {
    AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(bytes: [0, 0, 0, 1, 0x65, 0x88, 0x84, 0x21]),
      units: [NALUnit(offset: 4, length: 4, type: 5)],
      time: MediaTime(ticks: number * 3000, timescale: 90_000),
      firstArrival: Instant(nanoseconds: number), lastArrival: Instant(nanoseconds: number),
      isRandomAccess: isRandomAccess)
  }

  /// A complete slice without parameter sets.
  @Test func aUnitThatCannotBeDecodedIsAReasonToAskForAKeyPicture() async throws {
    let distribution = Distribution(
      configuration: Receiver.Configuration(), clock: .monotonic, outputs: [], end: { _ in })
    #expect(distribution.deliver(unit(0, isRandomAccess: true)))
    try await eventually("the decoder fails") { !distribution.statistics.failures.isEmpty }
    #expect(!distribution.deliver(unit(1, isRandomAccess: false)))
    await distribution.finishDecoding(endsInGap: false)
  }

  /// A complete slice without parameter sets.
  @Test func whoWaitsForTheDecoderIsToldWhatItIsDoneWith() async throws {
    let distribution = Distribution(
      configuration: Receiver.Configuration(), clock: .monotonic, outputs: [], end: { _ in })
    let start = ContinuousClock.now
    let patience = Duration.seconds(30)
    #expect(distribution.deliver(unit(0, isRandomAccess: true)))
    await distribution.decoding.wait(
      notBefore: .zero, atMost: patience, on: MultiThreadedEventLoopGroup.singleton.next())
    #expect(!distribution.statistics.failures.isEmpty)
    #expect(ContinuousClock.now - start < patience)
    await distribution.finishDecoding(endsInGap: false)
  }

  /// A run may end within the time that the process takes to start.
  @Test(arguments: [true, false])
  func aProcessForTheDecoderThatIsReadyTooLateIsNotKept(hasDecoder: Bool) async {
    let distribution = Distribution(
      configuration: Receiver.Configuration(), clock: .monotonic, outputs: [], end: { _ in })
    if hasDecoder { _ = distribution.deliver(unit(0, isRandomAccess: true)) }
    if !hasDecoder { await distribution.finishDecoding(endsInGap: false) }
    weak var late: PreparedDecoderBox?
    func prepare() {
      let prepared = DecoderBox(executable: "/nowhere").prepare()
      late = prepared
      distribution.take(prepared)
    }
    prepare()
    #expect(late == nil)
    await distribution.finishDecoding(endsInGap: false)
  }

  @Test func aPreparedProcessIsKeptUntilTheEnd() async {
    let distribution = Distribution(
      configuration: Receiver.Configuration(), clock: .monotonic, outputs: [], end: { _ in })
    weak var prepared: PreparedDecoderBox?
    func prepare() {
      let box = DecoderBox(executable: "/nowhere").prepare()
      prepared = box
      distribution.take(box)
    }
    prepare()
    #expect(prepared != nil)
    await distribution.finishDecoding(endsInGap: false)
    #expect(prepared == nil)
  }

  @Test(
    "while packets gather, what a read brings is written at its end; another connection's at once")
  func gatheredUnits() async throws {
    let folder = try TemporaryFolder()
    let format = try #require(OutputCatalogue.standard.format(named: "h264"))
    let lane = try OutputLane(
      OutputLane.Configuration(target: .path(folder("a.h264")), format: format))
    let output = RunningOutput(name: "a.h264", format: format, holdsFarEnd: false, lane: lane)
    var configuration = Receiver.Configuration()
    configuration.outputs = [
      OutputRequest(argument: folder("a.h264"), format: format, policy: .dropOldest)
    ]
    let distribution = Distribution(
      configuration: configuration, clock: .monotonic, outputs: [output], end: { _ in })
    distribution.gather(true)
    for count in 1...3 as ClosedRange<UInt64> {
      for number in 0..<4 { _ = distribution.deliver(unit(Int64(number), isRandomAccess: true)) }
      distribution.readCompleted()
      try await eventually { lane.counters.written == count * 4 }
    }
    distribution.endConnection()
    _ = distribution.deliver(unit(0, isRandomAccess: true))
    try await eventually { lane.counters.written == 13 }
    _ = await lane.finish()
  }

  @Test("nothing is decoded behind the last frame that is wanted")
  func lastFrame() async throws {
    let sent = try PatternStream(
      .h264, frames: 6,
      as: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    let units = try Playback(sent.datagrams, media: sent.media).accessUnits
    try #require(units.count == 6)
    let allAreThere = DispatchSemaphore(value: 0)
    var configuration = Receiver.Configuration()
    configuration.frameLimit = 2
    configuration.onFrame = { frame in
      guard frame.time == units[0].time else { return }
      #expect(allAreThere.wait(timeout: .now() + 30) == .success)
    }
    let distribution = Distribution(
      configuration: configuration, clock: .monotonic, outputs: [], end: { _ in })
    for unit in units { #expect(distribution.deliver(unit)) }
    allAreThere.signal()
    await distribution.finishDecoding(endsInGap: false)
    #expect(distribution.statistics.frames == 2)
    #expect(distribution.statistics.failures == [.closed: 4])
    #expect(distribution.statistics.undecodedAtEnd == 0)
  }
}
