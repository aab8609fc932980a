internal import NIOCore
internal import RTPWire

extension TransportKind {
  /// `udp://host:port`: hello to a server.
  public static let hello: TransportKind = {
    var kind = TransportKind(name: "udp", schemes: ["udp"], make: sayHello)
    kind.usage = [
      SourceForm("udp://HOST:PORT", "say hello to HOST:PORT, receive what it sends back")
    ]
    kind.counters = TransportCounter.ofSockets + TransportCounter.ofHello
    kind.listeningPort = { source in
      address(in: source).flatMap { $0.listens ? $0.port : nil }
    }
    kind.hints = TransportHint.ofHello + TransportHint.ofSockets
    kind.options = DeclaredOption.ofHello + DeclaredOption.ofSockets
    kind.scopes = [OptionScope("udp://", toolOptions: ["--feedback", "--timeout"])]
    return kind
  }()

  @Sendable private static func sayHello(
    _ source: String, _ options: TransportOptions, _ eventLoop: any EventLoop
  ) throws(TransportError) -> any RTPTransport {
    let address = try SourceAddress(parsing: source)
    guard !address.listens else { return try listen(source, options, eventLoop) }
    guard address.source == nil else { throw .source(source, .sourceWithoutGroup) }
    guard let host = address.host else { throw .source(source, .missingHost) }
    guard address.port > 0 else { throw .source(source, .invalidPort("0")) }
    return UDPTransport(
      role: .client(host: host, port: address.port, options.hello), sockets: options.sockets,
      on: eventLoop)
  }

  /// `rtp://[[source@]address]:port`, and SDP files: listening.
  public static let listening: TransportKind = {
    var kind = TransportKind(
      name: "rtp", schemes: ["rtp"], make: listen,
      describe: { source, options, _ in
        guard isSessionDescription(source) else {
          throw TransportError.source(source, .nothingDescribed)
        }
        return StreamListing(
          of: try SessionDescription(contentsOf: source).choosing(by: options.media))
      })
    kind.endings = [".sdp"]
    kind.usage = [
      SourceForm(
        "rtp://[ADDRESS]:PORT",
        "listen on a port, or join a multicast group\n"
          + "(rtp://SENDER@GROUP:PORT for one sender of it)"),
      SourceForm("FILE.sdp", "listen as the session description says"),
    ]
    kind.describesMedia = { isSessionDescription($0) }
    kind.listeningPort = { address(in: $0)?.port }
    kind.counters = TransportCounter.ofSockets
    kind.hints = TransportHint.ofSockets
    kind.recognizes = { file, _ in
      file.holdsSessionDescription || file.kind == .pipe && file.path.hasSuffix(".sdp")
    }
    kind.hasRepairPorts = true
    kind.options = DeclaredOption.ofSockets
    let toolOptions = ["--feedback", "--timeout"]
    kind.scopes = [
      OptionScope(
        ".sdp", options: [.stream], toolOptions: toolOptions, includes: isSessionDescription),
      OptionScope("rtp://", toolOptions: toolOptions),
    ]
    return kind
  }()

  /// The address that `source` is; `nil` for a file.
  private static func address(in source: String) -> SourceAddress? {
    guard !isSessionDescription(source) else { return nil }
    return try? SourceAddress(parsing: source)
  }

  private static func isSessionDescription(_ source: String) -> Bool {
    guard SourceAddress.scheme(of: source) == nil else { return false }
    return source.lowercased().hasSuffix(".sdp") || SourceFile(source).holdsSessionDescription
  }

  @Sendable private static func listen(
    _ source: String, _ options: TransportOptions, _ eventLoop: any EventLoop
  ) throws(TransportError) -> any RTPTransport {
    if isSessionDescription(source) {
      return try transport(describedIn: source, options, eventLoop)
    }
    let address = try SourceAddress(parsing: source)
    var listening = UDPTransport.Listening(
      host: address.host, port: address.port, source: address.source)
    listening.takesCorrection = options.repair.takesCorrection
    listening.retransmissionPort = options.repair.retransmissionPort
    if address.source != nil, !listening.mayBeGroup {
      throw .source(source, .sourceWithoutGroup)
    }
    return UDPTransport(role: .listener(listening), sockets: options.sockets, on: eventLoop)
  }

  private static func transport(
    describedIn source: String, _ options: TransportOptions, _ eventLoop: any EventLoop
  ) throws(TransportError) -> any RTPTransport {
    let choice = options.media
    let session = try SessionDescription(contentsOf: source).choosing(by: choice)
    let chosen = try session.mediaToReceive(by: choice)
    let tracks = choice.number == nil ? session.tracksToReceive(with: chosen) : [chosen]
    let required = tracks.firstIndex(of: chosen) ?? 0
    let listenings = tracks.map { index in
      var listening = UDPTransport.Listening(for: session.media[index])
      listening.retransmissionPort = session.retransmissionPort(ofMedia: index)
      guard index == chosen else { return listening }
      listening.takesCorrection = options.repair.takesCorrection
      listening.retransmissionPort =
        options.repair.retransmissionPort ?? listening.retransmissionPort
      return listening
    }
    let sharing = choice.number == nil ? session.mediaSharingPort(with: chosen) : []
    let transport = UDPTransport(
      role: listenings.count == 1
        ? .listener(listenings[0]) : .listeners(listenings, required: required),
      sockets: options.sockets,
      descriptions: (tracks + sharing).map { session.media[$0].description },
      leavesSoundOut: choice.number != nil && session.hasSound(besideVideo: chosen),
      on: eventLoop)
    guard options.srtp.keys.isEmpty, session.media[chosen].isProtected else { return transport }
    try options.repair.checkProtection(of: source)
    let exposure = session.isExposed ? "others can read the file" : nil
    var protections: [SRTPConfiguration?] = []
    for index in tracks {
      do throws(SRTPError) {
        protections.append(
          try session.protection(ofMedia: index, options.srtp, exposure: exposure))
      } catch {
        // The key may be missing if this section need not be received.
        guard index != chosen else { throw .protected(error) }
        protections.append(nil)
      }
    }
    return SRTPTransport(wrapping: transport, .tracks(protections))
  }
}

extension SourceFile {
  /// A byte order mark may precede it, as Windows editors write it, or `SDP:`, as FFmpeg prints it.
  fileprivate var holdsSessionDescription: Bool {
    let view = beginning.readableBytesView
    let text = view.starts(with: [0xEF, 0xBB, 0xBF]) ? view.dropFirst(3) : view
    return text.starts(with: "v=0".utf8) || text.starts(with: "SDP:".utf8)
  }
}

extension SessionDescription {
  /// The section to listen for: the chosen one, or the first usable video section with a port,
  /// otherwise the first usable section, or else known sound, but none that only repeats another.
  func mediaToReceive(by choice: MediaChoice = MediaChoice()) throws(TransportError) -> Int {
    var withPort = media.indices.filter { media[$0].port > 0 && !media[$0].isRetransmission }
    guard !withPort.isEmpty else { throw .nothingToReceive }
    if let number = choice.number {
      if media.indices.contains(number), media[number].isRetransmission {
        throw .onlyRetransmissions(number: number)
      }
      withPort.removeAll { $0 != number }
      guard !withPort.isEmpty else { throw .noSuchMedia(number: number) }
    }
    let encodings = choice.encodings
    let usable = withPort.filter { media[$0].isUsable(byEncodings: encodings) }
    let sound = withPort.first { media[$0].isSound(of: choice.soundEncodings) }
    guard let chosen = usable.first(where: { media[$0].kind == .video }) ?? usable.first ?? sound
    else {
      throw .noUsableMedia(
        described: withPort.map { media[$0].words },
        usable: encodings.sorted() + choice.soundEncodings.sorted())
    }
    let profile = media[chosen].profile
    guard ["RTP/AVP", "RTP/SAVP"].contains(where: profile.uppercased().hasPrefix) else {
      throw .unsupportedProfile(profile)
    }
    return chosen
  }

  /// The sections to listen for, in order, including `chosen`.
  ///
  /// Sections that are not RTP, and unprotected ones beside a protected one, are left out. One port
  /// of two groups is two sessions.
  fileprivate func tracksToReceive(with chosen: Int) -> [Int] {
    let others = media.indices.filter { index in
      let section = media[index]
      return index != chosen && section.port > 0 && !isOnPort(of: chosen, index)
        && !section.isRetransmission && !section.isBackChannel
        && ["RTP/AVP", "RTP/SAVP"].contains(where: section.profile.uppercased().hasPrefix)
        && section.isProtected == media[chosen].isProtected
    }
    return ([chosen] + others.prefix(UDPTransport.maximumTracks - 1)).sorted()
  }

  /// The sections that come on the port of the `chosen` one, behind all that have a port of their
  /// own: their payload types tell them apart (RFC 9143 §9.2).
  ///
  /// What is protected by keys of its own is left out.
  fileprivate func mediaSharingPort(with chosen: Int) -> [Int] {
    guard !media[chosen].isProtected else { return [] }
    let type = media[chosen].description.payloadType
    return media.indices.filter { index in
      let section = media[index]
      return index != chosen && isOnPort(of: chosen, index) && !section.isRetransmission
        && !section.isBackChannel && !section.isProtected
        && section.profile.uppercased().hasPrefix("RTP/AVP")
        && section.description.payloadType.map { $0 != type } ?? false
    }
  }

  private func isOnPort(of chosen: Int, _ index: Int) -> Bool {
    media[index].port == media[chosen].port
      && media[index].connection?.address == media[chosen].connection?.address
  }

  /// The port for a section's retransmissions, if they have a separate session on the same address.
  func retransmissionPort(ofMedia index: Int) -> Int? {
    guard let second = media[index].retransmission.map({ media[$0] }), second.port > 0,
      second.connection?.address == media[index].connection?.address
    else { return nil }
    return second.port
  }
}

extension SessionDescription.Media {
  /// Whether it may be one of `encodings`, or any if that is empty.
  ///
  /// A section without an encoding name may turn out to be one, unless it is sound.
  func isUsable(byEncodings encodings: Set<String>) -> Bool {
    guard !encodings.isEmpty else { return true }
    return description.encodingName.map { encodings.contains($0.uppercased()) } ?? (kind != .audio)
  }

  /// Whether it is sound with one of `encodings`.
  fileprivate func isSound(of encodings: Set<String>) -> Bool {
    kind == .audio
      && description.encodingName.map { encodings.contains($0.uppercased()) } ?? false
  }

  /// A description for people: `audio PCMU`.
  fileprivate var words: String {
    kind.rawValue + " " + (description.encodingNames ?? "payload type \(payloadTypes.first ?? 0)")
  }
}

extension UDPTransport {
  /// The most tracks listened for, each with two sockets.
  static let maximumTracks = 16
  /// The most senders of a filter: a Linux socket joins ten per group (igmp_max_msf).
  static let maximumSources = 10
}

extension UDPTransport.Listening {
  /// The destination of a media section.
  init(for media: SessionDescription.Media) {
    self.init(host: media.connection?.address, port: media.port)
    senders = media.senders
    controlPort = media.isControlMultiplexed ? media.port : media.controlPort
    // The address may be the sender's, or that of a router in front of this machine.
    fallsBackToAnyAddress = true
  }

  /// Whether ``host`` is a multicast group, or a name that may stand for one.
  var mayBeGroup: Bool {
    guard let host else { return false }
    return (try? SocketAddress(ipAddress: host, port: 0))?.isMulticast ?? true
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
