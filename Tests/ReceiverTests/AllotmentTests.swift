import Bitstream
import Decode
import Defragment
import NIOCore
import Outputs
import RTPSend
import RTPWire
import Testing

@testable import Receiver

struct AllotmentTests {
  private func unit(
    isRandomAccess: Bool = false, integrity: AccessUnit.Integrity = .whole,
    fields: AccessUnit.Fields? = nil
  ) -> AccessUnit {
    var unit = AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(bytes: [0, 0, 0, 1, 0x65, 0x88, 0x84, 0x21]),
      units: [NALUnit(offset: 4, length: 4, type: 5)],
      time: MediaTime(ticks: 0, timescale: 90_000), firstArrival: Instant(nanoseconds: 0),
      lastArrival: Instant(nanoseconds: 0), integrity: integrity, isRandomAccess: isRandomAccess,
      dependency: fields.map { _ in PictureDependency(references: .earlier) })
    unit.fields = fields
    return unit
  }

  private func allotment(
    frameLimit: UInt64? = nil, decodes: Bool = true
  ) -> Allotment {
    var configuration = Receiver.Configuration()
    configuration.frameLimit = frameLimit
    if !decodes { configuration.onAccessUnit = { _ in } }
    return Allotment(configuration, measuresLatency: true)
  }

  @Test("a limit counts access units only where none is decoded", arguments: [true, false])
  func limitOfUnits(decodes: Bool) {
    var allotment = allotment(frameLimit: 2, decodes: decodes)
    var areLast: [Bool?] = []
    for _ in 0..<3 { areLast.append(allotment.take(unit())?.isLast) }
    let expected: [Bool?] = decodes ? [false, false, false] : [false, true, nil]
    #expect(areLast == expected)
    #expect(allotment.isOver == !decodes)
    #expect(allotment.isComplete == !decodes)
    #expect(allotment.statistics.accessUnits == (decodes ? 3 : 2))
  }

  @Test("the two fields of a frame count once, and the last frame gets its second one")
  func limitOfFields() {
    var allotment = allotment(frameLimit: 2, decodes: false)
    var areLast: [Bool?] = []
    for fields: AccessUnit.Fields in [.first, .second, .first, .second, .first] {
      areLast.append(allotment.take(unit(fields: fields))?.isLast)
    }
    #expect(areLast == [false, false, false, true, nil])
    #expect(allotment.hasEnough)
    let statistics = allotment.statistics
    #expect(statistics.usableUnits == 2 && statistics.accessUnits == 4)
    #expect(statistics.pictures.pictures == 2 && statistics.pictures.codedBytes == 32)
  }

  @Test("behind a field that has no other one, the limit holds as well")
  func limitBehindALoneField() {
    var allotment = allotment(frameLimit: 1, decodes: false)
    let first = allotment.take(unit(fields: .first))
    #expect(first?.isLast == false)
    // The other one may be still to come.
    #expect(allotment.isComplete && !allotment.hasEnough)
    let next = allotment.take(unit(fields: .first))
    #expect(next == Allotment.UnitShare.surplus)
    #expect(allotment.hasEnough && allotment.statistics.accessUnits == 1)
  }

  @Test(
    "who wants what decides whether to decode",
    arguments: [
      // A closure for units; a loop over frames; a loop over units; whether to decode.
      (false, false, false, true), (true, false, false, false), (false, false, true, false),
      (true, true, false, true), (false, true, true, true),
    ])
  func decoding(hasClosure: Bool, hasFrameTaker: Bool, hasUnitTaker: Bool, expected: Bool) {
    var allotment = allotment(decodes: !hasClosure)
    allotment.hasFrameTaker = hasFrameTaker
    allotment.hasUnitTaker = hasUnitTaker
    let share = allotment.take(unit())
    #expect(share?.isForDecoder == expected)
  }

  @Test("the first picture that is not intact asks for a key picture, and those behind it do not")
  func pictureThatLacksAReference() {
    var allotment = allotment()
    let time = MediaTime(ticks: 0, timescale: 90_000)
    let answers = (0..<2).map { _ in
      allotment.noteSkipped(time, arrival: Instant(nanoseconds: 0))
      return allotment.take(unit())?.canContinue
    }
    #expect(answers == [false, true])
  }

  @Test func unitsWithWhichDecodingCanBeginAreCounted() {
    var allotment = allotment()
    for isRandomAccess in [false, true, false] {
      _ = allotment.take(unit(isRandomAccess: isRandomAccess))
    }
    #expect(allotment.statistics.keyUnits == 1)
  }

  @Test func afterAFullQueueTheDecoderGetsNothingBeforeARandomAccessPoint() {
    var allotment = allotment()
    var areAdmitted = [allotment.admitToDecoder(unit())]
    allotment.decoderWasFull()
    for isRandomAccess in [false, true, false] {
      areAdmitted.append(allotment.admitToDecoder(unit(isRandomAccess: isRandomAccess)))
    }
    #expect(areAdmitted == [true, false, true, true])
    #expect(allotment.statistics.droppedBeforeDecoder == 2)
  }

  @Test func onTheNextConnectionOutputsGetNothingBeforeARandomAccessPoint() {
    var allotment = allotment(decodes: false)
    var areForOutputs = [allotment.take(unit())?.isForOutputs]
    allotment.decoderWasFull()
    allotment.connectionEnded()
    // The decoder was flushed, and finds such a point itself.
    let isAdmitted = allotment.admitToDecoder(unit())
    #expect(isAdmitted)
    for isRandomAccess in [false, true, false] {
      areForOutputs.append(allotment.take(unit(isRandomAccess: isRandomAccess))?.isForOutputs)
    }
    #expect(areForOutputs == [true, false, true, true])
    #expect(allotment.statistics.skippedAfterReconnecting == 1)
  }

  @Test(
    "a failure of the decoder is reported once, unless the next unit makes up for it",
    arguments: [
      (false, AccessUnit.Integrity.whole, false), (true, .whole, true), (true, .damaged, false),
    ])
  func failure(isRandomAccess: Bool, integrity: AccessUnit.Integrity, expected: Bool) {
    var allotment = allotment()
    allotment.note(.noPicture)
    var answers = [allotment.take(unit())?.canContinue]
    allotment.note(.decoder(code: -1, text: "no"))
    for next in [unit(isRandomAccess: isRandomAccess, integrity: integrity), unit()] {
      answers.append(allotment.take(next)?.canContinue)
    }
    #expect(answers == [true, expected, true])
    #expect(allotment.statistics.failures == [.noPicture: 1, .decoder: 1])
    #expect(allotment.statistics.damagedAccessUnits == (integrity == .damaged ? 1 : 0))
  }

  @Test("of recordings alone, the units are counted that they hold", arguments: [true, false])
  func limitOfRecordings(isAlone: Bool) async throws {
    let sent = try PatternStream(
      .h264, frames: 3,
      as: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    let units = try Playback(sent.datagrams, media: sent.media).accessUnits
    try #require(units.count == 3 && units[0].isRandomAccess)
    var configuration = Receiver.Configuration()
    configuration.frameLimit = 2
    let recording = try #require(OutputCatalogue.standard.format(named: "mp4"))
    configuration.outputs = [OutputRequest(argument: "x.mp4", format: recording, policy: .block)]
    if !isAlone { configuration.onAccessUnit = { _ in } }
    var allotment = Allotment(configuration, measuresLatency: true)
    var areLast: [Bool?] = []
    for unit in units[1...] + units { areLast.append(allotment.take(unit)?.isLast) }
    #expect(
      areLast == (isAlone ? [false, false, false, true, nil] : [false, true, nil, nil, nil]))
    #expect(allotment.statistics.usableUnits == 2)
    #expect(allotment.statistics.beforeKeyPicture == (isAlone ? 2 : 0))
  }

  @Test("a frame with which no recording can begin, because of its second field, does not count")
  func damagedSecondField() async throws {
    let sent = try PatternStream(
      .h264, frames: 3,
      as: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    let units = try Playback(sent.datagrams, media: sent.media).accessUnits
    try #require(units.count == 3 && units[0].isRandomAccess)
    var first = units[0]
    first.fields = .first
    var configuration = Receiver.Configuration()
    let recording = try #require(OutputCatalogue.standard.format(named: "mp4"))
    configuration.outputs = [OutputRequest(argument: "x.mp4", format: recording, policy: .block)]
    var allotment = Allotment(configuration, measuresLatency: true)
    for unit in [first, unit(integrity: .damaged, fields: .second), units[1]] {
      _ = allotment.take(unit)
    }
    #expect(allotment.statistics.usableUnits == 0)
    #expect(allotment.statistics.beforeKeyPicture == 3)
    for unit in units { _ = allotment.take(unit) }
    #expect(allotment.statistics.usableUnits == 3)
  }

  @Test func framesAreCountedUpToTheLimit() async throws {
    let sent = try PatternStream(
      .h264, frames: 1,
      as: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    let first = try #require(try Playback(sent.datagrams, media: sent.media).accessUnits.first)
    let frame = try #require(try await Playback.frames(of: [first]).first)
    let repeated = try #require(RawFrame(repeating: frame, at: frame.time))
    let now = Instant(nanoseconds: frame.lastArrival.nanoseconds + 3_000_000)

    var allotment = allotment(frameLimit: 2)
    let one = allotment.take(frame, at: now)
    #expect(one?.isLast == false && one?.number == 1)
    #expect(!allotment.isComplete)
    let two = allotment.take(repeated, at: Instant(nanoseconds: .max))
    #expect(two?.isLast == true && two?.number == 2)
    #expect(allotment.isComplete)
    let three = allotment.take(frame, at: now)
    #expect(three == nil)
    let another = allotment.take(unit())
    #expect(another == nil)
    #expect(allotment.statistics.frames == 2)
    #expect(allotment.statistics.conditions[.repeated] == 1)
    #expect(allotment.statistics.latency == 3_000_000)
    #expect(allotment.statistics.greatestLatency == 3_000_000)
  }
}
