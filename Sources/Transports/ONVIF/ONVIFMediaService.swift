/// A service that gives out profiles and their addresses.
enum ONVIFMediaService: Sendable, Hashable {
  /// ONVIF Media, which every camera of Profile S has.
  case media1(path: String)
  /// ONVIF Media 2, of Profile T, which alone can tell H.265.
  case media2(path: String)

  /// Where Media is in most cameras that do not say.
  static let usualPath = "/onvif/media_service"
  /// What is tried where a camera names no service; a few have only the second.
  static let usual: [ONVIFMediaService] = [.media1(path: usualPath), .media1(path: "/onvif/media")]

  /// The services in an answer to `GetServices`, in the order in which to ask them.
  static func all(inServices answer: XMLElement) -> [ONVIFMediaService] {
    func path(of namespace: String) -> String? {
      let service = answer.all("Service").first { service in
        service["Namespace"]?.text.lowercased() == namespace
      }
      return service?["XAddr"].flatMap { self.path(in: $0.text) }
    }
    return ordered(path(of: first), path(of: second))
  }

  /// The same in an answer to `GetCapabilities`, where Media 2 is found in extensions, if anywhere.
  static func all(inCapabilities answer: XMLElement) -> [ONVIFMediaService] {
    func path(of name: String) -> String? {
      answer.first(name)?["XAddr"].flatMap { self.path(in: $0.text) }
    }
    return ordered(path(of: "Media"), path(of: "Media2"))
  }

  private static func ordered(_ first: String?, _ second: String?) -> [ONVIFMediaService] {
    (second.map { [.media2(path: $0)] } ?? []) + (first.map { [.media1(path: $0)] } ?? [])
  }

  /// The path of the first of the addresses in `text`; `nil` if it has none.
  private static func path(in text: String) -> String? {
    let address = text.split(whereSeparator: \.isWhitespace).first
    guard let path = address.flatMap({ GivenAddress(String($0)) })?.path, path.hasPrefix("/") else {
      return nil
    }
    return path
  }

  var path: String {
    switch self {
    case .media1(let path), .media2(let path): path
    }
  }

  var namespace: String {
    switch self {
    case .media1: Self.first
    case .media2: Self.second
    }
  }

  private static let first = "http://www.onvif.org/ver10/media/wsdl"
  private static let second = "http://www.onvif.org/ver20/media/wsdl"

  /// What `GetProfiles` contains.
  var profilesContent: String {
    switch self {
    case .media1: ""
    // Without it, Media 2 tells names and tokens alone (§5.2.2).
    case .media2: "<Type>All</Type>"
    }
  }

  /// What `GetStreamUri` contains.
  func streamContent(
    ofProfile token: String, by transport: RTSPConfiguration.LowerTransport
  ) -> String {
    let profile = "<ProfileToken>\(token.escapedForXML)</ProfileToken>"
    switch self {
    case .media1:
      let schema = #"xmlns="http://www.onvif.org/ver10/schema""#
      return "<StreamSetup>"
        + "<Stream \(schema)>RTP-\(transport == .multicast ? "Multicast" : "Unicast")</Stream>"
        + "<Transport \(schema)><Protocol>\(transport.nameInMedia1)</Protocol></Transport>"
        + "</StreamSetup>" + profile
    case .media2: return "<Protocol>\(transport.nameInMedia2)</Protocol>" + profile
    }
  }
}

extension RTSPConfiguration.LowerTransport {
  /// Its name in Media (§5.15.1); what is agreed on with the camera later is not bound by it.
  fileprivate var nameInMedia1: String {
    switch self {
    case .automatic, .tcp: "RTSP"
    case .udp, .multicast: "UDP"
    case .http: "HTTP"
    }
  }

  /// Its name in Media 2 (§5.10.1).
  fileprivate var nameInMedia2: String {
    switch self {
    case .automatic, .tcp: "RTSP"
    case .udp: "RtspUnicast"
    case .multicast: "RtspMulticast"
    case .http: "RtspOverHttp"
    }
  }
}
