import Foundation
import NIOCore
import RTPSend

/// The clip that scripted servers send: a second of the test pattern as RTP packets.
struct ClipPackets: Sendable {
  struct Packet: Sendable {
    var bytes: [UInt8]
    var frame: Int
  }

  static let frameCount = 25
  static let ticksPerFrame = 3600
  static let ssrc: UInt32 = 0x1234_5678
  static let initialSequence: UInt16 = 65_500
  static let initialTimestamp: UInt32 = 1_000_000

  let packets: [Packet]
  /// The NAL units of every frame.
  let frames: [[ByteBuffer]]
  /// The value of `sprop-parameter-sets`.
  let parameterSets: String
  /// As many bytes past the last packet's number as a sender report counts.
  let account: SenderAccount

  /// Made once for all tests; H.264, a key picture in five, with parameter sets before each.
  static let shared = Result { try ClipPackets() }

  init() throws {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height) = (256, 144)
    (pattern.framesPerSecond, pattern.groupLength) = (25, 5)
    (pattern.bitRate, pattern.frameLimit) = (200_000, Self.frameCount)
    let recipe = SourceRecipe.pattern(pattern)
    let sets = try StreamDescription(of: recipe).parameterSets
    parameterSets = [.sequence, .picture].flatMap { sets[$0] ?? [] }
      .map { ByteBufferView($0) }.map { Array($0).base64 }.joined(separator: ",")
    let source = try recipe.make()
    var packetizer = Packetization.nonInterleaved.packetizer(
      for: .h264, payloadLimit: 300, aggregates: true)
    var configuration = RTPStream.Configuration(
      ssrc: Self.ssrc, initialSequence: Self.initialSequence,
      initialTimestamp: Self.initialTimestamp)
    configuration.payloadType = 96
    var stream = RTPStream(configuration)
    var account = SenderAccount(ssrc: configuration.ssrc)
    var packets: [Packet] = []
    var frames: [[ByteBuffer]] = []
    while let unit = try source.next().element {
      for packet in stream.packets(with: packetizer.packetize(unit)) {
        account.add(octets: stream.octets(of: packet) ?? 0)
        packets.append(Packet(bytes: Array(packet.readableBytesView), frame: frames.count))
      }
      frames.append(unit.units)
    }
    (self.packets, self.frames, self.account) = (packets, frames, account)
  }
}

extension [UInt8] {
  /// RFC 4648 §4.
  var base64: String { Data(self).base64EncodedString() }
}
