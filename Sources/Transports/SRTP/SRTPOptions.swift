internal import Glibc

/// The options of SRTP, whatever carries it.
public struct SRTPOptions: TransportOption, Hashable {
  /// The keys; if there are any, all packets are expected to be protected by them, whatever a
  /// description says.
  public var keys: [SRTPKeyMaterial] = []
  /// Where ``readKeys()`` finds the keys; `nil` for the environment, which may have none.
  ///
  /// No transport is made before keys that are named here are read: it would be one without
  /// protection. Whether the environment has any is known only after ``readKeys()``.
  public var keySource: SRTPKeySource?
  /// The roll-over counter of a stream that is joined late, if it is known.
  public var rollover: UInt32?
  /// Whether weak protection is accepted: suites without encryption and, in a description, tags of
  /// 32 bits and unencrypted SRTCP.
  public var allowsWeak = false
  /// Whether keys are accepted from a description that others can read.
  public var allowsInsecureSDES = false

  public init() {}

  public var files: [String] { if case .file(let path)? = keySource { [path] } else { [] } }

  /// Whether there are keys, or something to read them from.
  public var hasKeys: Bool { !keys.isEmpty || readableSource != nil }

  /// Reads the keys from ``keySource`` or the environment, once, and forbids core dumps and
  /// debuggers.
  ///
  /// - Throws: ``SRTPError``, which never contains any of the text read.
  public mutating func readKeys() throws(SRTPError) {
    guard let source = readableSource else { return }
    SRTPKeyMaterial.forbidDumps()
    keys = try source.keys()
    keySource = nil
  }

  private var readableSource: SRTPKeySource? {
    if let keySource { return keySource }
    return unsafe getenv(SRTPKeySource.variable) == nil
      ? nil : .environment(SRTPKeySource.variable)
  }
}

extension TransportOptions {
  /// The options of SRTP; with keys, all packets of the transport are expected to be protected.
  public var srtp: SRTPOptions {
    get { self[SRTPOptions.self] }
    set { self[SRTPOptions.self] = newValue }
  }

  /// - Throws: ``TransportError/source(_:_:)`` when keys were not read, or a repair stream would
  ///   have none.
  func checkProtection(of source: String) throws(TransportError) {
    guard srtp.keySource == nil else { throw .source(source, .unreadKeys) }
    guard !srtp.keys.isEmpty else { return }
    try repair.checkProtection(of: source)
  }
}

extension RepairPorts {
  /// - Throws: ``TransportError/source(_:_:)`` when protected media cannot be repaired in this way.
  func checkProtection(of source: String) throws(TransportError) {
    guard !takesCorrection else { throw .source(source, .protectedCorrection) }
    guard retransmissionPort == nil else { throw .source(source, .sharedKey) }
  }
}

extension SRTPTransport {
  /// Wraps `transport` in SRTP if `options` have keys.
  static func wrap(_ transport: any RTPTransport, _ options: TransportOptions) -> any RTPTransport {
    guard !options.srtp.keys.isEmpty else { return transport }
    return SRTPTransport(wrapping: transport, SRTPConfiguration(options.srtp))
  }
}

extension SRTPConfiguration {
  /// Makes a configuration with the keys of `options`.
  public init(_ options: SRTPOptions) {
    self.init(keys: .fixed(options.keys))
    rollover = options.rollover
    allowsWeak = options.allowsWeak
  }
}

extension SessionDescription.Media {
  /// Whether the profile is one of protected media (RFC 3711 §11, RFC 5124), or there is a key.
  ///
  /// FFmpeg and UniFi Protect (`?enableSrtp`) write `RTP/AVP` together with the key of their SRTP.
  public var isProtected: Bool { profile.uppercased().contains("SAVP") || !cryptos.isEmpty }

  /// The protection in the description: that of the first usable `a=crypto` line.
  ///
  /// `exposure` says why others may have read the description; `nil` if they cannot.
  ///
  /// - Throws: ``SRTPError`` when there is no key, or none that may be used.
  public func protection(
    _ options: SRTPOptions, exposure: String?
  ) throws(SRTPError) -> SRTPConfiguration {
    guard !cryptos.isEmpty || cryptoFault != nil else {
      throw hasKeyManagement ? .keyManagement : .keyMissing(profile: profile)
    }
    let usable = cryptos.first { options.allowsWeak || !$0.isWeak }
    guard let usable else { throw .description(cryptoFault ?? .weak) }
    if let exposure, !options.allowsInsecureSDES { throw .exposedKey(exposure) }
    var configuration = SRTPConfiguration(keys: .fixed(usable.keys))
    configuration.rollover = options.rollover
    configuration.allowsWeak = options.allowsWeak
    configuration.acceptsReadableControl = usable.hasReadableControl
    return configuration
  }
}

extension SessionDescription {
  /// The protection of a section, as in ``Media/protection(_:exposure:)``, and that of its
  /// retransmission session.
  ///
  /// - Throws: ``SRTPError``, except when only the retransmission session has no key.
  func protection(
    ofMedia index: Int, _ options: SRTPOptions, exposure: String?
  ) throws(SRTPError) -> SRTPConfiguration {
    var configuration = try media[index].protection(options, exposure: exposure)
    if let other = media[index].retransmission,
      case .fixed(let keys) = (try? media[other].protection(options, exposure: exposure))?.keys
    {
      configuration.retransmissionKeys = keys
    }
    return configuration
  }
}

extension SDESCrypto {
  /// Whether the far end must not decide alone on such weak protection.
  fileprivate var isWeak: Bool { suite.isReadable || suite.hasShortTag || hasReadableControl }
}
