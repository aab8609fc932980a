/// What a user can choose about SRTP, whatever carries it.
public struct SRTPOptions: TransportOption, Hashable {
  /// Where there are any, everything is taken for protected by them, whatever a description says.
  public var keys: [SRTPKeyMaterial] = []
  /// The roll-over counter of a stream that is joined late, where it is known.
  public var rollover: UInt32?
  /// Whether suites that do not encrypt are taken, and what a far end may not ask for unasked: tags of
  /// 32 bits, and SRTCP in clear.
  public var allowsWeak = false
  /// Whether keys are taken from a description that others can read.
  public var allowsInsecureSDES = false

  public init() {}
}

extension TransportOptions {
  /// Where there are keys here, whatever the transport brings is taken for protected by them.
  public var srtp: SRTPOptions {
    get { self[SRTPOptions.self] }
    set { self[SRTPOptions.self] = newValue }
  }

  /// - Throws: ``TransportError/source(_:_:)`` where what repairs the media has no key.
  func checkProtection(of source: String) throws(TransportError) {
    guard !srtp.keys.isEmpty else { return }
    try repair.checkProtection(of: source)
  }
}

extension RepairPorts {
  /// - Throws: ``TransportError/source(_:_:)`` where media that is protected can not be repaired so.
  func checkProtection(of source: String) throws(TransportError) {
    guard !takesCorrection else { throw .source(source, .protectedCorrection) }
    guard retransmissionPort == nil else { throw .source(source, .sharedKey) }
  }
}

extension SRTPTransport {
  /// `transport`, unprotected where `options` have keys.
  static func wrap(_ transport: any RTPTransport, _ options: TransportOptions) -> any RTPTransport {
    guard !options.srtp.keys.isEmpty else { return transport }
    return SRTPTransport(wrapping: transport, SRTPConfiguration(options.srtp))
  }
}

extension SRTPConfiguration {
  /// With the keys of `options`.
  public init(_ options: SRTPOptions) {
    self.init(keys: .fixed(options.keys))
    rollover = options.rollover
    allowsWeak = options.allowsWeak
  }
}

extension SessionDescription.Media {
  /// Whether the profile is that of protected media (RFC 3711 §11, RFC 5124).
  public var isProtected: Bool { profile.uppercased().contains("SAVP") }

  /// How the media is protected as the description has it: by the first line that can be used.
  ///
  /// `exposure` is why others may have read the description, if they may.
  ///
  /// - Throws: ``SRTPError`` when there is no key, or none that may be used.
  public func protection(
    _ options: SRTPOptions, exposure: String?
  ) throws(SRTPError) -> SRTPConfiguration {
    guard !cryptos.isEmpty || cryptoFault != nil else { throw .keyMissing(profile: profile) }
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
  /// How a section is protected, as ``Media/protection(_:exposure:)``, and with it the session in which
  /// its packets are sent again.
  ///
  /// - Throws: ``SRTPError``; not where it is the other session that has no key.
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
  /// Whether a far end should not decide upon this alone.
  fileprivate var isWeak: Bool { suite.isReadable || suite.hasShortTag || hasReadableControl }
}
