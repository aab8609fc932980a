public import NIOCore

/// Supplemental enhancement information (H.264 §7.3.2.3, H.265 §7.3.5).
public enum SupplementalInformation {
  /// `payloadType` of the recovery point message in both standards.
  private static let recoveryPoint = 6
  /// How much of a unit is searched: recovery points precede user data, which can be long.
  private static let searchedLength = 4096

  /// The recovery point among the messages in `body`, which follows the NAL unit header; `nil`
  /// without one.
  public static func recoveryPoint(in body: ByteBuffer) -> BitReader? {
    message(ofType: recoveryPoint, in: body).map { BitReader(plain: $0) }
  }

  /// The first message of `type` in `body`, which follows the NAL unit header; truncated if `body`
  /// is, and `nil` without one.
  public static func message(ofType wanted: Int, in body: ByteBuffer) -> ByteBuffer? {
    let beginning = body.getSlice(
      at: body.readerIndex, length: min(body.readableBytes, searchedLength))
    var rest = EmulationPrevention.removed(from: beginning ?? body)
    while rest.readableBytes > 2 {
      guard let type = number(&rest), let size = number(&rest) else { return nil }
      if type == wanted { return rest.readSlice(length: min(size, rest.readableBytes)) }
      guard size <= rest.readableBytes else { return nil }
      rest.moveReaderIndex(forwardBy: size)
    }
    return nil
  }

  /// A number coded as a run of 255s and a remainder.
  private static func number(_ bytes: inout ByteBuffer) -> Int? {
    var number = 0
    while let byte = bytes.readInteger(as: UInt8.self) {
      number += Int(byte)
      if byte != 255 { return number }
    }
    return nil
  }
}
