internal import RTPWire

/// The messages of a search for cameras on the networks of this machine (WS-Discovery 1.0 §5), as a
/// value without I/O or clock.
struct DiscoveryDialogue: Sendable {
  /// The groups of WS-Discovery (§2.4) and its port.
  static let group4 = "239.255.255.250"
  static let group6 = "ff02::c"
  static let port = 3702
  /// The most cameras that are told of.
  static let maximumCameras = 4096
  /// The most datagrams that are looked at; each camera answers each probe, and each of its own
  /// addresses may do so.
  static let maximumDatagrams = 100_000
  /// When the probes are sent, in milliseconds from the beginning: datagrams get lost, above all
  /// those of many cameras that answer at once.
  static let schedule = [0, 300, 900]

  /// What probes ask for.
  ///
  /// Some cameras answer only one spelling, or only if its prefix is declared where it is used;
  /// some only a probe for everything, which printers answer too.
  private static let types = [
    #"<d:Types xmlns:dn="http://www.onvif.org/ver10/network/wsdl">dn:NetworkVideoTransmitter</d:Types>"#,
    #"<d:Types xmlns:tds="http://www.onvif.org/ver10/device/wsdl">tds:Device</d:Types>"#,
    "",
  ]

  /// The identifiers of this search's probes, which answers must name.
  private let identifiers: [String]
  private var known: Set<String> = []
  private(set) var datagrams = 0

  init(randomness: inout some RandomNumberGenerator) {
    identifiers = Self.types.map { _ in Self.identifier(&randomness) }
  }

  /// One message for each spelling.
  var probes: [String] {
    zip(Self.types, identifiers).map { types, identifier in
      #"<?xml version="1.0" encoding="UTF-8"?>"#
        + #"<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" "#
        + #"xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" "#
        + #"xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"><s:Header>"#
        + "<a:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</a:Action>"
        + "<a:MessageID>\(identifier)</a:MessageID>"
        + "<a:To>urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To></s:Header>"
        + "<s:Body><d:Probe>\(types)</d:Probe></s:Body></s:Envelope>"
    }
  }

  /// The cameras in a datagram from `sender`, an IP address without brackets, that are not known
  /// yet.
  mutating func take(_ bytes: some Sequence<UInt8>, from sender: String) -> [DiscoveredCamera] {
    guard datagrams < Self.maximumDatagrams, known.count < Self.maximumCameras else { return [] }
    datagrams += 1
    guard let document = try? XMLElement(parsing: bytes),
      let answered = document["Header"]?["RelatesTo"]?.text, identifiers.contains(answered),
      case .content(let content) = SOAPAnswer(document)
    else { return [] }
    // ipycam leaves the list out, and answers with its only member.
    let matches = content.name == "ProbeMatch" ? [content] : content.children
    var found: [DiscoveredCamera] = []
    for match in matches.prefix(Self.maximumMatches) where match.name == "ProbeMatch" {
      guard let camera = DiscoveredCamera(match, from: sender) else { continue }
      // One that does not say who it is is known by its address.
      let key = camera.identifier.isEmpty ? camera.url : camera.identifier.lowercased()
      if known.insert(key).inserted { found.append(camera) }
    }
    return found
  }

  /// The most matches in one answer: a recorder may answer for its cameras.
  private static let maximumMatches = 64

  /// A random identifier (RFC 9562 §5.4).
  private static func identifier(_ randomness: inout some RandomNumberGenerator) -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &randomness) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = Array(bytes.hexadecimal)
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
    return "urn:uuid:" + groups.joined(separator: "-")
  }
}
