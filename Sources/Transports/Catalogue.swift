public import NIOCore

/// Every transport there is: the one list from schemes and file endings to transports.
public enum TransportCatalogue {
  static let kinds: [TransportKind] = [.hello, .listening, .rtsp, .http, .framed, .replay]

  /// What `--transport` takes.
  public static var names: [String] { kinds.map(\.name) }
  /// What a source URL may begin with.
  public static var schemes: [String] { kinds.flatMap(\.schemes) }

  /// The transport for a SOURCE argument: a URL, a file, or an address and the transport's name.
  ///
  /// - Throws: what is wrong with the argument, in words for the person who typed it.
  public static func make(
    source: String, transport name: String? = nil, options: TransportOptions = TransportOptions(),
    on eventLoop: any EventLoop
  ) throws(TransportError) -> any RTPTransport {
    let kind = try kind(of: source, transport: name, options)
    if options.takesCorrection || options.retransmissionPort != nil, !kind.hasRepairPorts {
      throw .source(source, .noRepairPorts)
    }
    if !options.srtp.keys.isEmpty {
      guard !options.takesCorrection else { throw .source(source, .protectedCorrection) }
      guard options.retransmissionPort == nil else { throw .source(source, .sharedKey) }
    }
    let transport = try kind.make(source, options, eventLoop)
    guard !options.srtp.keys.isEmpty else { return transport }
    return SRTPTransport(wrapping: transport, SRTPConfiguration(options.srtp))
  }

  /// The name of the transport for a SOURCE argument, as ``names`` has it.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:on:)`` does.
  public static func name(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> String {
    try kind(of: source, transport: name, options).name
  }

  /// The streams that the far end or the file says it has, or that are in it, without receiving any.
  ///
  /// - Throws: as ``make(source:transport:options:on:)`` and the transport's `open` do, and
  ///   ``TransportError/source(_:_:)`` where nobody describes anything.
  public static func describe(
    source: String, transport name: String? = nil, options: TransportOptions = TransportOptions(),
    on eventLoop: any EventLoop
  ) async throws -> StreamListing {
    guard let describe = try kind(of: source, transport: name, options).describe else {
      throw TransportError.source(source, .nothingDescribed)
    }
    return try await describe(source, options, eventLoop)
  }

  private static func kind(
    of source: String, transport name: String?, _ options: TransportOptions
  ) throws(TransportError) -> TransportKind {
    let scheme = SourceAddress.scheme(of: source)
    if let name {
      guard let kind = kinds.first(where: { $0.name == name }) else {
        throw .source(source, .unknownTransport(name, known: names))
      }
      if let scheme, !kind.schemes.contains(scheme) {
        throw .source(source, .otherTransport(scheme: scheme, named: name))
      }
      return kind
    }
    if let scheme {
      guard let kind = kinds.first(where: { $0.schemes.contains(scheme) }) else {
        throw .source(source, .unknownScheme(scheme, known: schemes))
      }
      return kind
    }
    if let kind = kinds.first(where: { $0.arguments.contains(source) }) { return kind }
    let file = SourceFile(source)
    let lowercased = source.lowercased()
    let kind =
      kinds.first { $0.recognizes(file, options) }
      ?? kinds.first { $0.endings.contains(where: lowercased.hasSuffix) }
      // Whoever opens it says what it is.
      ?? kinds.first { $0.takesAnyFile && file.kind != .missing }
    if let kind { return kind }
    throw .source(source, SourceFault(ofUnknown: source, schemes: schemes))
  }
}

extension SourceFault {
  /// What is wrong with a text that is no URL and names no file.
  fileprivate init(ofUnknown source: String, schemes: [String]) {
    let urls = schemes.map { "\($0)://" }
    guard !source.isEmpty else { self = .nothingGiven; return }
    // ‘host:5004’, ‘:5004’, ‘192.0.2.1’ and ‘camera:554/live’ are addresses.
    let authority = source.prefix { $0 != "/" && $0 != "?" }
    let hasPort = (try? SourceAddress.endpoint(authority)) != nil
    let isAddress = (try? SocketAddress(ipAddress: String(authority), port: 0)) != nil
    self = hasPort || isAddress ? .noScheme(known: urls) : .noSuchFile
  }
}

/// What a user can choose about transports; each takes what concerns it.
public struct TransportOptions: Sendable, Hashable {
  public var sockets = UDPTransport.SocketConfiguration()
  public var hello = UDPTransport.HelloConfiguration()
  public var rtsp = RTSPConfiguration()
  public var http = HTTPConfiguration()
  public var framed = FramedConfiguration()
  public var replay = ReplayConfiguration()
  /// Encoding names, in upper case, of the media that can be used; empty where any can be.
  public var encodings: Set<String> = []
  /// Whether correction packets of SMPTE ST 2022-1 come on ports of their own.
  public var takesCorrection = false
  /// The port to which packets come that are sent again in a session of their own (RFC 4588 §5.3).
  public var retransmissionPort: Int?
  /// Where there are keys here, whatever the transport brings is taken for protected by them.
  public var srtp = SRTPOptions()

  public init() {}
}

/// A transport as the catalogue knows it.
struct TransportKind: Sendable {
  var name: String
  var schemes: [String]
  /// What stands for a source by itself.
  var arguments: [String] = []
  /// Ends of file names, with their dot, in lower case.
  var endings: [String] = []
  /// Whether it takes a file for its own, by how it begins, or for what else there is to know.
  var recognizes: @Sendable (SourceFile, TransportOptions) -> Bool = { _, _ in false }
  /// Whether it takes what nobody recognizes, to say what it is.
  var takesAnyFile = false
  /// Whether there are ports beside that of the media, for SMPTE ST 2022-1 and for retransmissions.
  var hasRepairPorts = false
  var make:
    @Sendable (String, TransportOptions, any EventLoop) throws(TransportError) -> any RTPTransport
  /// Asks what there is to receive; `nil` where nobody can be asked.
  var describe: (@Sendable (String, TransportOptions, any EventLoop) async throws -> StreamListing)?
}
