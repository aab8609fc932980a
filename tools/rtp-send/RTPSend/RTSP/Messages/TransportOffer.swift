import NIOCore

/// One of the ways in which a client would take a track, from its `Transport:` (RFC 2326 §12.39).
struct TransportOffer: Sendable, Equatable {
  /// `RTP/AVP` and its relatives, as it came, with or without a lower transport.
  var profile: String
  var way: Way

  enum Way: Sendable, Equatable {
    /// In the connection; without a pair the server chooses one.
    case interleaved(ChannelPair?)
    case udp(rtp: Int, rtcp: Int)
    case multicast
  }

  /// The channels of a track: usually an even one and the next, but whatever the client says.
  struct ChannelPair: Sendable, Hashable {
    var rtp: UInt8
    var rtcp: UInt8
  }

  /// The most ways in one request; GStreamer names three.
  static let mostOffers = 16

  /// Why a header cannot be read; ways that are merely unknown are left out.
  enum Fault: Error, Hashable {
    case malformed
    case tooMany
  }

  /// All offers of a request in their order, which is that of preference.
  static func offers(in values: [String]) throws(Fault) -> [TransportOffer] {
    var offers: [TransportOffer] = []
    var count = 0
    for value in values {
      for text in value.split(separator: ",") {
        count += 1
        guard count <= mostOffers else { throw .tooMany }
        if let offer = try offer(text.trimmed) { offers.append(offer) }
      }
    }
    return offers
  }

  private static func offer(_ text: String) throws(Fault) -> TransportOffer? {
    let parts = text.split(separator: ";").map(\.trimmed)
    guard let profile = parts.first else { return nil }
    let words = profile.uppercased().split(separator: "/")
    guard words.count == 2 || words.count == 3, words[0] == "RTP",
      ["AVP", "AVPF", "SAVP", "SAVPF"].contains(words[1])
    else { return nil }
    let lower = words.count == 3 ? words[2] : "UDP"
    var values: [String: String] = [:]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard let name = pair.first else { continue }
      values[name.trimmed.lowercased()] = pair.count > 1 ? pair[1].trimmed : ""
    }
    // A client that would record or send has come to the wrong server.
    if let mode = values["mode"]?.lowercased(), !mode.contains("play") { return nil }
    switch lower {
    case "TCP":
      guard let channels = values["interleaved"] else {
        return TransportOffer(profile: profile, way: .interleaved(nil))
      }
      let (rtp, rtcp) = try pair(channels, within: 0...255)
      let channelPair = ChannelPair(rtp: UInt8(clamping: rtp), rtcp: UInt8(clamping: rtcp))
      guard rtp != rtcp else { throw .malformed }
      return TransportOffer(profile: profile, way: .interleaved(channelPair))
    case "UDP":
      // RFC 2326 says multicast where nothing is said, and no client means it.
      if values["multicast"] != nil { return TransportOffer(profile: profile, way: .multicast) }
      guard let ports = values["client_port"] else { return nil }
      let (rtp, rtcp) = try pair(ports, within: 1...65_535)
      return TransportOffer(profile: profile, way: .udp(rtp: rtp, rtcp: rtcp))
    default: return nil
    }
  }

  /// `4-5`, or `4` with the next number as the second.
  private static func pair(
    _ text: String, within limits: ClosedRange<Int>
  ) throws(Fault) -> (Int, Int) {
    let words = text.split(separator: "-", omittingEmptySubsequences: false)
    let numbers = words.compactMap { Int($0.trimmed) }
    // The first is within the limits before anything is added to it.
    guard numbers.count == words.count, (1...2).contains(numbers.count),
      let first = numbers.first, limits.contains(first),
      let last = numbers.count == 2 ? numbers.last : first + 1, limits.contains(last)
    else { throw .malformed }
    return (first, last)
  }
}

/// How a track goes to its client.
enum Carrier: Sendable, Equatable {
  case interleaved(TransportOffer.ChannelPair)
  /// To these ports of the client's host.
  case udp(rtp: Int, rtcp: Int)
  case multicast(MulticastGroup)
}

/// Where a track goes by multicast.
public struct MulticastGroup: Sendable, Hashable {
  public var address: String
  /// The port of RTP; RTCP has the next.
  public var port: Int

  /// Routers do not pass on what is sent here.
  static let timeToLive = 1

  public init(address: String, port: Int) {
    self.address = address
    self.port = port
  }

  /// Whether clients that came by `address` speak the group's version of IP.
  func isReachable(from address: SocketAddress?) -> Bool {
    let own = try? SocketAddress(ipAddress: self.address, port: port)
    return own != nil && own?.protocol == address?.unmapped.protocol
  }
}
