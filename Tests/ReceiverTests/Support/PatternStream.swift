import NIOCore
import RTPSend
import RTPWire

/// The test pattern as packets of one RTP session, with the access units that they hold.
struct PatternStream {
  private(set) var packets: [ByteBuffer] = []
  /// Each access unit's bytes with four-byte start codes.
  private(set) var units: [ByteBuffer] = []
  let media: MediaDescription
  let configuration: RTPStream.Configuration

  init(
    _ codec: Codec, frames: Int, width: Int = 256, height: Int = 144, groupLength: Int = 10,
    as configuration: RTPStream.Configuration
  ) throws {
    var pattern = PatternConfiguration()
    pattern.codec = codec
    (pattern.width, pattern.height) = (width, height)
    pattern.bitRate = 200_000
    pattern.groupLength = groupLength
    pattern.frameLimit = frames
    let source = try SourceRecipe.pattern(pattern).make()
    var stream = RTPStream(configuration)
    var packetizer = Packetization.nonInterleaved.packetizer(
      for: codec, payloadLimit: 500, aggregates: true)
    while let unit = try source.next().element {
      var bytes = ByteBuffer()
      for unit in unit.units {
        bytes.writeBytes([0, 0, 0, 1])
        bytes.writeImmutableBuffer(unit)
      }
      units.append(bytes)
      packets += stream.packets(with: packetizer.packetize(unit))
    }
    packets += stream.packets(with: packetizer.finish())
    self.configuration = configuration
    media = MediaDescription(
      payloadType: configuration.payloadType, encodingName: codec == .h264 ? "H264" : "H265")
  }

  var datagrams: [Datagram] {
    packets.map { Datagram(bytes: $0, arrival: Instant(nanoseconds: 0)) }
  }
}
