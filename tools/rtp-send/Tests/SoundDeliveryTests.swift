import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// Sessions of video and sound on a virtual clock.
@Suite struct SoundDeliveryTests {
  static let videoSSRC: UInt32 = 5
  static let soundSSRC: UInt32 = 6

  private func configuration(
    _ format: String = "l16/8000/1", frames: Int?, seconds: Double?,
    _ change: (inout PacketFeed.SoundConfiguration) -> Void = { _ in }
  ) throws -> SenderConfiguration {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.framesPerSecond) = (256, 144, 10)
    pattern.frameLimit = frames
    var video = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(
        ssrc: Self.videoSSRC, initialSequence: 65_000, initialTimestamp: 1))
    video.frameLimit = frames
    var sound = PacketFeed.SoundConfiguration(
      recipe: .tone(try SoundFormat(format), seconds: seconds),
      stream: RTPStream.Configuration(
        ssrc: Self.soundSSRC, initialSequence: 9, initialTimestamp: 0xFFFF_FF00))
    sound.stream.payloadType = 97
    change(&sound)
    return SenderConfiguration(
      tracks: [
        TrackConfiguration(.video(video)), TrackConfiguration(.sound(sound), portOffset: 2),
      ], destination: .send(host: "127.0.0.1", port: 9))
  }

  private struct Sent {
    var packet: PacketFeed.Packet
    var time: Instant
  }

  /// Runs to the end, from deadline to deadline, but those at which the machine is `asleep`.
  private func run(
    _ configuration: SenderConfiguration, until end: Int64 = .max, asleep: Range<Int64> = 0..<0
  ) throws -> (sent: [Sent], report: SendReport) {
    var now = Instant(nanoseconds: 5_000_000_000)
    var run = try StreamRun(configuration, unixNanoseconds: { 1_700_000_000_000_000_000 }) { now }
    var sent: [Sent] = []
    var steps = 0
    while !run.isFinished, let deadline = run.deadline, now.nanoseconds < end {
      now = max(now, deadline)
      if asleep.contains(now.nanoseconds) { now = Instant(nanoseconds: asleep.upperBound) }
      while let packet = run.next(at: now) { sent.append(Sent(packet: packet, time: now)) }
      try run.prepare()
      steps += 1
      try #require(steps < 1_000_000, "a loop that makes no progress")
    }
    for packet in run.goodbye(at: now) { sent.append(Sent(packet: packet, time: now)) }
    return (sent, run.report(at: now))
  }

  private func media(_ sent: [Sent], _ ssrc: UInt32) throws -> [(packet: RTPPacket, time: Instant)]
  {
    try sent.filter { !RTCPPacket.recognizes($0.packet.bytes) }
      .map { (try RTPPacket(parsing: $0.packet.bytes), $0.time) }.filter { $0.packet.ssrc == ssrc }
  }

  private func reports(_ sent: [Sent], _ ssrc: UInt32) throws -> [RTCPPacket] {
    try sent.filter { RTCPPacket.recognizes($0.packet.bytes) }
      .flatMap { try RTCPPacket.parse(compound: $0.packet.bytes) }
      .filter {
        switch $0 {
        case .senderReport(let report): report.ssrc == ssrc
        case .goodbye(let sources): sources == [ssrc]
        default: false
        }
      }
  }

  @Test func eachTrackHasItsNumbersItsPortItsReportsAndItsGoodbye() throws {
    var configuration = try configuration(frames: 120, seconds: 12)
    configuration.controlOffset = 1
    let (sent, report) = try run(configuration)
    let (video, sound) = (try media(sent, Self.videoSSRC), try media(sent, Self.soundSSRC))
    #expect(sound.count == 600)
    #expect(report.soundPackets == 600)
    #expect(report.frames == 120)
    for packets in [video, sound] {
      let numbers = packets.map(\.packet.sequenceNumber)
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0.next == $1 })
    }
    #expect(Set(video.map(\.packet.payloadType)) == [96])
    #expect(Set(sound.map(\.packet.payloadType)) == [97])
    #expect(sound[0].packet.timestamp == 0xFFFF_FF00)
    #expect(sound[0].packet.sequenceNumber.rawValue == 9)
    for (packet, time) in sound {
      let ticks = Int64(packet.timestamp &- 0xFFFF_FF00)
      #expect(time.nanoseconds - 5_000_000_000 == ticks * 125_000)
    }
    for packet in sent.map(\.packet) {
      let isControl = RTCPPacket.recognizes(packet.bytes)
      let place = isControl ? 4 : 8
      let ssrc = packet.bytes.getInteger(at: packet.bytes.readerIndex + place, as: UInt32.self)
      #expect(packet.portOffset == (ssrc == Self.soundSSRC ? 2 : 0) + (isControl ? 1 : 0))
    }
    for (ssrc, ticks) in [(Self.videoSSRC, 1 + 90_000 * 5), (Self.soundSSRC, 40_000 - 256)] {
      let reports = try reports(sent, ssrc)
      // At 0, 5 and 10 s, and with the goodbye.
      try #require(reports.count == 5)
      #expect(reports[4] == .goodbye([ssrc]))
      guard case .senderReport(let first) = reports[0], case .senderReport(let second) = reports[1]
      else {
        Issue.record("no sender report")
        return
      }
      #expect(first.ntpTime >> 32 == 1_700_000_000 + 2_208_988_800)
      #expect(second.ntpTime - first.ntpTime == 5 << 32)
      #expect(second.timestamp == UInt32(ticks))
    }
  }

  /// Where the pictures flash, and where the sound clicks, by the wall clock of the sender reports.
  @Test(arguments: [0, 200, -200, 3000])
  func clicksAndFlashesAreTogetherByTheReportsWhateverTheClock(deviation: Double) throws {
    let (sent, _) = try run(
      try configuration(frames: 300, seconds: 30) { $0.clockDeviation = deviation })
    var clicks: [UInt32] = []
    for (packet, _) in try media(sent, Self.soundSSRC) {
      var payload = packet.payload
      var timestamp = packet.timestamp
      while let sample = payload.readInteger(as: Int16.self) {
        if sample > 15_000, clicks.last.map({ timestamp &- $0 > 1000 }) ?? true {
          clicks.append(timestamp)
        }
        timestamp &+= 1
      }
    }
    #expect(clicks.count == 30)
    let flashes = Set(try media(sent, Self.videoSSRC).map(\.packet.timestamp)).sorted()
      .filter { ($0 - 1) % 90_000 == 0 }
    func wallClock(of timestamps: [UInt32], _ ssrc: UInt32) throws -> [Double] {
      let points = try reports(sent, ssrc).compactMap { report in
        if case .senderReport(let report) = report { report } else { nil }
      }
      let (first, last) = (try #require(points.first), try #require(points.last))
      let seconds = Double(last.ntpTime - first.ntpTime) / 4_294_967_296
      let rate = Double(last.timestamp &- first.timestamp) / seconds
      let start = Double(first.ntpTime - UInt64(3_900_000_000) << 32) / 4_294_967_296
      return timestamps.map { start + Double(Int32(bitPattern: $0 &- first.timestamp)) / rate }
    }
    let heard = try wallClock(of: clicks, Self.soundSSRC)
    let seen = try wallClock(of: flashes, Self.videoSSRC)
    #expect(seen.count == 30)
    for (heard, seen) in zip(heard, seen) { #expect(abs(heard - seen) < 0.0002) }
    // The timestamps alone would drift apart.
    let drift = Double(clicks[29] &- clicks[0]) / 8000 - 29
    #expect(abs(drift - 29 * deviation / 1e6) < 0.0002)
  }

  /// Before and after a sleep of 2.5 s, which is not made up for.
  @Test func mediaLeaveWhenTheReportsInFrontOfThemSay() throws {
    let (sent, _) = try run(
      try configuration(frames: 40, seconds: 4), asleep: 6_510_000_000..<9_000_000_000)
    #expect(sent.last?.time.nanoseconds ?? 0 > 11_000_000_000)
    let begin = SenderReports.ntpTime(1_700_000_000_000_000_000)
    var newest: [UInt32: RTCPPacket.SenderReport] = [:]
    for sent in sent {
      if RTCPPacket.recognizes(sent.packet.bytes) {
        for case .senderReport(let report) in try RTCPPacket.parse(compound: sent.packet.bytes) {
          newest[report.ssrc] = report
        }
        continue
      }
      let packet = try RTPPacket(parsing: sent.packet.bytes)
      guard let report = newest[packet.ssrc] else { continue }
      let ticks = Double(Int32(bitPattern: packet.timestamp &- report.timestamp))
      let due =
        Double(report.ntpTime - begin) / 4_294_967_296
        + ticks / (packet.ssrc == Self.videoSSRC ? 90_000 : 8000)
      #expect(abs(due - Double(sent.time.nanoseconds - 5_000_000_000) / 1e9) < 0.001)
    }
    for ssrc in [Self.videoSSRC, Self.soundSSRC] {
      // At 0 and 4 s, and with the goodbye.
      #expect(try reports(sent, ssrc).count == 4)
    }
  }

  @Test func impairmentsOfTheSoundLeaveTheVideoAlone() throws {
    let clean = try run(try configuration(frames: 30, seconds: 3))
    var configuration = try configuration(frames: 30, seconds: 3)
    configuration.tracks[1].plan.base.delay = .disorderly(jitter: 30_000_000)
    configuration.tracks[1].plan.base.loss = 0.2
    let bad = try run(configuration)
    let again = try run(configuration)
    let (before, after) = (
      try media(clean.sent, Self.videoSSRC), try media(bad.sent, Self.videoSSRC)
    )
    #expect(before.map(\.time) == after.map(\.time))
    #expect(before.map(\.packet.bytes) == after.map(\.packet.bytes))
    #expect(bad.report.network.lost > 10)
    let sound = try media(bad.sent, Self.soundSSRC)
    #expect(sound.count == 150 - bad.report.network.lost)
    #expect(sound.contains { $0.time.nanoseconds % 20_000_000 != 5_000_000_000 % 20_000_000 })
    #expect(again.sent.map(\.packet) == bad.sent.map(\.packet))
  }

  @Test(arguments: [Pacing.packetRate(1000), .unpaced])
  func tracksKeepTheirOrderWithoutTheirTimes(pacing: Pacing) throws {
    var configuration = try configuration(frames: 60, seconds: 6)
    configuration.pacing = pacing
    let (sent, _) = try run(configuration)
    var now: [UInt32: Double] = [Self.videoSSRC: 0, Self.soundSSRC: 0]
    for sent in sent where !RTCPPacket.recognizes(sent.packet.bytes) {
      let packet = try RTPPacket(parsing: sent.packet.bytes)
      now[packet.ssrc] =
        packet.ssrc == Self.videoSSRC
        ? Double(packet.timestamp - 1) / 90_000
        : Double(packet.timestamp &- 0xFFFF_FF00) / 8000
      #expect(abs((now[Self.videoSSRC] ?? 0) - (now[Self.soundSSRC] ?? 0)) <= 0.101)
    }
    #expect(now == [Self.videoSSRC: 5.9, Self.soundSSRC: 5.98])
  }

  @Test func theSoundEndsWithTheLastPictureThatIsWanted() throws {
    let (sent, _) = try run(try configuration(frames: 15, seconds: nil))
    let sound = try media(sent, Self.soundSSRC)
    #expect(sound.count == 75)
  }

  @Test func soundAlone() throws {
    var configuration = try configuration("aac", frames: nil, seconds: 2)
    configuration.tracks.removeFirst()
    configuration.tracks[0].portOffset = 0
    let (sent, report) = try run(configuration)
    let sound = try media(sent, Self.soundSSRC)
    // The encoder begins with a frame before the first sample.
    #expect(sound[0].packet.timestamp == 0xFFFF_FF00 &- 1024)
    #expect(sound.count == 95)
    #expect(report.frames == 0)
    #expect(Set(sent.map(\.packet.portOffset)) == [0])
  }

  @Test func theDescriptionHasBothTracks() throws {
    let packetization = SoundPacketization()
    var session = SessionDescription(
      try StreamDescription(of: .pattern(PatternConfiguration())), payloadType: 96,
      packetization: .nonInterleaved,
      address: try SocketAddress(ipAddress: "127.0.0.1", port: 5004), multiplexesRTCP: false)
    session.sound = try SoundDescription(
      of: .tone(try SoundFormat("aac"), seconds: nil), payloadType: 97,
      packetization: packetization, portOffset: 2)
    let section = [
      "m=audio 5006 RTP/AVP 97", "a=rtpmap:97 mpeg4-generic/48000/2",
      "a=fmtp:97 streamtype=5;profile-level-id=41;mode=AAC-hbr;sizelength=13;indexlength=3;"
        + "indexdeltalength=3;config=1190",
    ]
    #expect(session.text.contains("m=video 5004 RTP/AVP 96\r\n"))
    #expect(session.text.hasSuffix(section.map { $0 + "\r\n" }.joined()))
    #expect(!session.text.contains("rtcp-mux"))
    // On one port, their names say that they are together.
    session.sound?.portOffset = 0
    session.multiplexesRTCP = true
    let sections = session.text.split(separator: "m=")
    #expect(sections[0].hasSuffix("a=group:BUNDLE 1 3\r\n"))
    #expect(sections[1].hasSuffix("a=mid:1\r\na=rtcp-mux\r\n"))
    #expect(sections[2].hasPrefix("audio 5004 RTP/AVP 97\r\n"))
    #expect(sections[2].hasSuffix("a=mid:3\r\na=rtcp-mux\r\n"))
    session.description = nil
    #expect(!session.text.contains("m=video") && !session.text.contains("BUNDLE"))
  }

  @Test(arguments: [
    ("pcmu", ["rtpmap:97 PCMU/8000", "ptime:20"]), ("l16", ["rtpmap:97 L16/48000/2", "ptime:20"]),
    ("opus/48000/1", ["rtpmap:97 opus/48000/2", "fmtp:97 sprop-stereo=0;stereo=0"]),
    (
      "aac-lbr",
      [
        "rtpmap:97 mpeg4-generic/48000",
        "fmtp:97 streamtype=5;profile-level-id=41;mode=AAC-lbr;sizelength=6;indexlength=2;"
          + "indexdeltalength=2;config=1188",
      ]
    ),
    (
      "latm/44100",
      [
        "rtpmap:97 MP4A-LATM/44100/2",
        "fmtp:97 profile-level-id=41;object=2;cpresent=0;config=400024203FC0",
      ]
    ),
    (
      "latm-inband",
      ["rtpmap:97 MP4A-LATM/48000/2", "fmtp:97 profile-level-id=41;object=2;cpresent=1"]
    ),
  ])
  func formatsAreDescribed(format: String, lines: [String]) throws {
    let description = try SoundDescription(
      of: .tone(try SoundFormat(format), seconds: nil), payloadType: 97,
      packetization: SoundPacketization())
    #expect(description.attributes == lines.map { "a=" + $0 })
  }
}
