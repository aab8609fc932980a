internal import NIOCore

/// Removes link headers: Ethernet with VLAN tags and PPPoE, Linux cooked captures, BSD loopback,
/// raw IP, PPP, Wi-Fi, and what Netfilter and Endace's cards record.
enum LinkLayer {
  enum Outcome: Sendable, Hashable {
    /// An IP packet, possibly followed by padding of its frame.
    case ip(ByteBuffer)
    /// Another protocol, by its EtherType; 0 if the link does not say.
    case other(EtherType)
    /// The frame ends inside its header.
    case truncated
    /// An unknown kind of link.
    case unsupported(LinkType)
  }

  struct EtherType: RawRepresentable, Sendable, Hashable {
    var rawValue: UInt16

    static let ipv4 = EtherType(rawValue: 0x0800)
    static let ipv6 = EtherType(rawValue: 0x86DD)
    static let pppoeSession = EtherType(rawValue: 0x8864)
    /// IEEE 802.1Q, 802.1ad, and the predecessor of 802.1ad.
    static let tags: Set<UInt16> = [0x8100, 0x88A8, 0x9100]
  }

  /// The most consecutive tags; two are in use (802.1ad).
  static let maximumTags = 8

  static func payload(of frame: ByteBuffer, on link: LinkType) -> Outcome {
    switch link {
    case .ethernet: behindEtherType(at: 12, of: frame)
    case .linuxCooked: behindEtherType(at: 14, of: frame)
    case .linuxCooked2: linuxCooked2(frame)
    // Each system numbers address families differently, so the IP version decides.
    case .null, .loop: ip(at: 4, of: frame)
    case .raw, .ipv4, .ipv6: ip(at: 0, of: frame)
    case .ppp, .pppInHDLC: ppp(frame)
    case .radiotap: radiotap(frame)
    case .nflog: nflog(frame)
    case .erf: erf(frame)
    case _ where LinkType.rawOfBSD.contains(link): ip(at: 0, of: frame)
    default: .unsupported(link)
    }
  }

  static func behindEtherType(at offset: Int, of frame: ByteBuffer) -> Outcome {
    var offset = offset
    for _ in 0...maximumTags {
      guard let type = frame.getInteger(at: frame.readerIndex + offset, as: UInt16.self) else {
        return .truncated
      }
      offset += 2
      guard EtherType.tags.contains(type) else {
        return payload(EtherType(rawValue: type), at: offset, of: frame)
      }
      offset += 2
    }
    return .other(EtherType(rawValue: 0x8100))
  }

  private static func linuxCooked2(_ frame: ByteBuffer) -> Outcome {
    guard let type = frame.getInteger(at: frame.readerIndex, as: UInt16.self) else {
      return .truncated
    }
    // The kernel removes the outer tag and keeps inner ones.
    guard EtherType.tags.contains(type) else {
      return payload(EtherType(rawValue: type), at: 20, of: frame)
    }
    return behindEtherType(at: 22, of: frame)
  }

  private static func payload(
    _ type: EtherType, at offset: Int, of frame: ByteBuffer
  ) -> Outcome {
    switch type {
    case .ipv4, .ipv6: return ip(at: offset, of: frame)
    case .pppoeSession:
      // RFC 2516: six bytes of header, then the protocol of PPP.
      let name = frame.getInteger(at: frame.readerIndex + offset + 6, as: UInt16.self)
      guard let name else { return .truncated }
      return name == 0x0021 || name == 0x0057 ? ip(at: offset + 8, of: frame) : .other(type)
    default: return .other(type)
    }
  }

  /// A frame of PPP (RFC 1661 §2), behind address and control or without them (RFC 1662 §3.2); the
  /// first byte of a protocol below 256 may be left out.
  private static func ppp(_ frame: ByteBuffer) -> Outcome {
    let start = frame.readerIndex
    let hasAddress = frame.getInteger(at: start, as: UInt16.self) == 0xFF03
    let offset = hasAddress ? 2 : 0
    guard let short = frame.getInteger(at: start + offset, as: UInt8.self) else {
      return .truncated
    }
    // Protocols end in an odd byte, and their first one is even.
    if short & 1 == 1 { return ip(of: UInt16(short), at: offset + 1, of: frame) }
    guard let name = frame.getInteger(at: start + offset, as: UInt16.self) else {
      return .truncated
    }
    return ip(of: name, at: offset + 2, of: frame)
  }

  /// What follows the protocol `name` of PPP: 0x0021 is IPv4, 0x0057 IPv6.
  private static func ip(of name: UInt16, at offset: Int, of frame: ByteBuffer) -> Outcome {
    name == 0x0021 || name == 0x0057 ? ip(at: offset, of: frame) : .other(EtherType(rawValue: 0))
  }

  static func ip(at offset: Int, of frame: ByteBuffer) -> Outcome {
    guard offset < frame.readableBytes,
      let packet = frame.getSlice(
        at: frame.readerIndex + offset, length: frame.readableBytes - offset),
      let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self)
    else { return .truncated }
    return first >> 4 == 4 || first >> 4 == 6 ? .ip(packet) : .other(EtherType(rawValue: 0))
  }
}
