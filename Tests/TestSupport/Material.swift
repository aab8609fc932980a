public import Bitstream
public import Testing

/// Real parameter sets and slices of one codec, which a decoder would take.
public struct Material: Sendable, CustomTestStringConvertible {
  public let codec: VideoCodec
  /// In their natural order.
  public let parameterSets: [[UInt8]]
  public let delimiter: [UInt8]
  /// A slice of a key picture, and one of another picture: both are the first of their picture.
  public let keySlice: [UInt8]
  public let slice: [UInt8]
  /// A later slice of `slice`'s picture.
  public let laterSlice: [UInt8]
  /// The same for `keySlice`.
  public let laterKeySlice: [UInt8]
  public let supplementalInformation: [UInt8]
  public let recoveryPoint: [UInt8]

  public var testDescription: String { codec.encodingName }

  public static let all = [h264, h265]

  public static let h264 = Material(
    codec: H264.codec,
    parameterSets: [bytes("674d401e9a640501eff35010101400000fa00001388010"), bytes("68ee3c80")],
    delimiter: bytes("0910"),
    // first_mb_in_slice 0, slice_type 7, pic_parameter_set_id 0.
    keySlice: bytes("6588840021ffd3a1b2c3d4e5f60718293a4b5c6d7e8f"),
    slice: bytes("419a246c414ffed68cb1000003112233445566"),
    // first_mb_in_slice 2, and else the header of `slice`.
    laterSlice: bytes("4166891b1053ffb5a32c5de2266aaef3"),
    laterKeySlice: bytes("65622100087ff4e86cb0f5397d81c60a4e92d71b5fa3c0"),
    supplementalInformation: bytes("060502112280"),
    recoveryPoint: bytes("060601c480"))

  public static let h265 = Material(
    codec: H265.codec,
    parameterSets: [
      bytes("40010c01ffff016000000300b0000003000003005aac0c00000300040000030032a8"),
      bytes(
        """
        420101016000000300b0000003000003005aa0058201e1636b92452fcdc14181410000030001000003000ca1
        """),
      bytes("4401c0f2c68d03b340"),
    ],
    delimiter: bytes("460150"),
    keySlice: bytes("2601af08421ffd3a1b2c3d4e5f60718293a4b5c6d7e8"),
    slice: bytes("0201d0246c414ffed68cb1112233445566"),
    laterSlice: bytes("020150246c414ffed68cb1778899aabbcc"),
    laterKeySlice: bytes("26012f08421ffd3a1b2c3d4e5f60718293a4b5c6d7e8"),
    supplementalInformation: bytes("4e010502112280"),
    recoveryPoint: bytes("4e0106018080"))
}
