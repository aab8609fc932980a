import NIOCore
import RTPProcessor
import RTPSend
import RTPWire
import Reception
import TestSupport
import Testing

/// Sessions with more than the video.
@Suite struct TrackTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)
  private static let audio = MediaDescription(
    kind: .audio, payloadType: 97, encodingName: "OPUS", clockRate: 48_000)

  private static func sound(
    _ number: Int, type: UInt8 = 97, ssrc: UInt32 = 0x50, ticks: Int = 960
  ) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: [0x80, type])
    bytes.writeMultipleIntegers(
      UInt16(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number * ticks), ssrc)
    bytes.writeRepeatingByte(0xD5, count: 80)
    return bytes
  }

  /// Sound 50 times a second beside the video; every tenth packet is lost.
  private static func play(
    _ media: [MediaDescription], soundOn track: Int, type: UInt8 = 97
  ) throws -> Pair {
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: 1, at: start), describes: media)
    for number in 0..<500 {
      if number % 10 != 5 { pair.receive(sound(number, type: type), track: track) }
      pair.drive(for: .milliseconds(20))
    }
    pair.drive(for: .seconds(1))
    return pair
  }

  private static let video = VirtualSender(units: 0, seed: 1, at: start).media

  /// RFC 3550 §8.1: who takes part in two sessions has a number of its own in each.
  @Test func eachTrackIsReportedOnUnderItsOwnNumber() throws {
    let pair = try Self.play([Self.video, Self.audio], soundOn: 1)
    var numbers: [Int: Set<UInt32>] = [:]
    var times: [Int: [Instant]] = [:]
    for (bytes, track, at) in pair.sent {
      let number = try #require(bytes.getInteger(at: bytes.readerIndex + 4, as: UInt32.self))
      numbers[track, default: []].insert(number)
      times[track, default: []].append(at)
    }
    #expect(numbers.count == 2)
    #expect(numbers.values.allSatisfy { $0.count == 1 })
    #expect(numbers[0] != numbers[1])
    #expect(times[0] != times[1])
  }

  /// RFC 3550 §6.5.1: by the name it is known that both are of one participant.
  @Test func allTracksAreReportedOnUnderOneName() throws {
    let pair = try Self.play([Self.video, Self.audio], soundOn: 1)
    var names: [Int: Set<String>] = [:]
    for (bytes, track, _) in pair.sent {
      for case .sourceDescription(let said) in try RTCPPacket.parse(compound: bytes) {
        names[track, default: []].formUnion(said.values)
      }
    }
    #expect(names.count == 2)
    #expect(names[0]?.count == 1)
    #expect(names[0] == names[1])
  }

  /// Each on its own channel; and both on one, where the payload types tell (RFC 9143).
  @Test(arguments: [0, 1])
  func soundIsReceivedBesideTheVideo(track: Int) throws {
    var pair = try Self.play([Self.video, Self.audio], soundOn: track)
    let tracks = pair.reception.status.tracks
    try #require(tracks.count == 2)
    #expect(tracks[0].isChosen && tracks[0].kind == .video && tracks[0].codecName == "H264")
    #expect(tracks[1].isChosen && tracks[1].kind == .audio && tracks[1].codecName == "OPUS")
    #expect(tracks[1].place == 1 && tracks[1].payloadType == 97 && tracks[1].ssrc == 0x50)
    #expect(tracks[1].reception.delivered == 450)
    #expect(tracks[1].reception.lost == 49 || tracks[1].reception.lost == 50)
    #expect(tracks[0].reception.lost == 0)
    #expect(tracks[0].reception.ignoredPayloadType == 0)
    #expect(tracks.allSatisfy { $0.reception.isBalanced })
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
    // Reports go where each track's are expected.
    #expect(Set(pair.sent.map(\.track)) == [0, 1])
  }

  /// Each second packet is 10 ms late, which are 480 ticks of 48 kHz.
  @Test func theJitterOfATrackIsMeasuredByItsOwnClock() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 250, seed: 1, at: Self.start),
      describes: [Self.video, Self.audio])
    for number in 0..<400 {
      pair.receive(Self.sound(number), track: 1)
      pair.drive(for: .milliseconds(number.isMultiple(of: 2) ? 30 : 10))
    }
    let tracks = pair.reception.status.tracks
    try #require(tracks.count == 2)
    #expect(tracks[1].clockRate == 48_000 && tracks[0].clockRate == 90_000)
    #expect(abs(tracks[1].jitter - 0.010) < 0.0002, "\(tracks[1].jitter)")
    #expect(tracks[1].reception.jitterSeconds == tracks[1].jitter)
  }

  /// Some servers answer with channels 0 and 1 for each SETUP.
  @Test func reportsOnASharedChannelAreOfTheirSource() throws {
    var pair = try Self.play([Self.video, Self.audio], soundOn: 0)
    var report = ByteBuffer(bytes: [0x80, 200])
    report.writeMultipleIntegers(
      UInt16(6), UInt32(0x50), UInt32(0xE000_0000), UInt32(0), UInt32(500 * 960), UInt32(500),
      UInt32(40_000))
    pair.receive(report, on: .control, track: 0)
    let sound = pair.reception.status.tracks[1]
    #expect(
      sound.clock.captureTime(of: MediaTime(ticks: 500 * 960, timescale: 48_000)) != nil)
  }

  /// mediasoup reports of all sources in one compound, in any order.
  @Test(arguments: [false, true])
  func aCompoundIsOfAllItsSources(soundIsFirst: Bool) throws {
    var pair = try Self.play([Self.video, Self.audio], soundOn: 0)
    let video = try #require(pair.reception.status.tracks[0].ssrc)
    var compound = ByteBuffer()
    for ssrc in soundIsFirst ? [0x50, video] : [video, 0x50] {
      compound.writeMultipleIntegers(
        UInt8(0x80), UInt8(200), UInt16(6), ssrc, UInt32(0xE000_0000), UInt32(0), UInt32(48_000),
        UInt32(500), UInt32(40_000))
    }
    let before = pair.reception.status.tracks.map(\.clock)
    pair.receive(compound, on: .control, track: 0)
    let after = pair.reception.status.tracks.map(\.clock)
    #expect(zip(before, after).allSatisfy { $0 != $1 })
  }

  @Test("the codec is given, and sound is there first", arguments: [false, true])
  func soundBeforeVideoOfAGivenCodec(isBehindAStray: Bool) throws {
    let sender = VirtualSender(
      units: 50, seed: 1,
      at: Self.start.advanced(by: .milliseconds(isBehindAStray ? 6500 : 500)))
    var pair = try Pair(sender: sender, describes: [MediaDescription()]) {
      $0.stream.media = MediaDescription(encodingName: "H264")
    }
    if isBehindAStray {
      pair.receive(Self.sound(9, type: 0, ssrc: 0x77), track: 0)
      pair.drive(for: .seconds(6))
    }
    for number in 0..<100 {
      pair.receive(Self.sound(number, type: 0), track: 0)
      pair.drive(for: .milliseconds(20))
    }
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
  }

  @Test("what is known of the tracks outlasts attempts to connect again that fail")
  func outage() throws {
    let pair = try Self.play([Self.video, Self.audio], soundOn: 1)
    var reception = pair.reception
    for _ in 0..<3 {
      reception = try Reception(
        Reception.Configuration(), on: .init(), after: reception,
        randomness: SeededGenerator(seed: 1), at: pair.now)
      #expect(reception.status.tracks.map(\.codecName) == ["H264", "OPUS"])
      #expect(reception.status.tracks.map(\.reception.delivered)[1] == 450)
      guard case .receiving = reception.status.phase else {
        Issue.record("\(reception.status.phase)")
        return
      }
    }
    reception.described([Self.video, Self.audio], at: pair.now)
    reception.receive(Datagram(bytes: Self.sound(500), arrival: pair.now, track: 1))
    reception.receive(Datagram(bytes: Self.sound(501), arrival: pair.now, track: 1))
    #expect(reception.status.tracks.map(\.reception.received)[1] == 452)
  }

  /// Two cameras number their payload types alike, and a capture says nothing of either.
  @Test func packetsOfAnUndescribedTrackAreItsOwn() throws {
    let sender = VirtualSender(units: 50, seed: 1, at: Self.start)
    let other = MediaDescription(kind: .application, payloadType: sender.media.payloadType)
    var pair = try Pair(sender: sender, describes: [MediaDescription(), other])
    pair.drive(for: .seconds(3))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
  }

  @Test func theVideoNeedNotStandFirst() throws {
    let other = MediaDescription(payloadType: 98, encodingName: "AV1")
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: Self.start),
      describes: [Self.audio, other, Self.video])
    var sender = pair.sender
    while let due = sender.deadline {
      for sending in sender.send(at: due) {
        pair.receive(sending.bytes, on: sending.channel, track: 2)
      }
    }
    #expect(pair.reception.status.tracks.map(\.isChosen) == [true, false, true])
    #expect(pair.units.count >= 48)
  }

  /// Without a description, other sources beside the video become separate tracks.
  @Test func soundOnThePortOfTheVideoIsATrack() throws {
    let pair = try Self.play([MediaDescription()], soundOn: 0, type: 0)
    let tracks = pair.reception.status.tracks
    try #require(tracks.count == 2)
    #expect(tracks[1].kind == .audio && tracks[1].codecName == "PCMU")
    #expect(tracks[1].clockRate == 8000 && tracks[1].place == nil)
    // Those before the codec was known are in it too.
    #expect(tracks[1].reception.delivered == 450)
    #expect(tracks[0].reception.ignoredPayloadType == 450)
  }

  @Test func noMoreSourcesAreFollowedThanMayBe() throws {
    var pair = try Pair(sender: VirtualSender(units: 50, seed: 1, at: Self.start))
    pair.drive(for: .milliseconds(500))
    for source in 0..<1000 {
      for number in 0..<4 {
        pair.receive(Self.sound(number, type: 101, ssrc: UInt32(0x1000 + source)))
      }
    }
    #expect(pair.reception.status.tracks.count <= 9)
    pair.drive(for: .seconds(4))
    #expect(pair.wholeUnits.count >= 49)
  }

  /// RFC 4588 §5.3: what repeats the media has a session, whose other payload types are no media.
  @Test func strangersInTheSessionOfRetransmissionsTakeNoTracksPlace() throws {
    let sender = VirtualSender(units: 400, seed: 1, at: Self.start)
    var media = sender.media
    media.retransmissionSession = [97: RetransmissionFormat(original: 96)]
    var pair = try Pair(sender: sender, describes: [media])
    for source in 0..<8 {
      for number in 0..<4 {
        pair.receive(Self.sound(number, type: 101, ssrc: UInt32(0x1000 + source)))
      }
    }
    // Another source of the media could take the place of one that has been silent for so long.
    pair.drive(for: .seconds(11))
    try #require(pair.reception.status.tracks.count == 9)
    pair.receive(Self.sound(1, type: 102, ssrc: 0x2000), on: .retransmission)
    #expect(pair.reception.status.tracks.count == 9)
    #expect(pair.reception.status.reception.ignoredPayloadTypes[102] == 1)
  }

  @Test func aDescriptionOfTenThousandMediaIsFollowedInPart() throws {
    let media = Array(repeating: Self.audio, count: 10_000) + [Self.video]
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: Self.start), describes: media)
    var sender = pair.sender
    while let due = sender.deadline {
      for sending in sender.send(at: due) {
        pair.receive(sending.bytes, on: sending.channel, track: 10_000)
      }
    }
    pair.receive(Self.sound(1), track: 9_999)
    pair.receive(Self.sound(1), track: 20_000)
    pair.receive(Self.sound(1), track: -1)
    #expect(pair.reception.status.tracks.count <= 33)
    #expect(pair.units.count >= 48)
  }
}
