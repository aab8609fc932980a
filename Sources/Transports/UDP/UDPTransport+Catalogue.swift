internal import NIOCore
internal import RTPWire

extension TransportKind {
  /// `udp://host:port`: hello to a server.
  static let hello = TransportKind(name: "udp", schemes: ["udp"]) {
    source, options, eventLoop throws(TransportError) in
    let address = try SourceAddress(parsing: source)
    guard address.source == nil else { throw .source(source, .sourceWithoutGroup) }
    guard let host = address.host else { throw .source(source, .missingHost) }
    guard address.port > 0 else { throw .source(source, .invalidPort("0")) }
    return UDPTransport(
      role: .client(host: host, port: address.port, options.hello), sockets: options.sockets,
      on: eventLoop)
  }

  /// `rtp://[[source@]address]:port` and session descriptions in files: listening.
  static let listening = TransportKind(
    name: "rtp", schemes: ["rtp"], endings: [".sdp"], hasRepairPorts: true, make: listen,
    describe: { source, _, _ in
      guard isSessionDescription(source) else {
        throw TransportError.source(source, .nothingDescribed)
      }
      return try SessionDescription(contentsOf: source)
    })

  private static func isSessionDescription(_ source: String) -> Bool {
    SourceAddress.scheme(of: source) == nil && source.lowercased().hasSuffix(".sdp")
  }

  @Sendable private static func listen(
    _ source: String, _ options: TransportOptions, _ eventLoop: any EventLoop
  ) throws(TransportError) -> any RTPTransport {
    if isSessionDescription(source) {
      let session = try SessionDescription(contentsOf: source)
      let index = try session.mediaToReceive()
      let media = session.media[index]
      var listening = UDPTransport.Listening(for: media)
      listening.takesCorrection = options.takesCorrection
      listening.retransmissionPort =
        options.retransmissionPort ?? session.retransmissionPort(ofMedia: index)
      let transport = UDPTransport(
        role: .listener(listening), sockets: options.sockets,
        descriptions: [media.description], on: eventLoop)
      // FFmpeg writes RTP/AVP above the key of what it sends as SRTP.
      guard options.srtp.keys.isEmpty, media.isProtected || !media.cryptos.isEmpty else {
        return transport
      }
      guard !options.takesCorrection else { throw .source(source, .protectedCorrection) }
      guard options.retransmissionPort == nil else { throw .source(source, .sharedKey) }
      do throws(SRTPError) {
        let exposure = session.isExposed ? "others can read the file" : nil
        return SRTPTransport(
          wrapping: transport,
          try session.protection(ofMedia: index, options.srtp, exposure: exposure))
      } catch { throw .protected(error) }
    }
    let address = try SourceAddress(parsing: source)
    var listening = UDPTransport.Listening(
      host: address.host, port: address.port, source: address.source)
    listening.takesCorrection = options.takesCorrection
    listening.retransmissionPort = options.retransmissionPort
    if address.source != nil, !listening.mayBeGroup {
      throw .source(source, .sourceWithoutGroup)
    }
    return UDPTransport(role: .listener(listening), sockets: options.sockets, on: eventLoop)
  }
}

extension SessionDescription {
  /// The section to listen for: the first video one with a port, else the first with a port, but not one
  /// that only repeats another.
  func mediaToReceive() throws(TransportError) -> Int {
    let withPort = media.indices.filter { media[$0].port > 0 && !media[$0].isRetransmission }
    let video = withPort.first { media[$0].kind == "video" }
    guard let chosen = video ?? withPort.first else { throw .nothingToReceive }
    let profile = media[chosen].profile
    guard ["RTP/AVP", "RTP/SAVP"].contains(where: profile.uppercased().hasPrefix) else {
      throw .unsupportedProfile(profile)
    }
    return chosen
  }

  /// Where the packets of a section are sent again, if that is a session of its own on the same address.
  func retransmissionPort(ofMedia index: Int) -> Int? {
    guard let second = media[index].retransmission.map({ media[$0] }), second.port > 0,
      second.connection?.address == media[index].connection?.address
    else { return nil }
    return second.port
  }
}

extension UDPTransport.Listening {
  /// Where a media section of a session description is sent to.
  init(for media: SessionDescription.Media) {
    let address = media.connection?.address
    let filter = media.sourceFilters.first { $0.destination == "*" || $0.destination == address }
    self.init(host: address, port: media.port, source: filter?.sources.first)
    controlPort = media.isControlMultiplexed ? media.port : media.controlPort
    // The address may be the sender's, or that of a router before this machine.
    fallsBackToAnyAddress = true
  }

  /// Whether ``host`` is, or as a name may be, a multicast group.
  var mayBeGroup: Bool {
    guard let host else { return false }
    return (try? SocketAddress(ipAddress: host, port: port))?.isMulticast ?? true
  }
}

extension UDPTransport.LocalAddress {
  /// Reads `address:port`, `[address]:port` or `:port`.
  public init(parsing text: String) throws(TransportError) {
    do throws(SourceFault) {
      (host, port) = try SourceAddress.endpoint(text[...])
    } catch { throw .source(text, error) }
  }
}
