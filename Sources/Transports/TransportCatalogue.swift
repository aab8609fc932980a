public import NIOCore

/// The known transports, found by schemes, file endings and contents.
///
/// A transport is a folder in this module and an entry in ``standard``. A program adds its own with
/// ``init(_:)``: `TransportCatalogue(TransportCatalogue.standard.kinds + [mine])`.
public struct TransportCatalogue: Sendable {
  /// The transports in this package.
  public static let standard = TransportCatalogue([
    .hello, .listening, .rtsp, .http, .framed, .replay,
  ])

  /// In the order in which they are asked to recognize a source.
  public let kinds: [TransportKind]

  /// Makes a catalogue of `kinds`, whose names and schemes must differ.
  public init(_ kinds: [TransportKind]) { self.kinds = kinds }

  /// The values of `--transport`.
  public var names: [String] { kinds.map(\.name) }
  /// The schemes of source URLs.
  public var schemes: [String] { kinds.flatMap(\.schemes) }
  /// The counters of all transports, without repetitions.
  public var counters: [TransportCounter] {
    kinds.flatMap(\.counters).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// The transport for a SOURCE argument: a URL, a file, or an address and the transport's name.
  ///
  /// - Throws: usually ``TransportError``: what is wrong with the argument, for the person who
  ///   typed it.
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

  /// The name of the transport for a SOURCE argument, one of ``names``.
  ///
  /// - Throws: what is wrong with the argument, like ``make(source:transport:options:on:)``.
  public func name(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> String {
    try kind(of: source, transport: name, options).name
  }

  /// The options that transports add to the command line.
  public var options: [DeclaredOption] { kinds.flatMap(\.options) }

  /// What has an effect on which sources: a scope for each sort of them.
  public var scopes: [OptionScope] { kinds.flatMap(\.allScopes) }

  /// Which options have an effect on a SOURCE argument.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:on:)`` does.
  public func scope(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> OptionScope? {
    try kind(of: source, transport: name, options).allScopes.first { $0.includes(source) }
  }

  /// The streams that the source describes or contains, without receiving any.
  ///
  /// - Throws: like ``make(source:transport:options:on:)`` and the transport's `open`; also
  ///   ``TransportError/source(_:_:)`` if nothing describes streams.
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
      // Opening the file will show what it is.
      ?? kinds.first { $0.takesAnyFile && file.kind != .missing }
    if let kind { return kind }
    throw .source(source, SourceFault(ofUnknown: source, schemes: schemes))
  }
}

extension SourceFault {
  /// The fault of a text that is neither a URL nor a file.
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

extension TransportKind {
  /// The scopes with the options that the transport adds.
  fileprivate var allScopes: [OptionScope] {
    let added = options.map { "--\($0.name)" }
    guard !scopes.isEmpty else {
      let words = schemes.first.map { "\($0)://" } ?? name
      return [OptionScope(words, options: added)]
    }
    return scopes.map { scope in
      var scope = scope
      scope.options += added
      return scope
    }
  }
}
