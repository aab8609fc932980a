public import Bitstream
public import Defragment
public import NIOCore

/// VP8 in RTP (RFC 7741), as a payload format from another package.
///
/// A frame is one unit: the payloads of its packets without descriptors, up to the marker.
public struct VP8PayloadFormat: PayloadFormat {
  public static let codec = VideoCodec(
    name: "vp8", encodingName: "VP8", decoderName: "vp8", otherFileEndings: [])
  public static let headerLength = 1
  /// Nothing separates frames in an elementary stream.
  public static let startCode: [UInt8] = []
  public static let endsUnitsAtMarker = true

  public init(parameters: [String: String]) {}

  public func unpack(_ payload: ByteBuffer, into units: inout NALUnitCollector) {
    var rest = payload
    guard let isStart = Self.readDescriptor(&rest), rest.readableBytes > 0 else {
      return units.noteMalformed()
    }
    if isStart {
      units.end(isWhole: false)
      units.begin(header: [], piece: rest)
    } else if units.isInUnit {
      units.append(rest)
    } else {
      units.noteOrphan()
    }
  }

  /// Skips the payload descriptor (§4.2).
  ///
  /// - Returns: whether a frame begins after it; `nil` if it is cut.
  private static func readDescriptor(_ payload: inout ByteBuffer) -> Bool? {
    guard let first = payload.readInteger(as: UInt8.self) else { return nil }
    // S, and the number of the partition: the first packet of the first partition begins a frame.
    let isStart = first & 0x1F == 0x10
    guard first & 0x80 != 0 else { return isStart }
    guard let extensions = payload.readInteger(as: UInt8.self) else { return nil }
    var length = 0
    if extensions & 0x80 != 0 {
      guard let picture = payload.getInteger(at: payload.readerIndex, as: UInt8.self) else {
        return nil
      }
      length += picture & 0x80 != 0 ? 2 : 1
    }
    if extensions & 0x40 != 0 { length += 1 }
    if extensions & 0x30 != 0 { length += 1 }
    return payload.readSlice(length: length) == nil ? nil : isStart
  }

  public static func type(of head: NALUnitHead) -> UInt8 { 0 }

  public static func role(of head: NALUnitHead) -> NALUnitRole {
    .picture(isFirstSlice: true, isRandomAccess: isKeyFrame(head[0]))
  }

  public static func dependency(of head: NALUnitHead) -> PictureDependency {
    PictureDependency(references: isKeyFrame(head[0]) ? .none : .earlier)
  }

  /// VP8 cannot be told from noise by its payload, so it has to be named.
  public static func recognize(_ payload: ByteBuffer) -> Recognition { .no }

  public static func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    var rest = payload
    guard readDescriptor(&rest) == true,
      let first = rest.getInteger(at: rest.readerIndex, as: UInt8.self)
    else { return false }
    return isKeyFrame(first)
  }

  /// The inverse key frame flag in the first byte of a frame (RFC 6386 §9.1).
  private static func isKeyFrame(_ first: UInt8) -> Bool { first & 1 == 0 }
}
