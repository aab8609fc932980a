import Defragment
import NIOCore
import RTPProcessor
import RTPWire

@testable import Reception

extension FuzzTarget {
  /// F13: the whole receiver: what a carrier reports, and when, on a virtual clock.
  static let reception = FuzzTarget("reception") { choices in
    var session = try ReceivingSession(&choices)
    while !choices.isEmpty { try session.step(&choices) }
    try session.finish()
  }
}

private struct ReceivingSession {
  private var reception: Reception
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var isOver = false
  private var isFinishing = false
  private var isFinished = false
  private var awaitsRoom = false
  private var isCrowded = false
  /// The sources of all that has come.
  private var sources: Set<UInt32> = []
  /// A key picture of the described video.
  private var key: KeyPicture?
  /// The slice of the picture that has to come out, and whether it has.
  private var awaited: [UInt8]?
  private var hasCome = false
  private var sequence: [UInt16] = [0, 65_530]
  private var timestamp: [UInt32] = [90_000, 1]

  init(_ choices: inout Choices) throws {
    let kind = choices.byte()
    var configuration = Reception.Configuration()
    if kind & 1 != 0 { configuration.firstMediaTimeout = .seconds(5) }
    if kind & 2 != 0 { configuration.silenceTimeout = .seconds(5) }
    if kind & 4 != 0 { configuration.reconnectionSilence = .seconds(2) }
    if kind & 8 != 0 { configuration.duration = .seconds(20) }
    if kind & 16 != 0 { configuration.gatheringTime = .milliseconds(100) }
    configuration.wantsPictures = kind & 32 == 0
    let carrier = Reception.Carrier(
      clock: kind & 64 != 0 ? .recorded : .monotonic, isPassive: kind & 128 != 0, canGather: true)
    reception = try Reception(
      configuration, on: carrier, randomness: SplitMix64(seed: 1), at: now)
    reception.startRun(at: now)
    if choices.flag() {
      let sound = choices.pick(["mpeg4-generic", "opus", "PCMU"])
      let isH264 = choices.flag()
      key = isH264 ? .h264 : .h265
      reception.described(
        [
          MediaDescription(payloadType: 96, encodingName: isH264 ? "H264" : "H265"),
          MediaDescription(
            kind: .audio, payloadType: 97, encodingName: sound,
            clockRate: sound == "PCMU" ? 8000 : 48_000, channels: 2,
            formatParameters: [
              "mode": "AAC-hbr", "config": "1190", "sizelength": "13", "indexlength": "3",
              "indexdeltalength": "3",
            ]),
        ], at: now)
    }
    reception.transportOpened(takesReports: true, at: now)
    try perform()
  }

  mutating func step(_ choices: inout Choices) throws {
    switch choices.byte() % 12 {
    case 0...3:
      let track = Int(choices.byte() & 1)
      let marker = choices.flag()
      if marker { timestamp[track] &+= track == 0 ? 3000 : 1024 }
      try media(choices.piece(), track: track, marker: marker)
    case 4: sequence[Int(choices.byte() & 1)] &+= UInt16(choices.byte())
    case 5: try receive(choices.piece(), .media, Int(choices.byte() & 3))
    case 6: try receive(choices.piece(), .control, Int(choices.byte() & 1))
    case 7: try pass(Int64(choices.byte()) * 1_000_000)
    case 8: try pass(Int64(choices.number(bytes: 2)) * 1_000_000)
    case 9:
      isCrowded = choices.flag()
      answerForRoom()
    case 10:
      timestamp[Int(choices.byte() & 1)] = UInt32(truncatingIfNeeded: choices.number(bytes: 4))
    default: try other(&choices)
    }
    try perform()
  }

  private mutating func other(_ choices: inout Choices) throws {
    switch choices.byte() % 6 {
    case 0: reception.transportEnded(choices.flag() ? .ended : .failed(Violation(description: "")))
    case 1: reception.attend(choices.flag())
    case 2: reception.readCompleted(at: now)
    case 3:
      isFinishing = true
      reception.finish(at: now)
    case 4: reception.hurry()
    default:
      try receive(choices.piece(), choices.pick([.correction, .retransmission]), 0)
    }
  }

  mutating func finish() throws {
    if let key, !isOver, !isFinishing { try goOn(with: key) }
    reception.finish(at: now)
    reception.hurry()
    try perform()
    isCrowded = false
    answerForRoom()
    try perform()
    try require(isFinished, "it does not come to an end")
    try requireBalance()
  }

  /// Whatever has come, the pictures of the next sender come out, unless the session is over.
  private mutating func goOn(with key: KeyPicture) throws {
    isCrowded = false
    answerForRoom()
    try perform()
    // By then the last sender is gone for certain, and nobody else is on probation.
    try pass(6_000_000_000)
    let sender = (UInt32(0x5EED_0000)...).first { !sources.contains($0) } ?? 0
    sequence[0] = 0x4000
    timestamp[0] = 0
    for number in UInt8(1)...4 {
      let slice = key.slice + [number]
      // What the first ones meet may damage them, and the last one has nothing behind it.
      if number == 3 { awaited = slice }
      for unit in key.sets + [slice] {
        try media(unit, track: 0, marker: unit == slice, ssrc: sender)
      }
      timestamp[0] &+= 45_000
      // Longer than packets wait for one another.
      try pass(500_000_000)
    }
    try require(hasCome || isOver, "the next key picture does not come out")
  }

  private mutating func answerForRoom() {
    guard awaitsRoom else { return }
    awaitsRoom = false
    reception.roomAwaited(isCrowded: isCrowded, at: now)
  }

  private mutating func media(
    _ payload: [UInt8], track: Int, marker: Bool, ssrc: UInt32? = nil
  ) throws {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      UInt8(0x80), UInt8(96 + track) | (marker ? 0x80 : 0), sequence[track], timestamp[track],
      ssrc ?? UInt32(track + 10))
    bytes.writeBytes(payload)
    sequence[track] &+= 1
    try receive(bytes.array, .media, track)
  }

  private mutating func receive(
    _ bytes: [UInt8], _ channel: Datagram.Channel, _ track: Int
  ) throws {
    let buffer = ByteBuffer(sliceOf: bytes)
    if let ssrc = buffer.getInteger(at: buffer.readerIndex + 8, as: UInt32.self) {
      sources.insert(ssrc)
    }
    reception.receive(Datagram(bytes: buffer, arrival: now, channel: channel, track: track))
    try perform()
    try requireEqual(buffer.array, bytes, "the input has changed")
    try requireBalance()
  }

  private func requireBalance() throws {
    let others = reception.others
    for packets in [reception.video.reception] + others.map(\.processor.statistics) {
      try require(packets.isBalanced, "the counters do not balance: \(packets.counts)")
    }
    for payloads in others.compactMap(\.sound?.statistics) {
      try require(payloads.isBalanced, "the sound's do not balance: \(payloads.counts)")
    }
  }

  private mutating func pass(_ nanoseconds: Int64) throws {
    let end = now.advanced(byNanoseconds: nanoseconds)
    var steps = 0
    while let deadline = reception.deadline, deadline <= end {
      now = max(now, deadline)
      reception.timePassed(to: now)
      try perform()
      steps += 1
      try require(steps < 100_000, "it wakes again and again at \(now)")
    }
    now = end
  }

  private mutating func perform() throws {
    var count = 0
    while let action = reception.nextAction() {
      count += 1
      try require(count < 1_000_000, "actions without end")
      try require(!isFinished, "something happens after the end")
      switch action {
      case .deliver(let unit):
        try require(unit.bytes.readableBytes > 0, "an access unit without bytes")
        if let awaited, unit.integrity == .whole, unit.nalUnits.last?.array == awaited {
          hasCome = true
        }
        reception.delivered(
          decodingContinues: unit.integrity == .whole, isCrowded: isCrowded, at: now)
      case .deliverSound(let unit):
        try require(unit.bytes.readableBytes > 0, "sound without bytes")
        reception.delivered(decodingContinues: true, isCrowded: isCrowded, at: now)
      case .awaitRoom: awaitsRoom = true
      case .sendRTCP(let compound, _):
        _ = try RTCPPacket.parse(compound: compound)
        try require(compound.readableBytes <= 1500, "\(compound.readableBytes) bytes of RTCP")
      case .ended:
        try require(!isOver, "it ends twice")
        isOver = true
      case .finished: isFinished = true
      case .holdReading, .gather, .mediaBegan, .senderCame: break
      }
    }
  }
}
