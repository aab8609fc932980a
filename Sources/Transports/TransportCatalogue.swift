public import NIOCore

/// The transports that a program knows: from schemes, file endings and contents to transports.
///
/// A transport is a folder in this room and an entry in ``standard``. A program adds transports of
/// its own with ``init(_:)``: `TransportCatalogue(TransportCatalogue.standard.kinds + [mine])`.
public struct TransportCatalogue: Sendable {
  /// The transports that this package brings.
  public static let standard = TransportCatalogue([
    .hello, .listening, .rtsp, .http, .framed, .replay,
  ])

  /// In the order in which they are asked whether a source is theirs.
  public let kinds: [TransportKind]

  /// Makes a catalogue of `kinds`, each with a name and schemes of its own.
  public init(_ kinds: [TransportKind]) { self.kinds = kinds }

  /// What `--transport` takes.
  public var names: [String] { kinds.map(\.name) }
  /// What a source URL may begin with.
  public var schemes: [String] { kinds.flatMap(\.schemes) }
  /// What any of them counts by itself, each once.
  public var counters: [TransportCounter] {
    kinds.flatMap(\.counters).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// The transport for a SOURCE argument: a URL, a file, or an address and the transport's name.
  ///
  /// - Throws: what is wrong with the argument, in words for the person who typed it:
  ///   ``TransportError`` as a rule.
  public func make(
    source: String, transport name: String? = nil, options: TransportOptions = TransportOptions(),
    on eventLoop: any EventLoop
  ) throws -> any RTPTransport {
    let kind = try kind(of: source, transport: name, options)
    guard kind.hasRepairPorts || options.repair.isEmpty else {
      throw TransportError.source(source, .noRepairPorts)
    }
    try options.checkProtection(of: source)
    return SRTPTransport.wrap(try kind.make(source, options, eventLoop), options)
  }

  /// The name of the transport for a SOURCE argument, as ``names`` has it.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:on:)`` does.
  public func name(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> String {
    try kind(of: source, transport: name, options).name
  }

  /// The streams that the far end or the file says it has, or that are in it, without receiving
  /// any.
  ///
  /// - Throws: as ``make(source:transport:options:on:)`` and the transport's `open` do, and
  ///   ``TransportError/source(_:_:)`` where nobody describes anything.
  public func describe(
    source: String, transport name: String? = nil, options: TransportOptions = TransportOptions(),
    on eventLoop: any EventLoop
  ) async throws -> StreamListing {
    guard let describe = try kind(of: source, transport: name, options).describe else {
      throw TransportError.source(source, .nothingDescribed)
    }
    return try await describe(source, options, eventLoop)
  }

  private func kind(
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
    // 'host:5004', ':5004', '192.0.2.1' and 'camera:554/live' are addresses.
    let authority = source.prefix { $0 != "/" && $0 != "?" }
    let hasPort = (try? SourceAddress.endpoint(authority)) != nil
    let isAddress = (try? SocketAddress(ipAddress: String(authority), port: 0)) != nil
    self = hasPort || isAddress ? .noScheme(known: urls) : .noSuchFile
  }
}
