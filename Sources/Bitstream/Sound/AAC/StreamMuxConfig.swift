public import NIOCore

/// What an LATM multiplex contains (ISO/IEC 14496-3 §1.7.3.2.3, table 1.42).
public struct StreamMuxConfig: Sendable, Hashable {
  public enum Invalid: Error, Sendable, Hashable {
    case cut
    /// A version of the syntax that is reserved (`audioMuxVersionA`).
    case version
    case configuration(AudioSpecificConfig.Invalid)
    /// A stream of something other than AAC (`frameLengthType` from 2 on).
    case frameLengthType(UInt32)
  }

  /// How the length of a stream's payloads is known.
  enum FrameLength: Sendable, Hashable {
    /// It precedes each payload (`frameLengthType` 0).
    case coded
    /// It is always this many bytes (`frameLengthType` 1).
    case fixed(Int)
  }

  /// A layer of a program.
  struct Stream: Sendable, Hashable {
    var configuration: AudioSpecificConfig
    var frameLength: FrameLength
  }

  /// Payloads of each stream in one element, less one: 0 … 63.
  let furtherSubframes: Int
  let hasSameTimeFraming: Bool
  /// The layers of all programs, at least one; the first one is decoded.
  let streams: [Stream]
  /// Bits of other data at the end of each element; `nil` if there is none.
  let otherDataBits: Int?

  /// The configuration of the stream that is decoded.
  public var configuration: AudioSpecificConfig { streams[0].configuration }

  /// The one for a single stream with its lengths before its units, and nothing beside it.
  public init(_ configuration: AudioSpecificConfig) {
    (furtherSubframes, hasSameTimeFraming, otherDataBits) = (0, true, nil)
    streams = [Stream(configuration: configuration, frameLength: .coded)]
  }

  /// Reads the whole of `bytes`, as SDP carries it (RFC 6416 §7.1).
  ///
  /// GStreamer's `rtpmp4apay` ends it behind the AudioSpecificConfig, whose extension it includes,
  /// and sends a single stream whose lengths are coded.
  public init(parsing bytes: ByteBuffer) throws(Invalid) {
    var reader = BitReader(plain: bytes)
    do {
      try self.init(reading: &reader)
    } catch {
      guard let configuration = Self.bareConfiguration(bytes) else { throw error }
      self.init(configuration)
    }
  }

  /// The configuration that fills `bytes` behind the fields for a single stream.
  private static func bareConfiguration(_ bytes: ByteBuffer) -> AudioSpecificConfig? {
    var reader = BitReader(plain: bytes)
    // Version 0, the same time framing, and one subframe, program and layer.
    guard let head = try? reader.bits(15), head == 0x2000 else { return nil }
    return try? AudioSpecificConfig(reading: &reader, isWhole: true)
  }

  init(reading reader: inout BitReader) throws(Invalid) {
    do {
      let isVersionOne = try reader.bit()
      if isVersionOne, try reader.bit() { throw Invalid.version }
      // Says how full the decoder's buffer is at the start.
      if isVersionOne { _ = try Self.value(&reader) }
      hasSameTimeFraming = try reader.bit()
      furtherSubframes = Int(try reader.bits(6))
      streams = try Self.streams(&reader, isVersionOne: isVersionOne, hasSameTimeFraming)
      if try reader.bit() {
        otherDataBits =
          isVersionOne ? Int(try Self.value(&reader)) : try Self.otherDataLength(&reader)
      } else {
        otherDataBits = nil
      }
      if try reader.bit() { try reader.skip(8) }
    } catch let error as Invalid {
      throw error
    } catch let error as AudioSpecificConfig.Invalid {
      throw .configuration(error)
    } catch {
      throw .cut
    }
  }

  private static func streams(
    _ reader: inout BitReader, isVersionOne: Bool, _ hasSameTimeFraming: Bool
  ) throws -> [Stream] {
    var streams: [Stream] = []
    let programs = try reader.bits(4) + 1
    for _ in 0..<programs {
      let layers = try reader.bits(3) + 1
      for layer in 0..<layers {
        let previous = streams.last
        let configuration: AudioSpecificConfig
        if let previous, try reader.bit() {
          configuration = previous.configuration
        } else if isVersionOne {
          configuration = try measuredConfiguration(&reader)
        } else {
          configuration = try AudioSpecificConfig(reading: &reader, isWhole: false)
        }
        let length = try frameLength(
          &reader,
          hasOffset: !hasSameTimeFraming && layer > 0
            && (configuration.objectType == AAC.ObjectType.scalable
              || configuration.objectType == AAC.ObjectType.errorResilientScalable)
        )
        streams.append(Stream(configuration: configuration, frameLength: length))
      }
    }
    return streams
  }

  private static func frameLength(
    _ reader: inout BitReader, hasOffset: Bool
  ) throws -> FrameLength {
    let type = try reader.bits(3)
    switch type {
    case 0:
      try reader.skip(8 + (hasOffset ? 6 : 0))
      return .coded
    case 1:
      return .fixed(Int(try reader.bits(9)) + 20)
    default:
      throw Invalid.frameLengthType(type)
    }
  }

  /// A configuration whose length precedes it, so that an extension can follow it.
  private static func measuredConfiguration(
    _ reader: inout BitReader
  ) throws -> AudioSpecificConfig {
    let length = Int(try value(&reader))
    guard length <= reader.remaining else { throw BitReader.Exhausted() }
    var writer = BitWriter()
    for _ in 0..<length { writer.append(try reader.bit()) }
    return try AudioSpecificConfig(parsing: ByteBuffer(bytes: writer.plain))
  }

  /// `LatmGetValue` (table 1.43).
  private static func value(_ reader: inout BitReader) throws(BitReader.Exhausted) -> UInt32 {
    let bytes = Int(try reader.bits(2)) + 1
    return try reader.bits(8 * bytes)
  }

  /// As in version 0: bytes, the highest first, each after a bit that says whether one follows.
  private static func otherDataLength(
    _ reader: inout BitReader
  ) throws(BitReader.Exhausted) -> Int {
    var length = 0
    var isContinued = true
    while isContinued {
      isContinued = try reader.bit()
      length = length << 8 | Int(try reader.bits(8))
      // No element has room for more.
      guard length < 1 << 32 else { throw BitReader.Exhausted() }
    }
    return length
  }
}
