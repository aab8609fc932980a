import NIOCore
import RTPSend
import RTPWire
import TestSupport

/// A sender of made-up pictures as a value: 25 access units per second, a key picture every second,
/// sender reports, and retransmissions on request.
struct VirtualSender {
  static let interval = Duration.milliseconds(40)
  static let reportInterval = Duration.seconds(1)

  /// What a packet is sent on.
  struct Sending {
    var bytes: ByteBuffer
    var channel = Datagram.Channel.media
  }

  let media: MediaDescription
  /// The bytes of each access unit sent so far, with start codes.
  private(set) var units: [ByteBuffer] = []
  private(set) var packetsSent = 0
  /// The number of the next packet.
  private(set) var nextNumber: UInt16
  /// When the next access unit is due; `nil` when no more come.
  private(set) var nextUnit: Instant?
  private var nextReport: Instant
  private var stream: RTPStream
  private var account: SenderAccount
  private var packetizer: any Packetizer
  private var generator: SeededGenerator
  private var remaining: Int
  private var number: Int64 = 0
  private var history: [UInt16: ByteBuffer] = [:]
  private let codec: Codec
  private let answers: Bool
  private let start: Instant

  init(
    units: Int, seed: UInt64, codec: Codec = .h264, ssrc: UInt32 = 0xA, payloadType: UInt8 = 96,
    firstNumber: UInt16 = 65_500, answers: Bool = false, at start: Instant
  ) {
    self.codec = codec
    nextNumber = firstNumber
    self.start = start
    self.answers = answers
    remaining = units
    generator = SeededGenerator(seed: seed)
    media = MediaDescription(
      payloadType: payloadType, encodingName: codec.encodingName,
      feedback: answers ? FeedbackOffer([.nack]) : FeedbackOffer())
    var configuration = RTPStream.Configuration(
      ssrc: ssrc, initialSequence: firstNumber, initialTimestamp: 1)
    configuration.payloadType = payloadType
    stream = RTPStream(configuration)
    account = SenderAccount(ssrc: ssrc)
    packetizer = Packetization.nonInterleaved.packetizer(
      for: codec, payloadLimit: 400, aggregates: true)
    nextUnit = start
    nextReport = start
  }

  /// When there is something to send.
  var deadline: Instant? { nextUnit.map { min($0, nextReport) } }

  /// What is sent at `now`.
  mutating func send(at now: Instant) -> [Sending] {
    var sendings: [Sending] = []
    while let due = nextUnit, due <= now {
      let packets = packetsOfNextUnit()
      packetsSent += packets.count
      nextNumber &+= UInt16(truncatingIfNeeded: packets.count)
      for packet in packets {
        account.add(octets: stream.octets(of: packet) ?? 0)
        if answers, let number = packet.getInteger(at: packet.readerIndex + 2, as: UInt16.self) {
          history[number] = packet
        }
        sendings.append(Sending(bytes: packet))
      }
      remaining -= 1
      nextUnit = remaining > 0 ? due.advanced(by: Self.interval) : nil
    }
    if nextReport <= now, nextUnit != nil {
      nextReport = nextReport.advanced(by: Self.reportInterval)
      sendings.append(Sending(bytes: report(at: now), channel: .control))
    }
    return sendings
  }

  /// The last thing that is said, with a goodbye.
  func goodbye(at now: Instant) -> Sending {
    let bytes = SenderReports().goodbye(
      of: account, timestamp: timestamp(at: now), unixNanoseconds: UInt64(now.nanoseconds))
    return Sending(bytes: bytes, channel: .control)
  }

  func report(at now: Instant) -> ByteBuffer {
    SenderReports().report(
      on: account, timestamp: timestamp(at: now), unixNanoseconds: UInt64(now.nanoseconds))
  }

  /// What answers an RTCP compound of the receiver.
  mutating func answer(_ compound: ByteBuffer) throws -> [Sending] {
    guard answers else { return [] }
    var sendings: [Sending] = []
    for case .feedback(.genericNACK(_, let lost), _) in try RTCPPacket.parse(compound: compound) {
      for number in lost.flatMap(\.numbers) {
        if let packet = history[number.rawValue] { sendings.append(Sending(bytes: packet)) }
      }
    }
    return sendings
  }

  private func timestamp(at now: Instant) -> UInt32 {
    stream.timestamp(of: start.nanoseconds(to: now) * 9 / 100_000)
  }

  private mutating func packetsOfNextUnit() -> [ByteBuffer] {
    let isKey = number % 25 == 0
    var nalUnits: [ByteBuffer] = []
    if isKey {
      let sets: [[UInt8]] =
        codec == .h264
        ? [[0x67, 66, 0, 30, 0xFF], [0x68, 0xFF]] : [[0x40, 1], [0x42, 1], [0x44, 1]]
      nalUnits = sets.map { unit(header: $0, length: 8) }
    }
    for slice in 0..<3 {
      let first: UInt8 = slice == 0 ? 0x80 : 0x40
      let header: [UInt8] =
        codec == .h264 ? [isKey ? 0x65 : 0x41, first] : [isKey ? 0x26 : 0x02, 1, first]
      nalUnits.append(unit(header: header, length: 20 + 1 + generator.integer(below: 900)))
    }
    var bytes = ByteBuffer()
    for unit in nalUnits {
      bytes.writeBytes([0, 0, 0, 1])
      bytes.writeImmutableBuffer(unit)
    }
    units.append(bytes)
    let accessUnit = SourceAccessUnit(
      units: nalUnits, presentationTicks: number * 3600, decodingTicks: number * 3600,
      isRandomAccess: isKey)
    number += 1
    return stream.packets(with: packetizer.packetize(accessUnit))
  }

  /// A NAL unit without anything that could be a start code.
  private mutating func unit(header: [UInt8], length: Int) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: header)
    for _ in 0..<length { bytes.writeInteger(UInt8(truncatingIfNeeded: generator.next()) | 1) }
    return bytes
  }
}
