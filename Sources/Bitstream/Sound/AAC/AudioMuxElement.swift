public import NIOCore

/// One LATM element: the access units of all streams for one or more moments (ISO/IEC 14496-3
/// §1.7.3.2).
public struct AudioMuxElement: Sendable, Hashable {
  public enum Invalid: Error, Sendable, Hashable {
    case cut
    /// It uses the previous configuration, and there is none.
    case withoutConfiguration
    case configuration(StreamMuxConfig.Invalid)
  }

  /// What was in force; different from before where the element brought its own.
  public let configuration: StreamMuxConfig
  /// The access units of the first stream, in order.
  public let units: [ByteBuffer]

  /// Reads an element and leaves `bytes` behind it, at the next whole byte.
  ///
  /// - Parameters:
  ///   - bytes: begins with the element.
  ///   - configuration: what was in force before it.
  ///   - isInBand: whether it begins with a configuration, or says that the previous one holds
  ///     (`muxConfigPresent`).
  /// - Throws: what is wrong with it; `bytes` stay as they are then.
  public init(
    reading bytes: inout ByteBuffer, with configuration: StreamMuxConfig?, isInBand: Bool
  ) throws(Invalid) {
    var reader = BitReader(plain: bytes)
    do {
      var current = configuration
      if isInBand, try !reader.bit() { current = try StreamMuxConfig(reading: &reader) }
      guard let current else { throw Invalid.withoutConfiguration }
      var units: [ByteBuffer] = []
      for _ in 0...current.furtherSubframes {
        try Self.readSubframe(&reader, current, into: &units)
      }
      if let bits = current.otherDataBits {
        guard bits <= reader.remaining else { throw Invalid.cut }
        try reader.skip(bits)
      }
      self.configuration = current
      self.units = units
    } catch let error as Invalid {
      throw error
    } catch let error as StreamMuxConfig.Invalid {
      throw .configuration(error)
    } catch {
      throw .cut
    }
    reader.alignToByte()
    bytes.moveReaderIndex(forwardBy: min(reader.position / 8, bytes.readableBytes))
  }

  /// The lengths and the payloads of one moment (`PayloadLengthInfo` and `PayloadMux`).
  private static func readSubframe(
    _ reader: inout BitReader, _ configuration: StreamMuxConfig, into units: inout [ByteBuffer]
  ) throws(BitReader.Exhausted) {
    let streams = configuration.streams
    if configuration.hasSameTimeFraming {
      var lengths: [Int] = []
      for stream in streams { lengths.append(try length(&reader, of: stream)) }
      for (index, length) in lengths.enumerated() {
        let payload = try reader.bytes(length)
        if index == 0, length > 0 { units.append(payload) }
      }
      return
    }
    // Chunks of any streams, of which several may make up one unit.
    var chunks: [(stream: Int, length: Int, isEnd: Bool)] = []
    for _ in 0...(try reader.bits(4)) {
      let stream = Int(try reader.bits(4))
      guard streams.indices.contains(stream) else { throw BitReader.Exhausted() }
      let length = try length(&reader, of: streams[stream])
      let isEnd = if case .coded = streams[stream].frameLength { try reader.bit() } else { true }
      chunks.append((stream, length, isEnd))
    }
    var unit = ByteBuffer()
    for chunk in chunks {
      var payload = try reader.bytes(chunk.length)
      guard chunk.stream == 0 else { continue }
      unit.writeBuffer(&payload)
      guard chunk.isEnd else { continue }
      if unit.readableBytes > 0 { units.append(unit) }
      unit = ByteBuffer()
    }
  }

  /// Bytes of the next payload of `stream`.
  private static func length(
    _ reader: inout BitReader, of stream: StreamMuxConfig.Stream
  ) throws(BitReader.Exhausted) -> Int {
    switch stream.frameLength {
    case .fixed(let length): return length
    case .coded:
      var length = 0
      while true {
        let byte = Int(try reader.bits(8))
        length += byte
        if byte != 255 { return length }
      }
    }
  }
}
