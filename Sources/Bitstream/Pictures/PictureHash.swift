import NIOCore

/// The hash of a decoded picture, which some encoders send (H.265 §D.2.19).
public enum PictureHash: Sendable, Hashable {
  /// One for each colour component.
  case md5([[UInt8]])
  case crc([UInt16])
  case checksum([UInt32])

  /// `payloadType` of the message.
  private static let type = 132

  /// The hash among the messages in `body`, which follows the NAL unit header; `nil` without one.
  init?(in body: ByteBuffer) {
    guard var message = SupplementalInformation.message(ofType: Self.type, in: body),
      let kind = message.readInteger(as: UInt8.self)
    else { return nil }
    let sizes = [16, 2, 4]
    guard sizes.indices.contains(Int(kind)) else { return nil }
    // One for each component of the picture: one or three.
    let count = message.readableBytes / sizes[Int(kind)]
    guard count == 1 || count == 3 else { return nil }
    switch kind {
    case 0: self = .md5((0..<count).compactMap { _ in message.readBytes(length: 16) })
    case 1: self = .crc((0..<count).compactMap { _ in message.readInteger() })
    default: self = .checksum((0..<count).compactMap { _ in message.readInteger() })
    }
  }
}
