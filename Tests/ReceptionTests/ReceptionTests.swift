import Bitstream
import Defragment
import Impairment
import NIOCore
import RTPProcessor
import RTPSend
import RTPWire
import Reception
import TestSupport
import Testing

/// The receiving session with a sender and a network on a virtual clock.
@Suite struct ReceptionTests {
  static let start = Instant(nanoseconds: 1_000_000_000)

  @Test(
    "packets gather after ten seconds of media, where that is wanted and none is asked for again",
    arguments: [(false, true), (true, true), (false, false)])
  func gathering(isRepaired: Bool, canGather: Bool) throws {
    let sender = VirtualSender(units: 400, seed: 1, at: Instant(nanoseconds: 1_000_000_000))
    var media = sender.media
    if isRepaired { media.feedback.requests = [.nack] }
    var pair = try Pair(
      sender: sender, carrier: .init(canGather: canGather), describes: [media]
    ) {
      $0.gatheringTime = .milliseconds(200)
    }
    pair.drive(for: .seconds(16))
    #expect(pair.units.count >= 398)
    guard !isRepaired, canGather else { return #expect(pair.gatherings.isEmpty) }
    let gathering = try #require(pair.gatherings.first)
    #expect(pair.gatherings.count == 1 && gathering.time == .milliseconds(200))
    let began = try #require(pair.mediaBegan)
    #expect((10_000_000_000...10_050_000_000).contains(began.nanoseconds(to: gathering.at)))
    var without = try Pair(sender: sender)
    without.drive(for: .seconds(16))
    #expect(without.gatherings.isEmpty)
  }

  @Test("packets do not gather at the end of the run, in which they would be missing")
  func gatheringAtTheEnd() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 900, seed: 1, at: Self.start), carrier: .init(canGather: true)
    ) {
      $0.gatheringTime = .milliseconds(900)
      $0.duration = .seconds(15)
    }
    pair.drive(for: .seconds(16))
    #expect(pair.gatherings.map(\.time) == [.milliseconds(900), .zero])
    guard case .run(.durationReached)? = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
    let last = try #require(pair.units.last)
    let began = try #require(pair.mediaBegan)
    #expect(began.nanoseconds(to: last.lastArrival) > 14_900_000_000)
  }

  @Test("packets do not gather while somebody watches") func attended() throws {
    let sender = VirtualSender(units: 900, seed: 1, at: Self.start)
    var pair = try Pair(
      sender: sender, carrier: .init(canGather: true), describes: [sender.media]
    ) { $0.gatheringTime = .milliseconds(200) }
    pair.drive(for: .seconds(12))
    pair.attend(true)
    pair.drive(for: .seconds(2))
    #expect(pair.gatherings.map(\.time) == [.milliseconds(200), .zero])
    pair.attend(false)
    pair.drive(for: .seconds(2))
    #expect(pair.gatherings.map(\.time) == [.milliseconds(200), .zero, .milliseconds(200)])
    pair.attend(true)
    pair.finish()
    #expect(pair.reception.status.reception.lost == 0)
  }

  /// What fills a gap may wait unread where time alone would give it up.
  @Test(
    "nothing is lost that comes out of order while packets gather",
    arguments: 1...10 as ClosedRange<UInt64>)
  func gatheringOutOfOrder(seed: UInt64) throws {
    var impairments = Impairments()
    impairments.delay = .disorderly(jitter: 30_000_000)
    var pair = try Pair(
      sender: VirtualSender(units: 600, seed: seed, at: Self.start), impairments: impairments,
      seed: seed, carrier: .init(canGather: true)
    ) { $0.gatheringTime = .milliseconds(400) }
    pair.drive(for: .seconds(26))
    #expect(pair.gatherings.count == 1)
    pair.carrierEnded()
    pair.finish()
    #expect(pair.reception.status.reception.lost == 0)
    #expect(pair.wholeUnits == pair.sender.units)
  }

  @Test(
    "where reports come and no media, that is known, until the first packet",
    arguments: [true, false])
  func reportsAlone(isDescribed: Bool) throws {
    let media = MediaDescription(payloadType: 96, encodingName: "H264")
    var session = try Reception(
      Reception.Configuration(), on: .init(clock: .monotonic),
      randomness: SeededGenerator(seed: 1), at: Self.start)
    session.transportOpened(takesReports: false, at: Self.start)
    if isDescribed { session.described([media], at: Self.start) }
    #expect(!session.status.hasReportsAlone)
    for number in 1...3 {
      let report = ByteBuffer(bytes: [0x80, 200, 0, 6] + [UInt8](repeating: 7, count: 24))
      let arrival = Self.start.advanced(by: .seconds(number))
      session.receive(Datagram(bytes: report, arrival: arrival, channel: .control))
      #expect(session.status.hasReportsAlone)
    }
    let packet = ByteBuffer(bytes: [0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0x41, 0x9A])
    session.receive(Datagram(bytes: packet, arrival: Self.start.advanced(by: .seconds(4))))
    #expect(!session.status.hasReportsAlone)
  }

  /// Of a codec that nobody has said, through a connection.
  @Test(arguments: [false, true])
  func aSinglePacketIsAStreamOnceItIsOver(saysGoodbye: Bool) throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    var pair = try Pair(sender: silent, describes: [])
    // Parameter sets and a slice in an aggregation packet.
    pair.receive(
      ByteBuffer(bytes: [
        0x80, 0xE0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0x78, 0, 5, 0x67, 66, 0, 30, 0xFF, 0, 2, 0x68,
        0xFF, 0, 4, 0x65, 0x80, 0xFF, 0xFF,
      ]))
    if saysGoodbye {
      pair.receive(ByteBuffer(bytes: [0x81, 203, 0, 1, 0, 0, 0, 7]), on: .control)
    }
    pair.drive(for: .milliseconds(300))
    #expect(pair.reception.status.reception.delivered == (saysGoodbye ? 1 : 0))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.reception.status.reception.delivered == 1)
    #expect(pair.units.count == 1)
  }

  @Test func aCleanNetworkDeliversEveryUnit() throws {
    var pair = try Pair(sender: VirtualSender(units: 250, seed: 1, at: Self.start))
    pair.drive(for: .seconds(11))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
    #expect(pair.mediaBegan == Self.start)
    #expect(pair.isFinished)
    guard case .connection(.ended) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
  }

  struct Weather: Sendable, CustomStringConvertible {
    var description: String
    var impairments = Impairments()
  }

  static let weathers: [Weather] = {
    var lossy = Weather(description: "2 % lost")
    lossy.impairments.loss = 0.02
    var bursty = Weather(description: "bursts of 5")
    bursty.impairments.burstLoss = .init(probability: 0.02, meanLength: 5)
    var disordered = Weather(description: "out of order, twice, late")
    disordered.impairments.reordering = .init(probability: 0.1, depth: 5)
    disordered.impairments.duplication = 0.05
    disordered.impairments.delay = .disorderly(jitter: 3_000_000)
    var all = Weather(description: "all of it")
    all.impairments = disordered.impairments
    all.impairments.loss = 0.01
    all.impairments.garbage = 0.01
    return [lossy, bursty, disordered, all]
  }()

  /// The output is exact or says that it is not, and the counters balance.
  @Test(arguments: weathers, 1...5 as ClosedRange<UInt64>)
  func nothingWrongIsCalledWhole(weather: Weather, seed: UInt64) throws {
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: seed, at: Self.start),
      impairments: weather.impairments, seed: seed)
    pair.drive(for: .seconds(11))
    pair.carrierEnded()
    pair.finish()
    let sent = Set(pair.sender.units)
    for unit in pair.units where unit.integrity == .whole { #expect(sent.contains(unit.bytes)) }
    let reception = pair.reception.status.reception
    #expect(reception.isBalanced)
    #expect(pair.units.count > 150)
    if weather.impairments.loss == 0, weather.impairments.burstLoss == nil {
      #expect(pair.wholeUnits == pair.sender.units)
    }
  }

  /// RFC 4585: with a way back, losses are asked for and come again.
  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func lossesAreAskedFor(seed: UInt64) throws {
    var impairments = Impairments()
    impairments.loss = 0.03
    impairments.delay = .disorderly(jitter: 1_000_000)
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: seed, answers: true, at: Self.start),
      impairments: impairments, seed: seed)
    pair.drive(for: .seconds(11))
    pair.carrierEnded()
    pair.finish()
    let reception = pair.reception.status.reception
    #expect(reception.repaired > 10)
    #expect(pair.wholeUnits.count >= 245)
  }

  /// Nothing comes behind the last unit to show what is missing of it.
  @Test func theLastUnitIsAskedForToo() throws {
    var impairments = Impairments()
    impairments.loss = 0.1
    impairments.delay = .disorderly(jitter: 1_000_000)
    var tails: UInt64 = 0
    for seed in 1...20 as ClosedRange<UInt64> {
      var pair = try Pair(
        sender: VirtualSender(units: 30, seed: seed, answers: true, at: Self.start),
        impairments: impairments, seed: seed)
      pair.drive(for: .seconds(3))
      #expect(pair.wholeUnits.last == pair.sender.units.last, "seed \(seed)")
      let repair = pair.reception.status.reception.repair
      tails += repair.tailRequests
      #expect(repair.tailRequests <= 30, "seed \(seed)")
      #expect(pair.reception.status.reception.isBalanced)
    }
    #expect(tails > 5)
  }

  @Test func reportsAreSentAndGoodbyeIsSaid() throws {
    var pair = try Pair(sender: VirtualSender(units: 750, seed: 1, at: Self.start))
    pair.drive(for: .seconds(31))
    let reports = pair.feedback.count { if case .receiverReport = $0 { true } else { false } }
    #expect((4...16).contains(reports))
    pair.carrierEnded()
    pair.finish()
    guard case .goodbye = pair.feedback.last else {
      Issue.record("\(String(describing: pair.feedback.last))")
      return
    }
  }

  /// RFC 3550 §6.2, with the headers of IP and UDP.
  @Test("what is said takes a twentieth of what is heard at most", arguments: [0, 0.03])
  func share(loss: Double) throws {
    var impairments = Impairments()
    impairments.loss = loss
    var pair = try Pair(
      sender: VirtualSender(units: 1500, seed: 1, answers: true, at: Self.start),
      impairments: impairments)
    pair.drive(for: .seconds(60))
    let said = pair.sent.reduce(0) { $0 + $1.bytes.readableBytes + 28 }
    let heard = pair.sender.units.reduce(0) { $0 + $1.readableBytes }
    #expect(said > 0 && said * 20 < heard)
    // Without requests, the same holds of speech at 8 kbit/s.
    if loss == 0 { #expect(said * 20 < 60 * 1000) }
  }

  @Test func nobodyIsToldAnythingWhoDidNotAskForIt() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: 1, at: Self.start), takesReports: false)
    pair.drive(for: .seconds(11))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.sent.isEmpty)
  }

  // MARK: - Ends

  @Test(
    "a picture in progress is damaged where the stream ends, not where this side leaves",
    arguments: [true, false])
  func pictureInProgress(endsThere: Bool) throws {
    var pair = try Pair(sender: VirtualSender(units: 100, seed: 1, at: Self.start))
    pair.drive(for: .milliseconds(390))
    let complete = pair.sender.units
    let due = pair.now.advanced(by: .milliseconds(40))
    let packets = pair.sender.send(at: due)
    try #require(packets.count > 1)
    for packet in packets.dropLast() { pair.receive(packet.bytes) }
    if endsThere { pair.carrierEnded() }
    pair.finish()
    #expect(pair.isFinished)
    #expect(pair.wholeUnits == complete)
    #expect(pair.units.count { $0.integrity == .damaged } == (endsThere ? 1 : 0))
  }

  @Test(
    "a stream that ends while somebody is crowded ends with a damaged picture all the same",
    arguments: [true, false])
  func pictureInProgressBehindOthers(endsThere: Bool) throws {
    var pair = try Pair(sender: VirtualSender(units: 100, seed: 1, at: Self.start))
    pair.drive(for: .milliseconds(390))
    let complete = pair.sender.units
    pair.setCrowded(true)
    let due = pair.now.advanced(by: .milliseconds(40))
    let packets = pair.sender.send(at: due)
    try #require(packets.count > 1)
    for packet in packets.dropLast() { pair.receive(packet.bytes) }
    pair.carrierEnded(endsThere ? .ended : .closed)
    #expect(pair.end == nil)
    pair.finish()
    pair.setCrowded(false)
    #expect(pair.isFinished)
    #expect(pair.wholeUnits == complete)
    #expect(pair.units.count { $0.integrity == .damaged } == (endsThere ? 1 : 0))
    #expect(pair.reception.status.defragmentation?.leftOut == (endsThere ? 0 : 1))
  }

  struct Ending: Sendable, CustomStringConvertible {
    var description: String
    var units: Int
    var carrier = Reception.Carrier()
    var configure: @Sendable (inout Reception.Configuration) -> Void
    var saysGoodbye = false
    /// From the start.
    var after: Duration
    var matches: @Sendable (Reception.End) -> Bool
  }

  static let endings = [
    Ending(
      description: "nothing comes", units: 0, configure: { $0.firstMediaTimeout = .seconds(10) },
      after: .seconds(10),
      matches: { if case .run(.noMedia(after: .seconds(10))) = $0 { true } else { false } }),
    Ending(
      description: "it stops coming", units: 50, configure: { $0.silenceTimeout = .seconds(10) },
      after: .milliseconds(11_960),
      matches: { if case .run(.mediaLost(after: .seconds(10))) = $0 { true } else { false } }),
    Ending(
      description: "as long as was wanted", units: 500, configure: { $0.duration = .seconds(7) },
      after: .seconds(7),
      matches: { if case .run(.durationReached) = $0 { true } else { false } }),
    Ending(
      description: "the sender says goodbye", units: 50, configure: { _ in }, saysGoodbye: true,
      after: .milliseconds(2460),
      matches: { if case .connection(.goodbye) = $0 { true } else { false } }),
    Ending(
      description: "a connection that is made again falls silent", units: 50,
      configure: { $0.reconnectionSilence = .seconds(5) }, after: .milliseconds(6960),
      matches: { if case .connection(.mediaLost(after: .seconds(5))) = $0 { true } else { false } }),
    Ending(
      description: "a carrier that watches for itself is given twice its time", units: 50,
      carrier: .init(longestSilence: .seconds(3)), configure: { _ in }, after: .milliseconds(7960),
      matches: { if case .connection(.mediaLost(after: .seconds(6))) = $0 { true } else { false } }),
  ]

  @Test(arguments: endings)
  func itEnds(_ ending: Ending) throws {
    var sender = VirtualSender(units: ending.units, seed: 1, at: Self.start)
    if ending.units == 0 { sender = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max)) }
    var pair = try Pair(
      sender: sender, carrier: ending.carrier, configure: ending.configure)
    if ending.saysGoodbye {
      pair.drive(until: Self.start.advanced(by: .milliseconds(1970)))
      pair.offer(pair.sender.goodbye(at: pair.now))
    }
    pair.drive(for: .seconds(60))
    let end = try #require(pair.end)
    #expect(ending.matches(end.end), "\(end.end)")
    #expect(end.at == Self.start.advanced(by: ending.after))
  }

  @Test("a goodbye ends a stream that was over before its first packets counted")
  func shortStream() throws {
    let never = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    var pair = try Pair(sender: never) { $0.firstMediaTimeout = .seconds(10) }
    // Slices that refer to a picture: whether more come before them is waited for, 200 ms.
    for number in 0..<3 {
      var bytes = ByteBuffer(bytes: [0x80, 0x80 | (never.media.payloadType ?? 96)])
      bytes.writeMultipleIntegers(UInt16(number), UInt32(number * 3000), UInt32(9))
      bytes.writeBytes([0x41, 0x9A, 0x20, 0x00])
      pair.receive(bytes)
    }
    pair.receive(ByteBuffer(bytes: [0x81, 203, 0, 1, 0, 0, 0, 9]), on: .control)
    pair.drive(for: .seconds(60))
    let end = try #require(pair.end)
    let isGoodbye = if case .connection(.goodbye) = end.end { true } else { false }
    #expect(isGoodbye, "\(end.end)")
    #expect(end.at == Self.start.advanced(by: .milliseconds(700)))
  }

  /// A listener that reconnects waits for the next sender where it is.
  @Test func aListenerThatGoesOnDoesNotEndWithAGoodbye() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: Self.start),
      carrier: .init(isPassive: true)
    ) { $0.reconnectionSilence = .seconds(5) }
    pair.drive(until: Self.start.advanced(by: .milliseconds(1970)))
    pair.offer(pair.sender.goodbye(at: pair.now))
    pair.drive(for: .seconds(60))
    #expect(pair.end == nil)
  }

  @Test(
    "what is missing between two senders is a gap; a new SSRC alone is none",
    arguments: [40, 3000])
  func anotherSender(milliseconds: Int) throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: [])
    pair.drive(for: .seconds(4))
    let former = pair.sender
    pair.drive(for: .milliseconds(milliseconds) - .milliseconds(40))
    let last = try #require(pair.reception.lastMediaOfRun)
    let pause = milliseconds < 1000
    pair.sender = VirtualSender(
      units: 100, seed: 2, ssrc: 0xB,
      firstNumber: former.nextNumber &+ (pause ? 0 : 20_000), at: pair.now)
    pair.drive(for: .seconds(5))
    #expect(pair.units.count > 190)
    #expect(pair.gaps.map { $0.start } == (pause ? [] : [last]))
    #expect(pair.gaps.allSatisfy { $0.start.advanced(by: .seconds(2)) < $0.end })
  }

  // MARK: - Unusable media

  private static func packet(_ number: Int, type: UInt8, ssrc: UInt32 = 9) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: [0x80, type])
    bytes.writeMultipleIntegers(
      UInt16(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number * 160), ssrc)
    bytes.writeRepeatingByte(0xD5, count: 160)
    return bytes
  }

  /// A sender of sound, 50 packets per second, to a listener.
  @Test(arguments: [
    (MediaDescription(), 5.0),
    (MediaDescription(payloadType: 96), 10.0),
    (MediaDescription(payloadType: 96, encodingName: "H264"), 10.0),
  ])
  func aListenerDoesNotWaitForEver(media: MediaDescription, seconds: Double) throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    var pair = try Pair(
      sender: silent, carrier: .init(isPassive: true), describes: [media]
    ) { $0.duration = .seconds(60) }
    for number in 0..<2000 where pair.end == nil {
      pair.receive(Self.packet(number, type: 0))
      pair.drive(for: .milliseconds(20))
    }
    let end = try #require(pair.end)
    guard case .connection(.unrecognizedMedia([0])) = end.end else {
      Issue.record("\(end.end)")
      return
    }
    #expect(abs(Self.start.duration(to: end.at) / .seconds(1) - seconds) < 0.1)
  }

  @Test(
    "of what is not recognized, all payload types are named where it cannot come again",
    arguments: [Reception.Carrier(clock: .recorded), Reception.Carrier(comesAgain: false)])
  func allPayloadTypesAreNamed(carrier: Reception.Carrier) throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    var pair = try Pair(sender: silent, carrier: carrier, describes: [])
    for number in 0..<40 {
      pair.receive(Self.packet(number, type: number < 20 ? 103 : 120))
      pair.drive(for: .milliseconds(20))
    }
    pair.carrierEnded()
    guard case .connection(.unrecognizedMedia([103, 120]))? = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
  }

  @Test func theDurationCountsFromWhatCameWhateverItIs() throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    var pair = try Pair(
      sender: silent, carrier: .init(isPassive: true),
      describes: [MediaDescription(payloadType: 96, encodingName: "H264")]
    ) { $0.duration = .seconds(3) }
    for number in 0..<2000 where pair.end == nil {
      pair.receive(Self.packet(number, type: 0))
      pair.drive(for: .milliseconds(20))
    }
    let end = try #require(pair.end)
    #expect(end.at == Self.start.advanced(by: .seconds(3)))
    guard case .run(.unrecognizedMedia([0])) = end.end else {
      Issue.record("\(end.end)")
      return
    }
  }

  /// Descriptions of each codec with parameter sets, as cameras give them.
  private static let signalledSets = [
    "H264": [
      "sprop-parameter-sets":
        "Z01AHppkBQHv81AQEBQAAA+gAAE4gBA=,aO48gA=="
    ],
    "H265": [
      "sprop-vps": "QAEMAf//AWAAAAMAsAAAAwAAAwBarAwAAAMABAAAAwAyqA==",
      "sprop-sps":
        "QgEBAWAAAAMAsAAAAwAAAwBaoAWCAeFja5JFL83BQYFBAAADAAEAAAMADKE=",
      "sprop-pps": "RAHA8saNA7NA",
    ],
  ]

  /// What was said is given as long as a codec that is to be recognized.
  @Test(
    "media of another codec than was said ends the connection", arguments: ["H265", "H264"],
    [true, false])
  func anotherCodec(said: String, withSets: Bool) throws {
    let sets = withSets ? Self.signalledSets[said, default: [:]] : [:]
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: 1, at: Self.start),
      describes: [MediaDescription(payloadType: 96, encodingName: said, formatParameters: sets)])
    pair.drive(for: .seconds(8))
    guard said == "H265" else {
      #expect(pair.end == nil)
      #expect(pair.reception.status.otherCodec == nil)
      return
    }
    let end = try #require(pair.end)
    guard case .connection(.otherCodec(let codec)) = end.end else {
      Issue.record("\(end.end)")
      return
    }
    #expect(codec.encodingName == "H264")
    #expect(pair.reception.status.otherCodec == codec)
    #expect(abs(Self.start.duration(to: end.at) / .seconds(1) - 5) < 0.1)
  }

  @Test func packetsThatAreOnlyRecordedMayBeOfAnyCodec() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: 1, at: Self.start),
      describes: [MediaDescription(payloadType: 96, encodingName: "H265")]
    ) { $0.stream.doubtsCodec = false }
    pair.drive(for: .seconds(8))
    #expect(pair.end == nil)
    #expect(pair.reception.status.otherCodec == nil)
    #expect(pair.reception.unusableMedia == nil)
  }

  @Test func rubbishDoesNotEndAListener() throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    var pair = try Pair(sender: silent, carrier: .init(isPassive: true), describes: [])
    var random = SeededGenerator(seed: 3)
    for _ in 0..<2000 {
      var bytes = ByteBuffer()
      for _ in 0..<20 { bytes.writeInteger(random.next()) }
      pair.receive(bytes)
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.end == nil)
  }

  @Test func whatHasNoVideoIsSaidAtOnce() throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    let pair = try Pair(
      sender: silent,
      describes: [MediaDescription(kind: .audio, payloadType: 3, encodingName: "GSM")])
    guard case .connection(.unsupportedMedia(let error)) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
    #expect("\(error)".contains("audio (GSM)"))
  }

  @Test func whereSoundAloneIsWantedNobodyIsToldOfVideo() throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    let pair = try Pair(
      sender: silent,
      describes: [MediaDescription(kind: .audio, payloadType: 18, encodingName: "G729")],
      configure: { $0.wantsPictures = false })
    guard case .connection(.unsupportedMedia(let error)) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
    #expect("\(error)" == "there is no sound of a known coding in it, but audio (G729)")
  }

  @Test func ofVideoInUnknownFormatsAllAreNamed() throws {
    var video = MediaDescription(payloadType: 97, encodingName: "VP8")
    video.alternatives = ["VP9", "AV1"]
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    let pair = try Pair(sender: silent, describes: [video])
    guard case .connection(.unsupportedMedia(let error)) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
    #expect("\(error)".contains("VP8 or VP9 or AV1"), "\(error)")
  }

  /// Where something else takes the pictures, sound that is missing ends nothing.
  @Test(arguments: [true, false]) func whatHasNoSoundIsSaidAtOnce(takesPictures: Bool) throws {
    let silent = VirtualSender(units: 1, seed: 1, at: .init(nanoseconds: .max))
    let pair = try Pair(
      sender: silent, configure: { $0.wantsPictures = takesPictures })
    guard case .connection(.unsupportedMedia(let error))? = pair.end?.end else {
      #expect(takesPictures && pair.end == nil)
      return
    }
    #expect(!takesPictures && (error as? MissingMedium)?.kind == .audio)
  }

  // MARK: - Who has to wait

  @Test func whatCameWaitsWhileSomebodyIsCrowded() throws {
    var pair = try Pair(sender: VirtualSender(units: 100, seed: 1, at: Self.start))
    pair.drive(for: .milliseconds(400))
    let before = pair.units.count
    pair.setCrowded(true)
    pair.drive(for: .milliseconds(1500))
    #expect(pair.units.count == before)
    #expect(pair.holds == [true])
    // A little room, and then none again.
    pair.setCrowded(false)
    #expect(pair.units.count > before + 30)
    #expect(pair.holds == [true, false])
    pair.drive(for: .seconds(4))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
  }

  /// One at a time: each one handed on makes the taker crowded again.
  @Test func theFarEndWaitsUntilAllThatCameIsWorkedOff() throws {
    var pair = try Pair(sender: VirtualSender(units: 20, seed: 1, at: Self.start))
    pair.isCrowded = true
    pair.drive(for: .seconds(1))
    pair.carrierEnded()
    #expect(pair.end == nil)
    for _ in 0..<100 where pair.end == nil {
      pair.isCrowded = true
      pair.setRoomForOne()
    }
    #expect(pair.holds.filter { $0 }.count == pair.holds.filter { !$0 }.count)
    pair.finish()
    for _ in 0..<5 { pair.setRoomForOne() }
    #expect(pair.wholeUnits == pair.sender.units)
    #expect(pair.isFinished)
  }

  @Test func whoIsStuckIsNotWaitedForForEver() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 200, seed: 1, at: Self.start)
    ) { $0.silenceTimeout = .seconds(3) }
    pair.drive(for: .milliseconds(400))
    pair.setCrowded(true)
    let before = pair.units.count
    pair.drive(for: .milliseconds(1999))
    #expect(pair.units.count == before)
    pair.drive(for: .milliseconds(2))
    #expect(pair.units.count > before + 40)
    #expect(pair.holds == [true, false])
    pair.drive(for: .seconds(5))
    #expect(pair.wholeUnits.count >= pair.sender.units.count - 1)
  }

  /// It never has so much room that it says so.
  @Test func whoIsSlowIsWaitedForAsLongAsItGoesOn() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, at: Self.start)
    ) { $0.silenceTimeout = .seconds(3) }
    pair.drive(for: .milliseconds(400))
    pair.setCrowded(true)
    pair.makesRoomForOne = true
    let before = pair.units.count
    pair.drive(for: .seconds(9))
    #expect(pair.holds == [true])
    #expect((before + 4..<pair.sender.units.count).contains(pair.units.count))
    #expect(pair.end == nil)
    pair.setCrowded(false)
    #expect(pair.holds == [true, false])
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
  }

  @Test func whatIsHurriedWaitsForNobody() throws {
    var pair = try Pair(sender: VirtualSender(units: 20, seed: 1, at: Self.start))
    pair.isCrowded = true
    pair.drive(for: .milliseconds(900))
    pair.finish()
    #expect(!pair.isFinished)
    pair.hurry()
    #expect(pair.isFinished)
    #expect(pair.wholeUnits == pair.sender.units)
  }

  /// As with a stream that is kept in memory: what exceeds the bound is released.
  @Test func noMoreWaitsThanMay() throws {
    var pair = try Pair(sender: VirtualSender(units: 5000, seed: 1, at: Self.start))
    pair.isCrowded = true
    var datagrams: [VirtualSender.Sending] = []
    var sender = pair.sender
    while let due = sender.deadline { datagrams += sender.send(at: due) }
    for datagram in datagrams { pair.receive(datagram.bytes, on: datagram.channel) }
    #expect(pair.holds == [true, false])
    #expect(pair.units.count > 4000)
  }
}
