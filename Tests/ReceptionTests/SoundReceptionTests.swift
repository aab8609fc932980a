import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import Reception
import TestSupport
import Testing

/// Sessions with sound, beside video or by itself.
@Suite("Sound of a session")
struct SoundReceptionTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)
  private static let described = MediaDescription(
    kind: .audio, payloadType: 0, encodingName: "PCMU", clockRate: 8000)

  private static func silent() -> VirtualSender {
    VirtualSender(units: 0, seed: 1, at: .init(nanoseconds: .max))
  }

  /// 20 ms of G.711, of which the first byte is the low part of its number.
  private static func packet(
    _ number: Int, type: UInt8 = 0, ssrc: UInt32 = 0x50
  ) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: [0x80, type])
    bytes.writeMultipleIntegers(
      UInt16(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number * 160), ssrc)
    bytes.writeInteger(UInt8(truncatingIfNeeded: number))
    bytes.writeRepeatingByte(0xFF, count: 159)
    return bytes
  }

  private static func goodbye(of ssrc: UInt32) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: [0x80, 201])
    bytes.writeMultipleIntegers(UInt16(1), ssrc)
    bytes.writeBytes([0x81, 203])
    bytes.writeMultipleIntegers(UInt16(1), ssrc)
    return bytes
  }

  private static func numbers(_ pair: Pair) -> [UInt8] {
    pair.sound.compactMap { $0.bytes.getInteger(at: $0.bytes.readerIndex) }
  }

  @Test("Sound beside the video comes in order with it, on its timeline", arguments: [0, 1])
  func besideVideo(_ track: Int) throws {
    let sender = VirtualSender(units: 100, seed: 1, at: Self.start)
    var pair = try Pair(sender: sender, describes: [sender.media, Self.described])
    for number in 0..<200 {
      if number != 100 { pair.receive(Self.packet(number), track: track) }
      pair.drive(for: .milliseconds(20))
    }
    pair.carrierEnded()
    pair.finish()
    #expect(pair.sound.count == 199)
    #expect(pair.sound.reduce(0) { $0 + $1.lostBefore } == 1)
    #expect(pair.wholeUnits == pair.sender.units)
    // In step: sound and picture that came together have the same time.
    let sound = try #require(pair.sound.last)
    let picture = try #require(pair.units.last(where: { $0.firstArrival <= sound.firstArrival }))
    let apart = try #require(sound.alignedTime).seconds - picture.time.seconds
    #expect((-0.001...0.045).contains(apart), "\(apart)")
    let status = pair.reception.status
    #expect(status.sound?.sound?.statistics.units == 199)
    #expect(status.sound?.sound?.format?.codec == G711.muLaw)
    #expect(status.tracks.map { $0.sound != nil } == [false, true])
    #expect(status.alignment == .arrivals)
  }

  @Test(
    "Sound by itself is a stream: described, or found by its static type", arguments: [true, false])
  func alone(_ isDescribed: Bool) throws {
    var pair = try Pair(
      sender: Self.silent(), carrier: .init(isPassive: !isDescribed),
      describes: isDescribed ? [Self.described] : []
    ) {
      $0.silenceTimeout = .seconds(3)
      $0.firstMediaTimeout = .seconds(3)
    }
    for number in 0..<500 {
      pair.receive(Self.packet(number))
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.end == nil && pair.mediaBegan != nil)
    #expect(Self.numbers(pair) == (0..<500).map { UInt8(truncatingIfNeeded: $0) })
    #expect(pair.sound.allSatisfy { $0.alignedTime == $0.time })
    #expect(pair.reception.status.tracks.count == 1)
    #expect(pair.reception.status.unrecognizedDatagrams == 0)
    #expect(pair.reception.unusableMedia == nil)
    // It ends like any other.
    pair.drive(for: .seconds(4))
    guard case .run(.mediaLost) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
  }

  /// A section of PCMU that lists `other`, too.
  private static func listing(_ other: MediaDescription) -> MediaDescription {
    var media = described
    media.otherFormats = [other]
    return media
  }

  private static let listed = listing(
    MediaDescription(kind: .audio, payloadType: 8, encodingName: "PCMA", clockRate: 8000))
  private static let listedFaster = listing(
    MediaDescription(kind: .audio, payloadType: 97, encodingName: "L8", clockRate: 16_000))

  @Test("Sends the second of the listed formats, by itself or on the channel of the video")
  func secondFormat() throws {
    for isAlone in [true, false] {
      let sender =
        isAlone ? Self.silent() : VirtualSender(units: 50, seed: 1, at: Self.start)
      var pair = try Pair(
        sender: sender, describes: isAlone ? [Self.listed] : [sender.media, Self.listed])
      for number in 0..<100 {
        pair.receive(Self.packet(number, type: 8))
        pair.drive(for: .milliseconds(20))
      }
      pair.carrierEnded()
      pair.finish()
      #expect(pair.sound.count == 100)
      #expect(pair.sound.allSatisfy { $0.format.codec == G711.aLaw })
      let sound = try #require(pair.reception.status.sound)
      #expect(sound.codecName == "PCMA" && sound.payloadType == 8)
      #expect(sound.sound?.statistics.otherTypes == 0)
    }
  }

  @Test("Goes on from one listed format to another and back, without a break")
  func formatsInTurn() throws {
    var pair = try Pair(sender: Self.silent(), describes: [Self.listed])
    for number in 0..<150 {
      pair.receive(Self.packet(number, type: (50..<100).contains(number) ? 8 : 0))
      pair.drive(for: .milliseconds(20))
    }
    #expect(Self.numbers(pair) == (0..<150).map { UInt8($0) })
    let isALaw = pair.sound.map { $0.format.codec == G711.aLaw }
    #expect(isALaw == (0..<150).map { (50..<100).contains($0) })
    #expect(pair.sound.dropFirst().allSatisfy { !$0.isDiscontinuity && $0.lostBefore == 0 })
    let statistics = try #require(pair.reception.status.sound?.sound?.statistics)
    #expect(statistics.otherTypes == 0 && statistics.silentSamples == 0 && statistics.isBalanced)
  }

  @Test("Goes on in a listed format whose clock has another rate, and back")
  func formatsOfSeveralClocks() throws {
    var pair = try Pair(sender: Self.silent(), describes: [Self.listedFaster])
    for number in 0..<150 {
      pair.receive(Self.packet(number, type: (50..<100).contains(number) ? 97 : 0))
      pair.drive(for: .milliseconds(20))
    }
    #expect(Self.numbers(pair) == (0..<150).map { UInt8($0) })
    #expect(
      pair.sound.map(\.time.timescale)
        == (0..<150).map { (50..<100).contains($0) ? 16_000 : 8000 })
    // Times go on, however little the timestamps of one clock have to do with those of the other.
    let times = pair.sound.map(\.time.nanoseconds)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= 50_000_000 })
    let sound = try #require(pair.reception.status.sound)
    #expect(sound.sound?.statistics.otherTypes == 0)
    #expect(sound.clockRate == 8000 && sound.codecName == "PCMU")
    #expect(sound.reception.lost == 0 && sound.reception.isBalanced)
  }

  @Test("A single packet of a format with another clock changes nothing")
  func strayFormat() throws {
    var pair = try Pair(sender: Self.silent(), describes: [Self.listedFaster])
    for number in 0..<100 {
      pair.receive(Self.packet(number, type: number % 10 == 5 ? 97 : 0))
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.sound.count == 90)
    #expect(pair.sound.dropFirst().allSatisfy { !$0.isDiscontinuity && $0.lostBefore == 0 })
    let sound = try #require(pair.reception.status.sound)
    #expect(sound.sound?.statistics.otherTypes == 10 && sound.clockRate == 8000)
  }

  @Test("Sound comes on the video's channel, and the user has its description")
  func describedByTheUser() throws {
    let sender = VirtualSender(units: 100, seed: 1, at: Self.start)
    var pair = try Pair(sender: sender) { configuration in
      configuration.stream.sound = MediaDescription(
        kind: .audio, payloadType: 97, encodingName: "L8", clockRate: 8000)
    }
    for number in 0..<200 {
      pair.receive(Self.packet(number, type: 97))
      // Sound that would be known by its type is not the one that was said.
      pair.receive(Self.packet(number, ssrc: 0x51))
      pair.drive(for: .milliseconds(20))
    }
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
    #expect(pair.sound.count >= 190, "\(pair.sound.count)")
    #expect(pair.sound.allSatisfy { $0.format.codec == LinearPCM.l8 })
  }

  @Test(
    "A rate of 0 is described, and the coding says another",
    arguments: [
      ("OPUS", [:], 48_000), ("mpeg4-generic", ["config": "1408"], 16_000), ("G726-32", [:], 8000),
    ] as [(String, [String: String], UInt32)])
  func withoutRate(_ name: String, _ parameters: [String: String], _ rate: UInt32) throws {
    let sender = VirtualSender(units: 1, seed: 1, at: Self.start)
    let sound = MediaDescription(
      kind: .audio, payloadType: 97, encodingName: name, clockRate: 0, formatParameters: parameters)
    let pair = try Pair(sender: sender, describes: [sender.media, sound])
    #expect(pair.reception.status.tracks.map(\.clockRate) == [90_000, rate])
  }

  @Test(
    "What the user says of the sound takes precedence over the description",
    arguments: [true, false])
  func overruled(_ isAlone: Bool) throws {
    let sender = isAlone ? Self.silent() : VirtualSender(units: 100, seed: 1, at: Self.start)
    let wrong = MediaDescription(
      kind: .audio, payloadType: 97, encodingName: "PCMU", clockRate: 8000)
    let said = MediaDescription(kind: .audio, payloadType: 97, encodingName: "L8", clockRate: 8000)
    var pair = try Pair(
      sender: sender, describes: isAlone ? [wrong] : [sender.media, wrong]
    ) { configuration in
      if isAlone { configuration.stream.media = said } else { configuration.stream.sound = said }
    }
    for number in 0..<200 {
      pair.receive(Self.packet(number, type: 97), track: isAlone ? 0 : 1)
      pair.drive(for: .milliseconds(20))
    }
    pair.carrierEnded()
    pair.finish()
    #expect(pair.sound.count == 200)
    #expect(pair.sound.allSatisfy { $0.format.codec == LinearPCM.l8 })
  }

  @Test("Sound by itself says goodbye", arguments: [true, false])
  func goodbye(_ isDescribed: Bool) throws {
    var pair = try Pair(sender: Self.silent(), describes: isDescribed ? [Self.described] : [])
    for number in 0..<50 {
      pair.receive(Self.packet(number))
      pair.drive(for: .milliseconds(20))
    }
    pair.receive(Self.goodbye(of: 0x50), on: .control)
    pair.drive(for: .seconds(2))
    guard case .connection(.goodbye) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
  }

  @Test(
    "Sound that comes before the first picture gets its place by it, and no other later",
    arguments: [0.05, 1.9])
  func beforeTheFirstPicture(_ lead: Double) throws {
    let sender = VirtualSender(units: 100, seed: 1, at: Self.start.advanced(by: .seconds(lead)))
    var pair = try Pair(sender: sender, describes: [sender.media, Self.described])
    for number in 0..<200 {
      pair.receive(Self.packet(number), track: 1)
      pair.drive(for: .milliseconds(20))
    }
    pair.carrierEnded()
    pair.finish()
    #expect(Self.numbers(pair) == (0..<200).map { UInt8(truncatingIfNeeded: $0) })
    let times = try pair.sound.map { try #require($0.alignedTime).seconds }
    #expect(zip(times, times.dropFirst()).allSatisfy { (0.0189...0.0211).contains($1 - $0) })
    #expect(pair.sound.dropFirst().allSatisfy { !$0.isDiscontinuity })
    let first = try #require(pair.units.first).time.seconds
    #expect(abs(first - lead - times[0]) < 0.03)
  }

  @Test("Sound waits until the first pictures have shown in what order they come")
  func firstPictures() throws {
    let sender = VirtualSender(units: 100, seed: 1, at: Self.start)
    var pair = try Pair(sender: sender, describes: [sender.media, Self.described])
    for number in 0..<50 {
      pair.receive(Self.packet(number), track: 1)
      pair.drive(for: .milliseconds(20))
      #expect(pair.sound.isEmpty == (pair.units.count < 5))
    }
    #expect(pair.sound.count == 50)
  }

  @Test("No picture comes for two seconds: the sound goes on, and begins anew beside the pictures")
  func picturesThatComeLate() throws {
    let sender = VirtualSender(units: 100, seed: 1, at: Self.start.advanced(by: .seconds(5)))
    var pair = try Pair(sender: sender, describes: [sender.media, Self.described])
    for number in 0..<400 {
      pair.receive(Self.packet(number), track: 1)
      pair.drive(for: .milliseconds(20))
      #expect(number != 150 || pair.sound.count == 151)
    }
    #expect(pair.sound.count == 400)
    let anew = pair.sound.indices.dropFirst().filter { pair.sound[$0].isDiscontinuity }
    #expect(anew.count == 1 && (249...253).contains(anew[0]), "\(anew)")
    #expect(pair.sound[..<anew[0]].allSatisfy { $0.alignedTime == $0.time })
  }

  @Test("Nobody takes pictures: the sound keeps its own times")
  func picturesBeside() throws {
    let sender = VirtualSender(units: 100, seed: 1, at: Self.start)
    var pair = try Pair(sender: sender, describes: [sender.media, Self.described]) {
      $0.wantsPictures = false
    }
    for number in 0..<200 {
      pair.receive(Self.packet(number), track: 1)
      // The first packet waits for a second one, which proves the source.
      #expect(number == 0 || pair.sound.count == number + 1)
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.sound.allSatisfy { $0.alignedTime == $0.time })
  }

  @Test("Sound was found before the video came")
  func videoLater() throws {
    let sender = VirtualSender(
      units: 100, seed: 1, at: Self.start.advanced(by: .seconds(7)))
    var pair = try Pair(sender: sender, describes: [])
    for number in 0..<500 {
      pair.receive(Self.packet(number))
      pair.drive(for: .milliseconds(20))
    }
    pair.drive(for: .seconds(2))
    #expect(pair.sound.count == 500)
    #expect(pair.units.count >= 98)
    #expect(pair.reception.status.tracks.map(\.kind) == [.video, .audio])
    #expect(pair.sound.last.map { $0.alignedTime != $0.time } == true)
  }

  @Test("A sender of sound begins anew, again and again, each time under another SSRC")
  func newSources() throws {
    var pair = try Pair(sender: Self.silent(), carrier: .init(isPassive: true), describes: [])
    for source in 0..<20 {
      let before = pair.sound.count
      for number in 0..<50 {
        pair.receive(Self.packet(number, ssrc: 0x50 + UInt32(source)))
        pair.drive(for: .milliseconds(20))
      }
      // The first one might have pictures beside it.
      pair.drive(for: .seconds(20))
      #expect(pair.sound.count == before + 50)
    }
    #expect(pair.end == nil)
  }

  @Test("Sound that is silent for long stays the sound, whatever else comes beside the video")
  func silentSound() throws {
    let sender = VirtualSender(units: 800, seed: 1, at: Self.start)
    var pair = try Pair(sender: sender, describes: [])
    for number in 0..<50 {
      pair.receive(Self.packet(number))
      pair.drive(for: .milliseconds(20))
    }
    for source in 0..<10 as Range<UInt32> {
      for number in 0..<50 {
        pair.receive(Self.packet(number, type: 100 + UInt8(source), ssrc: 0x60 + source))
        pair.drive(for: .milliseconds(40))
      }
    }
    #expect(pair.sound.count == 50)
    let status = pair.reception.status
    #expect(status.sound?.ssrc == 0x50 && status.sound?.reception.delivered == 50)
    #expect(status.tracks.count == 9)
  }

  @Test("Video is missing from the description, and so is sound that is known")
  func nothingKnown() throws {
    let gsm = MediaDescription(kind: .audio, payloadType: 3, encodingName: "GSM", clockRate: 8000)
    let pair = try Pair(sender: Self.silent(), describes: [gsm])
    guard case .connection(.unsupportedMedia) = pair.end?.end else {
      Issue.record("\(String(describing: pair.end))")
      return
    }
    // The known one is taken, wherever it stands.
    var other = try Pair(sender: Self.silent(), describes: [gsm, Self.described])
    for number in 0..<10 { other.receive(Self.packet(number), track: 1) }
    #expect(other.sound.count == 10)
  }

  @Test("Nobody takes pictures: video of an unknown codec does no harm")
  func soundAloneIsWanted() throws {
    let video = MediaDescription(payloadType: 98, encodingName: "AV1")
    var pair = try Pair(sender: Self.silent(), describes: [video, Self.described]) {
      $0.wantsPictures = false
    }
    for number in 0..<10 { pair.receive(Self.packet(number), track: 1) }
    #expect(pair.end == nil && pair.sound.count == 10 && pair.mediaBegan != nil)
    let refused = try Pair(sender: Self.silent(), describes: [video, Self.described])
    guard case .connection(.unsupportedMedia) = refused.end?.end else {
      Issue.record("\(String(describing: refused.end))")
      return
    }
  }

  @Test(
    "Sound waits while somebody is crowded, and a recording loses none of it",
    arguments: [true, false])
  func crowd(_ isRecorded: Bool) throws {
    var pair = try Pair(
      sender: Self.silent(), carrier: .init(clock: isRecorded ? .recorded : .monotonic),
      describes: [Self.described])
    for number in 0..<50 {
      pair.receive(Self.packet(number))
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.sound.count == 50)
    pair.setCrowded(true)
    for number in 50..<100 {
      pair.receive(Self.packet(number))
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.sound.count <= 51)
    pair.setCrowded(false)
    pair.carrierEnded()
    pair.finish()
    #expect(Self.numbers(pair) == (0..<100).map { UInt8($0) })
    #expect(pair.isFinished)
  }

  @Test("The totals continue on the next connection")
  func nextConnection() throws {
    var pair = try Pair(sender: Self.silent(), describes: [Self.described])
    for number in 0..<10 { pair.receive(Self.packet(number)) }
    pair.finish()
    var next = try Reception(
      Reception.Configuration(), on: .init(), after: pair.reception,
      randomness: SeededGenerator(seed: 2), at: pair.now)
    next.described([Self.described], at: pair.now)
    next.transportOpened(takesReports: true, at: pair.now)
    var units: [SoundUnit] = []
    for number in 500..<510 {
      next.receive(Datagram(bytes: Self.packet(number, ssrc: 9), arrival: pair.now))
      while let action = next.nextAction() {
        if case .deliverSound(let unit) = action { units.append(unit) }
      }
    }
    #expect(units.count == 10 && units.first?.isDiscontinuity == true)
    #expect(next.status.sound?.sound?.statistics.units == 20)
    #expect(next.status.sound?.reception.isBalanced == true)
    let last = try #require(pair.sound.last)
    #expect(units.first.map { $0.time.ticks > last.time.ticks } == true)
  }

  @Test(
    "Comfort noise and telephone events between the packets are no loss", arguments: [true, false])
  func otherTypes(_ isDescribed: Bool) throws {
    var pair = try Pair(sender: Self.silent(), describes: isDescribed ? [Self.described] : [])
    for number in 0..<100 {
      pair.receive(Self.packet(number, type: number % 10 == 5 ? 13 : number % 10 == 6 ? 101 : 0))
      pair.drive(for: .milliseconds(20))
    }
    #expect(pair.sound.count == 80)
    let statistics = try #require(pair.reception.status.sound?.sound?.statistics)
    #expect(statistics.comfortNoise == 10 && statistics.otherTypes == 10)
    #expect(statistics.lostPackets == 0 && pair.end == nil)
  }
}
