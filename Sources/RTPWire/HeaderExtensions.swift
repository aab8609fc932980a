public import NIOCore

/// The elements of an RTP header extension in the one-byte or two-byte form of RFC 8285.
///
/// A malformed element ends the sequence; the packet and its payload stay valid (RFC 8285 §4.2 for
/// the reserved identifier 15).
public struct HeaderExtensions: Sequence, IteratorProtocol, Sendable {
  public struct Element: Sendable, Hashable {
    /// 1 … 14 in the one-byte form, 1 … 255 in the two-byte form.
    public let identifier: UInt8
    public let data: ByteBuffer
  }

  private var rest: ByteBuffer
  private let isTwoByteForm: Bool

  /// The elements of `packet`'s extension; none if it has no extension, or one of another profile.
  public init(of packet: RTPPacket) {
    switch packet.extensionProfile {
    case .some(0xBEDE):
      isTwoByteForm = false
      rest = packet.extensionData
    case .some(let profile) where profile & 0xFFF0 == 0x1000:
      isTwoByteForm = true
      rest = packet.extensionData
    default:
      isTwoByteForm = false
      rest = ByteBuffer()
    }
  }

  public mutating func next() -> Element? {
    while let head = rest.readInteger(as: UInt8.self) {
      if head == 0 { continue }
      let identifier: UInt8
      let length: Int
      if isTwoByteForm {
        guard let count = rest.readInteger(as: UInt8.self) else { return nil }
        identifier = head
        length = Int(count)
      } else {
        identifier = head >> 4
        length = Int(head & 0x0F) + 1
        guard identifier != 15, identifier != 0 else { return stop() }
      }
      guard let data = rest.readSlice(length: length) else { return stop() }
      return Element(identifier: identifier, data: data)
    }
    return nil
  }

  private mutating func stop() -> Element? {
    rest = ByteBuffer()
    return nil
  }
}
