internal import NIOCore

/// An IP packet, or a fragment of one (RFC 791, RFC 8200), read from a slice that may be longer.
struct IPPacket: Sendable, Hashable {
  /// The protocols that carry RTP, by their numbers.
  enum Number {
    static let tcp: UInt8 = 6
    static let udp: UInt8 = 17
  }

  /// The position of a fragment.
  struct Fragment: Sendable, Hashable {
    var identification: UInt32
    /// In bytes, a multiple of 8.
    var offset: Int
    var isLast: Bool
  }

  /// Why bytes are not a usable IP packet.
  enum Fault: Error, Sendable, Hashable {
    /// It was recorded only in part.
    case cut
    case malformed
  }

  let source: IPAddress
  let destination: IPAddress
  /// The protocol of ``payload``.
  let number: UInt8
  /// What follows all IP headers.
  let payload: ByteBuffer
  /// `nil` for a whole packet.
  let fragment: Fragment?

  /// Reads the packet at the start of `bytes`, of which `missing` more were not recorded.
  init(parsing bytes: ByteBuffer, missing: Int) throws(Fault) {
    let short: Fault = missing > 0 ? .cut : .malformed
    guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { throw short }
    if first >> 4 == 4 {
      try self.init(version4: bytes, headerLength: 4 * Int(first & 0x0F), short: short)
    } else if first >> 4 == 6 {
      try self.init(version6: bytes, short: short)
    } else {
      throw .malformed
    }
  }

  /// The packet reassembled from `fragment` and others.
  init(reassembled payload: ByteBuffer, of fragment: IPPacket) {
    source = fragment.source
    destination = fragment.destination
    self.fragment = nil
    var headers = IPv6ExtensionHeaders(next: fragment.number)
    var body = payload
    let isRead = source.isVersion6 && headers.read(from: &body)
    number = isRead ? headers.next : fragment.number
    self.payload = isRead ? body : payload
  }

  private init(version4 bytes: ByteBuffer, headerLength: Int, short: Fault) throws(Fault) {
    let start = bytes.readerIndex
    guard headerLength >= 20 else { throw .malformed }
    guard
      let (_, total, identification, flags, _, number, _, source, destination) =
        bytes.getMultipleIntegers(
          at: start,
          as: (UInt16, UInt16, UInt16, UInt16, UInt8, UInt8, UInt16, UInt32, UInt32).self)
    else { throw short }
    // 0 from a network interface that segments for the kernel.
    let length = total == 0 ? bytes.readableBytes : Int(total)
    guard length >= headerLength else { throw .malformed }
    guard let payload = bytes.getSlice(at: start + headerLength, length: length - headerLength)
    else { throw short }
    self.source = IPAddress(version4: source)
    self.destination = IPAddress(version4: destination)
    self.number = number
    self.payload = payload
    let (offset, isMore) = (8 * Int(flags & 0x1FFF), flags & 0x2000 != 0)
    fragment =
      offset > 0 || isMore
      ? Fragment(identification: UInt32(identification), offset: offset, isLast: !isMore) : nil
  }

  private init(version6 bytes: ByteBuffer, short: Fault) throws(Fault) {
    let start = bytes.readerIndex
    guard
      let (_, length, next, _, source, sourceLow, destination, destinationLow) =
        bytes.getMultipleIntegers(
          at: start,
          as: (UInt32, UInt16, UInt8, UInt8, UInt64, UInt64, UInt64, UInt64).self)
    else { throw short }
    self.source = IPAddress(version6: source, sourceLow)
    self.destination = IPAddress(version6: destination, destinationLow)
    var headers = IPv6ExtensionHeaders(next: next)
    // 0 means a jumbogram (RFC 2675), or an interface that segments for the kernel.
    let rest = length == 0 ? bytes.readableBytes - 40 : Int(length)
    guard var body = bytes.getSlice(at: start + 40, length: rest) else { throw short }
    guard headers.read(from: &body) else { throw short }
    if let jumbo = headers.jumboLength {
      // Its length includes the extension headers.
      let behind = Int(jumbo) - (rest - body.readableBytes)
      guard behind >= 0 else { throw .malformed }
      guard let whole = body.readSlice(length: behind) else { throw short }
      body = whole
    }
    payload = body
    number = headers.next
    fragment = headers.fragment
  }
}

/// The extension headers of an IPv6 packet (RFC 8200 §4), skipped to find what follows.
struct IPv6ExtensionHeaders: Sendable {
  /// More than any packet has.
  static let maximum = 16

  private(set) var next: UInt8
  private(set) var fragment: IPPacket.Fragment?
  /// From the Jumbo Payload option (RFC 2675 §2).
  private(set) var jumboLength: UInt32?

  init(next: UInt8) { self.next = next }

  /// Removes the headers from the front of `body`; `false` if one of them does not end in it.
  mutating func read(from body: inout ByteBuffer) -> Bool {
    for _ in 0..<Self.maximum {
      let length: Int
      let head = body.getMultipleIntegers(at: body.readerIndex, as: (UInt8, UInt8).self)
      switch next {
      case 0, 43, 60, 135, 139, 140: length = 8 + 8 * Int(head?.1 ?? 0)
      case 44: length = 8
      // The Authentication Header counts in units of four bytes, less two (RFC 4302 §2.2).
      case 51: length = 4 * (Int(head?.1 ?? 0) + 2)
      default: return true
      }
      guard let head, let header = body.readSlice(length: length) else { return false }
      if next == 44 { readFragment(header) }
      if next == 0 { readOptions(header) }
      next = head.0
      // What follows belongs to the reassembled packet.
      if fragment != nil { return true }
    }
    return false
  }

  private mutating func readFragment(_ header: ByteBuffer) {
    guard
      let (_, _, place, identification) = header.getMultipleIntegers(
        at: header.readerIndex, as: (UInt8, UInt8, UInt16, UInt32).self)
    else { return }
    let (offset, isLast) = (Int(place & 0xFFF8), place & 1 == 0)
    // An atomic fragment is a whole packet (RFC 6946).
    guard offset > 0 || !isLast else { return }
    fragment = IPPacket.Fragment(
      identification: identification, offset: offset, isLast: isLast)
  }

  private mutating func readOptions(_ header: ByteBuffer) {
    var options = header
    options.moveReaderIndex(forwardBy: 2)
    while let type = options.readInteger(as: UInt8.self) {
      // A single byte of padding has no length.
      guard type != 0 else { continue }
      guard let length = options.readInteger(as: UInt8.self),
        let value = options.readSlice(length: Int(length))
      else { return }
      if type == 0xC2 { jumboLength = value.getInteger(at: value.readerIndex) }
    }
  }
}
