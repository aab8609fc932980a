import NIOCore

/// AAC in AudioMuxElements (RFC 6416 §6; ISO/IEC 14496-3 §1.7.3): one element in a packet, or a
/// fragment of one.
struct LATMPacketizer: Packetizer {
  /// Elements from one StreamMuxConfig in the stream to the next.
  private static let configurationInterval = 24

  private let configuration: AudioSpecificConfig
  private let isInBand: Bool
  private let framesPerElement: Int
  private let payloadLimit: Int
  private var held: [ByteBuffer] = []
  private var ticks: Int64 = 0
  private var elements = 0

  init(
    _ configuration: AudioSpecificConfig, isInBand: Bool, framesPerElement: Int, payloadLimit: Int
  ) {
    self.configuration = configuration
    self.isInBand = isInBand
    self.framesPerElement = min(max(1, framesPerElement), 64)
    self.payloadLimit = max(payloadLimit, RTPPayload.minimumLimit)
  }

  mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    if held.isEmpty { ticks = unit.presentationTicks }
    held += unit.units
    return held.count >= framesPerElement ? element() : []
  }

  /// An element with fewer frames than the others needs a configuration of its own, so without one
  /// in the stream the last frames are left out.
  mutating func finish() -> [RTPPayload] { isInBand && !held.isEmpty ? element() : [] }

  private mutating func element() -> [RTPPayload] {
    var writer = BitWriter()
    if isInBand {
      let repeats =
        elements.isMultiple(of: Self.configurationInterval) || held.count != framesPerElement
      // useSameStreamMux
      writer.write(repeats ? 0 : 1, bits: 1)
      if repeats {
        Self.writeStreamMuxConfig(configuration, frames: held.count, to: &writer)
      }
    }
    for frame in held {
      var length = frame.readableBytes
      while length >= 255 {
        writer.write(255, bits: 8)
        length -= 255
      }
      writer.write(UInt32(length), bits: 8)
      writer.write(frame.readableBytesView)
    }
    elements += 1
    held = []
    var rest = ByteBuffer(bytes: writer.bytes)
    var payloads: [RTPPayload] = []
    while let slice = rest.readSlice(length: min(payloadLimit, rest.readableBytes)),
      slice.readableBytes > 0
    {
      payloads.append(
        RTPPayload(
          bytes: RTPPayload.copy(of: slice), ticks: ticks, marker: rest.readableBytes == 0))
    }
    return payloads
  }

  /// The StreamMuxConfig of one program with one layer, whose frames say their lengths.
  static func streamMuxConfig(_ configuration: AudioSpecificConfig, frames: Int) -> [UInt8] {
    var writer = BitWriter()
    writeStreamMuxConfig(configuration, frames: frames, to: &writer)
    return writer.bytes
  }

  private static func writeStreamMuxConfig(
    _ configuration: AudioSpecificConfig, frames: Int, to writer: inout BitWriter
  ) {
    // audioMuxVersion 0, allStreamsSameTimeFraming 1.
    writer.write(0b01, bits: 2)
    // numSubFrames, numProgram and numLayer, each less by one.
    writer.write(UInt32(frames - 1), bits: 6)
    writer.write(0, bits: 4 + 3)
    writer.write(UInt32(configuration.bits), bits: 16)
    // frameLengthType 0, and a buffer fullness that says that the bit rate varies.
    writer.write(0, bits: 3)
    writer.write(0xFF, bits: 8)
    // No other data, no checksum.
    writer.write(0, bits: 2)
  }
}
