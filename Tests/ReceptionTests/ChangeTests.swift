import NIOCore
import RTPProcessor
import RTPSend
import RTPWire
import Reception
import TestSupport
import Testing

/// Senders that are set up anew while they are received, where nothing describes them.
@Suite struct ChangeTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  /// What is different afterwards.
  struct Change: Sendable, CustomTestStringConvertible {
    var codec = Codec.h264
    var ssrc: UInt32 = 0xA
    var payloadType: UInt8 = 96
    /// How far the first number is from the one that would be next.
    var step: UInt16 = 20_000
    var pause = Duration.milliseconds(40)
    /// Sound beside it has a type of its own, too.
    var hasSound = false

    var testDescription: String {
      "\(codec), SSRC \(ssrc), type \(payloadType), step \(step), after \(pause)"
        + (hasSound ? ", with sound" : "")
    }
  }

  private static let changes: [Change] = [
    Change(codec: .h265),
    Change(codec: .h265, ssrc: 0xB),
    Change(codec: .h265, step: 1000),
    Change(codec: .h265, step: 0),
    Change(ssrc: 0xB),
    Change(payloadType: 97),
    Change(payloadType: 97, step: 0),
    Change(payloadType: 97, step: 0, pause: .seconds(3)),
    Change(ssrc: 0xB, payloadType: 97),
    Change(ssrc: 0xB, payloadType: 97, step: 0),
    Change(codec: .h265, payloadType: 97),
    Change(codec: .h265, payloadType: 97, step: 0),
    Change(codec: .h265, ssrc: 0xB, payloadType: 97),
    Change(codec: .h265, ssrc: 0xB, payloadType: 97, hasSound: true),
    Change(ssrc: 0xB, payloadType: 97, step: 0, hasSound: true),
    Change(codec: .h265, payloadType: 97, step: 0, hasSound: true),
  ]

  private static func sound(_ number: Int) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: [0x80, 111])
    bytes.writeMultipleIntegers(
      UInt16(truncatingIfNeeded: number), UInt32(truncatingIfNeeded: number * 960), UInt32(0x50))
    // What Opus in stereo begins with looks like a fragment of H.264.
    bytes.writeMultipleIntegers(UInt8(0x7C), UInt8(truncatingIfNeeded: number &* 37))
    bytes.writeRepeatingByte(0xD5, count: 80)
    return bytes
  }

  /// Lets `duration` pass, with 50 packets of sound a second if there is any.
  private static func drive(_ pair: inout Pair, for duration: Duration, _ sound: inout Int?) {
    let end = pair.now.advanced(by: duration)
    while let number = sound, pair.now < end {
      pair.receive(Self.sound(number))
      sound = number + 1
      pair.drive(for: .milliseconds(20))
    }
    pair.drive(until: end)
  }

  @Test("everything of both is received, and nothing counts as lost", arguments: changes)
  func change(_ change: Change) throws {
    let first = VirtualSender(units: 100, seed: 1, at: Self.start)
    var pair = try Pair(sender: first, describes: [])
    var sound = change.hasSound ? 0 : nil
    Self.drive(&pair, for: .seconds(4), &sound)
    let former = pair.sender
    #expect(former.deadline == nil)
    Self.drive(&pair, for: change.pause - .milliseconds(40), &sound)
    pair.sender = VirtualSender(
      units: 100, seed: 2, codec: change.codec, ssrc: change.ssrc, payloadType: change.payloadType,
      firstNumber: former.nextNumber &+ change.step, at: pair.now)
    Self.drive(&pair, for: .seconds(5), &sound)
    let current = pair.sender
    // It goes on before it ends.
    #expect(pair.units.count >= 195)
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == former.units + current.units)
    let codecs = pair.units.map(\.codec.encodingName)
    #expect(codecs.prefix(100).allSatisfy { $0 == "H264" })
    #expect(codecs.dropFirst(100).allSatisfy { $0 == change.codec.encodingName })
    // A step that is not far looks like a loss, and none like the same stream.
    let isLoss = change.step == 1000
    let isSame = change.ssrc == 0xA && change.payloadType == 96 && change.step <= 1000
    let times = pair.units.map(\.time.ticks)
    #expect(isSame || zip(times, times.dropFirst()).allSatisfy { $0 < $1 })

    let tracks = pair.reception.status.tracks
    #expect(tracks[0].reception.ignoredPayloadTypes.keys.sorted() == (change.hasSound ? [111] : []))
    #expect(tracks.count == (change.hasSound ? 2 : 1))
    #expect(tracks[0].codecName == change.codec.encodingName)
    #expect(tracks[0].payloadType == change.payloadType && tracks[0].ssrc == change.ssrc)
    #expect(
      tracks.allSatisfy { $0.reception.lost == (isLoss ? 1000 : 0) && $0.reception.isBalanced })
    let video = UInt64(former.packetsSent + current.packetsSent)
    #expect(tracks[0].reception.delivered == video)
  }

  @Test(
    "the end of a short stream is received that came after a change", arguments: changes, [25, 100])
  func changeAtTheEnd(_ change: Change, units: Int) throws {
    var pair = try Pair(
      sender: VirtualSender(units: units, seed: 1, at: Self.start), describes: [])
    pair.drive(for: VirtualSender.interval * units)
    let former = pair.sender
    pair.sender = VirtualSender(
      units: 5, seed: 2, codec: change.codec, ssrc: change.ssrc, payloadType: change.payloadType,
      firstNumber: former.nextNumber &+ change.step, at: pair.now)
    pair.drive(for: .milliseconds(170))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == former.units + pair.sender.units)
    #expect(pair.reception.status.reception.isBalanced)
  }

  @Test("what the network swaps at the change of the type is put in order")
  func reordering() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: [])
    pair.drive(for: .milliseconds(3930))
    var former = pair.sender
    let last = former.send(at: pair.now.advanced(by: .milliseconds(30))).map(\.bytes)
    pair.sender = VirtualSender(
      units: 50, seed: 2, payloadType: 97, firstNumber: former.nextNumber,
      at: pair.now.advanced(by: .milliseconds(20)))
    pair.drive(for: .milliseconds(60))
    for packet in last { pair.receive(packet) }
    pair.drive(for: .seconds(3))
    pair.carrierEnded()
    pair.finish()
    #expect(former.deadline == nil && !last.isEmpty)
    #expect(pair.wholeUnits == former.units + pair.sender.units)
    #expect(pair.reception.status.reception.lost == 0)
  }

  @Test("what the network swaps at a restart is put in order", arguments: [Codec.h264, .h265])
  func reorderedRestart(codec: Codec) throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: [])
    pair.drive(for: .seconds(4))
    let former = pair.sender
    var next = VirtualSender(
      units: 50, seed: 2, codec: codec, firstNumber: former.nextNumber &+ 20_000, at: pair.now)
    var packets = next.send(at: pair.now).filter { $0.channel == .media }.map(\.bytes)
    packets.swapAt(0, 2)
    for packet in packets { pair.receive(packet) }
    pair.sender = next
    pair.drive(for: .seconds(3))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == former.units + pair.sender.units)
    #expect(pair.reception.status.reception.late == 0)
  }

  @Test("two changes within the time that one takes are both followed")
  func twoChanges() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 25, seed: 1, at: Self.start), describes: [])
    var units: [ByteBuffer] = []
    for (type, count) in [(96, 25), (100, 25), (98, 100)] {
      pair.sender = VirtualSender(
        units: count, seed: UInt64(type), codec: type == 100 ? .h265 : .h264,
        payloadType: UInt8(type), at: pair.now)
      pair.drive(for: VirtualSender.interval * count)
      units += pair.sender.units
    }
    pair.drive(for: .seconds(1))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == units)
    #expect(pair.reception.status.reception.isBalanced)
  }

  @Test("parameter sets without pictures are no stream to go on with")
  func parameterSetsAlone() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: Self.start), describes: [])
    pair.drive(for: .seconds(2))
    let former = pair.sender
    for number in 0..<10 as Range<UInt16> {
      var bytes = ByteBuffer(bytes: [0x80, 98])
      bytes.writeMultipleIntegers(number, UInt32(number) * 9000, UInt32(0xA))
      bytes.writeBytes([0x40, 1, 0x0C, 1, 0xFF, 0xFF, 1, 0x60])
      pair.receive(bytes)
      pair.drive(for: .milliseconds(100))
    }
    pair.sender = VirtualSender(
      units: 50, seed: 2, firstNumber: former.nextNumber, at: pair.now)
    pair.drive(for: .seconds(3))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == former.units + pair.sender.units)
  }

  @Test("garbage hides no change", arguments: 1...5 as ClosedRange<UInt64>)
  func garbage(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var pair = try Pair(
      sender: VirtualSender(units: 50, seed: 1, at: Self.start), describes: [])
    func spoil(for duration: Duration) {
      let end = pair.now.advanced(by: duration)
      while pair.now < end {
        var bytes = ByteBuffer(bytes: [0x80, UInt8(96 + random.integer(below: 32))])
        bytes.writeBytes(random.bytes(120))
        pair.receive(bytes)
        pair.drive(for: .milliseconds(7))
      }
    }
    spoil(for: .seconds(3))
    let former = pair.sender
    pair.sender = VirtualSender(
      units: 100, seed: 2, codec: .h265, payloadType: 98, firstNumber: former.nextNumber,
      at: pair.now)
    spoil(for: .seconds(5))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == former.units + pair.sender.units)
  }

  @Test("another type beside the pictures is not theirs, even while they pause")
  func soundIsNoSuccessor() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: [])
    var sound: Int? = 0
    Self.drive(&pair, for: .seconds(8), &sound)
    let former = pair.sender
    pair.sender = VirtualSender(
      units: 100, seed: 2, firstNumber: former.nextNumber, at: pair.now)
    Self.drive(&pair, for: .seconds(5), &sound)
    #expect(pair.wholeUnits.count >= 198)
    #expect(pair.reception.status.tracks.map(\.payloadType) == [96, 111])
  }

  @Test("pictures of two types at once are those of the first")
  func twoTypesAtOnce() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 150, seed: 1, at: Self.start), describes: [])
    pair.drive(for: .seconds(1))
    var other = VirtualSender(
      units: 100, seed: 2, codec: .h265, ssrc: 0xB, payloadType: 97, at: pair.now)
    while let due = other.deadline {
      for sending in other.send(at: due) where sending.channel == .media {
        pair.receive(sending.bytes)
      }
      pair.drive(until: due)
    }
    pair.drive(for: .seconds(1))
    #expect(pair.wholeUnits == pair.sender.units)
    #expect(pair.reception.status.tracks.map(\.payloadType) == [96, 97])
  }

  @Test("where only the codec was said, another type of it is followed")
  func typeOfSaidCodec() throws {
    var pair = try Pair(sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: []) {
      $0.stream.media.encodingName = "H264"
    }
    pair.drive(for: .seconds(4))
    let former = pair.sender
    pair.sender = VirtualSender(
      units: 100, seed: 2, ssrc: 0xB, payloadType: 97, firstNumber: 7, at: pair.now)
    pair.drive(for: .seconds(5))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == former.units + pair.sender.units)
  }

  /// A section that lists H.264 as 96 and, with another packetization mode, as 97.
  private static var several: MediaDescription {
    var media = MediaDescription(payloadType: 96, encodingName: "H264")
    media.otherFormats = [
      MediaDescription(
        payloadType: 97, encodingName: "H264", formatParameters: ["packetization-mode": "1"])
    ]
    return media
  }

  @Test("a sender uses any of the listed types from the beginning", arguments: [96, 97] as [UInt8])
  func listedType(_ type: UInt8) throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, payloadType: type, at: Self.start),
      describes: [Self.several])
    pair.drive(for: .seconds(5))
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == pair.sender.units)
    let tracks = pair.reception.status.tracks
    #expect(tracks.map(\.payloadType) == [type])
    #expect(tracks[0].reception.lost == 0 && tracks[0].reception.isBalanced)
    #expect(tracks[0].reception.ignoredPayloadTypes.isEmpty)
  }

  @Test("a sender goes on from one listed type to the other, and back")
  func listedTypes() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 0, seed: 1, at: .init(nanoseconds: .max)),
      describes: [Self.several])
    var units: [ByteBuffer] = []
    for (index, type) in [96, 97, 96].enumerated() {
      pair.sender = VirtualSender(
        units: 100, seed: UInt64(index), payloadType: UInt8(type),
        firstNumber: pair.sender.nextNumber, at: pair.now)
      pair.drive(for: .seconds(5))
      units += pair.sender.units
    }
    pair.carrierEnded()
    pair.finish()
    #expect(pair.wholeUnits == units)
    #expect(pair.reception.status.reception.lost == 0)
  }

  @Test("pictures of two listed types at once are those of the first, to the end")
  func listedTypesAtOnce() throws {
    var pair = try Pair(
      sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: [Self.several])
    var other = VirtualSender(units: 100, seed: 2, ssrc: 0xB, payloadType: 97, at: Self.start)
    while let due = other.deadline {
      pair.drive(until: due)
      for sending in other.send(at: due) where sending.channel == .media {
        pair.receive(sending.bytes)
      }
    }
    pair.carrierEnded()
    pair.finish()
    #expect(pair.sender.units.count == 100)
    #expect(pair.wholeUnits == pair.sender.units)
  }

  @Test("a type that was said stays, and so does a codec", arguments: [true, false])
  func saidStays(isType: Bool) throws {
    var said = MediaDescription()
    if isType { said.payloadType = 96 } else { said.encodingName = "H264" }
    var pair = try Pair(sender: VirtualSender(units: 100, seed: 1, at: Self.start), describes: []) {
      $0.stream.media = said
    }
    pair.drive(for: .seconds(4))
    let former = pair.sender
    pair.sender = VirtualSender(
      units: 100, seed: 2, codec: isType ? .h264 : .h265, ssrc: 0xB, payloadType: 97, at: pair.now)
    pair.drive(for: .seconds(5))
    pair.finish()
    #expect(pair.wholeUnits == former.units)
  }
}
