public import NIOCore

/// The known transports, found by schemes, file endings and contents.
///
/// A transport is a folder in this module and an entry in ``standard``. A program adds its own with
/// ``init(_:)``: `TransportCatalogue(TransportCatalogue.standard.kinds + [mine])`.
public struct TransportCatalogue: Sendable {
  /// The transports in this package.
  public static let standard = TransportCatalogue([
    .hello, .listening, .rtsp, .onvif, .http, .framed, .replay,
  ])

  /// In the order in which they are asked to recognize a source.
  public let kinds: [TransportKind]
  /// The options that the transports declare for the command line, each once: of two with one name,
  /// the first.
  public let options: [DeclaredOption]
  /// The counters of all transports, each once.
  public let counters: [TransportCounter]

  /// Makes a catalogue of `kinds`, whose names and schemes must differ: of two kinds with one name
  /// or scheme, the first gets the sources.
  ///
  /// Two different options must have different names too: of two with one name, the command line
  /// has the first, and what is typed applies that one alone.
  public init(_ kinds: [TransportKind]) {
    self.kinds = kinds
    counters = kinds.flatMap(\.counters).reduce(into: []) { counters, counter in
      if !counters.contains(counter) { counters.append(counter) }
    }
    let declared = kinds.flatMap { $0.options + $0.scopes.flatMap(\.options) }
    // SRTP is possible over every transport.
    options = (declared + DeclaredOption.ofSRTP).reduce(into: []) { options, option in
      if !options.contains(where: { $0.name == option.name }) { options.append(option) }
    }
  }

  /// The values of `--transport`.
  public var names: [String] { kinds.map(\.name) }
  /// The schemes of source URLs.
  public var schemes: [String] { kinds.flatMap(\.schemes) }
  /// The schemes of URLs that may contain a user name and a password.
  var schemesWithLogin: [String] {
    kinds.filter(\.hasLogin).flatMap { $0.schemes + $0.formerSchemes }
  }
  /// How SOURCE arguments are written: as URLs, as what names a source by itself, as files.
  public var usage: [SourceForm] {
    let arguments = kinds.flatMap(\.arguments)
    let forms = kinds.flatMap(\.usage)
    let urls = forms.filter { $0.text.contains("://") }
    let others = forms.filter { !$0.text.contains("://") }
    return urls + others.filter { arguments.contains($0.text) }
      + others.filter { !arguments.contains($0.text) }
  }

  /// The transport for a SOURCE argument: a URL, a file, or an address and the transport's name.
  ///
  /// - Parameters:
  ///   - source: the argument.
  ///   - name: one of ``names``, if the argument does not say the transport.
  ///   - options: options for the transports.
  ///   - former: the counters of the run's earlier connections, from which this one learns.
  ///   - eventLoop: the loop of the transport.
  /// - Returns: a transport that is not opened.
  /// - Throws: usually ``TransportError``: what is wrong with the argument, for the person who
  ///   typed it.
  public func make(
    source: String, transport name: String? = nil, options: TransportOptions = TransportOptions(),
    after former: TransportCounters? = nil, on eventLoop: any EventLoop
  ) throws -> any RTPTransport {
    let kind = try kind(of: source, transport: name, options)
    var options = options
    if let former { kind.learn(&options, former) }
    guard kind.hasRepairPorts || options.repair.isEmpty else {
      throw TransportError.source(source, .noRepairPorts)
    }
    try options.checkProtection(of: source)
    return SRTPTransport.wrap(try kind.make(source, options, eventLoop), options)
  }

  /// Whether a SOURCE argument may bring a description of the media.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:after:on:)``
  ///   does.
  public func describesMedia(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> Bool {
    try kind(of: source, transport: name, options).describesMedia(source)
  }

  /// The port of this machine that a SOURCE argument names, where it names one to listen on.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:after:on:)``
  ///   does.
  public func listeningPort(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> Int? {
    try kind(of: source, transport: name, options).listeningPort(source)
  }

  /// What the transport of a SOURCE argument, and SRTP over it, tell people by their counters.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:after:on:)``
  ///   does.
  public func hints(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> [TransportHint] {
    try kind(of: source, transport: name, options).hints + TransportHint.ofSRTP
  }

  /// What has an effect on which sources: a scope for each sort of them.
  public var scopes: [OptionScope] { kinds.flatMap(\.allScopes) }

  /// Which options have an effect on a SOURCE argument.
  ///
  /// - Throws: what is wrong with the argument, as ``make(source:transport:options:after:on:)``
  ///   does.
  public func scope(
    of source: String, transport name: String? = nil, options: TransportOptions = TransportOptions()
  ) throws(TransportError) -> OptionScope? {
    try kind(of: source, transport: name, options).allScopes.first { $0.includes(source) }
  }

  /// The streams that the source describes or contains, without receiving any.
  ///
  /// - Throws: like ``make(source:transport:options:after:on:)`` and the transport's `open`; also
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
  /// The scopes with what concerns all sources of the transport.
  fileprivate var allScopes: [OptionScope] {
    let words = schemes.first.map { "\($0)://" } ?? name
    return (scopes.isEmpty ? [OptionScope(words)] : scopes).map { scope in
      OptionScope(
        scope.words, options: options + scope.options,
        toolOptions: scope.toolOptions + (hasLogin ? ["--user", "--password-file"] : []),
        includes: scope.includes)
    }
  }
}
