import Testing

@testable import Transports

/// What transports tell people by their counters.
struct TransportHintTests {
  private static let catalogue = TransportCatalogue.standard

  /// All hints for `occasion` of the transport of `source`.
  private func hints(
    _ source: String, _ occasion: TransportHint.Occasion, transport: String? = nil,
    received: UInt64 = 0, options: TransportOptions = TransportOptions(),
    _ count: (inout TransportCounters) -> Void = { _ in }
  ) throws -> [String] {
    var situation = TransportHint.Situation(source: source, options: options, received: received)
    count(&situation.counters)
    return try Self.catalogue.hints(of: source, transport: transport, options: options)
      .filter { $0.occasion == occasion }.compactMap { $0.words(situation) }
  }

  @Test(arguments: ["udp://camera:5004", "rtp://:5004", "rtsp://camera/live"])
  func ofSockets(source: String) throws {
    #expect(
      try hints(source, .refusal) { $0.refused = 1 }
        == ["the far end refused 1 datagram: is the server running there?"])
    #expect(
      try hints(source, .otherTraffic) {
        ($0.notRTP, $0.unproven, $0.reportsAlone, $0.foreignOrigin) = (2, 1, 3, 1)
      } == [
        "2 datagrams came that are not RTP; check the port, and what the sender sends",
        "1 packet came, too few to tell what it carries",
        "only RTCP came, and no media: check to which port the sender sends, and the firewall",
        "1 datagram came from other addresses than \(source)",
      ])
    #expect(
      try hints(source, .news) { $0.kernelDropped = 3 }
        == ["the kernel dropped 3 datagrams: its buffer was full"])
    for occasion in [
      .refusal, .otherTraffic, .otherSender, .news, .warning, .notRTP, .silence, .waiting,
    ]
      as [TransportHint.Occasion]
    {
      #expect(try hints(source, occasion).isEmpty, "\(occasion)")
    }
  }

  @Test func anotherSenderIsNamedWithItsAddress() throws {
    func other(_ datagrams: UInt64, outlastsMedia: Bool = false) -> TransportCounters.OtherSender {
      .init(address: "192.0.2.1:40000", datagrams: datagrams, outlastsMedia: outlastsMedia)
    }
    #expect(
      try hints("rtp://:5004", .otherTraffic) {
        ($0.foreignOrigin, $0.otherSender) = (3, other(2))
      } == [
        "3 datagrams came from other addresses than rtp://:5004, the last from 192.0.2.1:40000"
      ])
    #expect(
      try hints("rtp://:5004", .otherSender, received: 9) {
        $0.otherSender = other(263, outlastsMedia: true)
      } == ["263 datagrams came from another sender, 192.0.2.1:40000, and were left out"])
    // What came while the stream did is not why it stopped.
    #expect(try hints("rtp://:5004", .otherSender, received: 9) { $0.otherSender = other(9) } == [])
    #expect(
      try hints("rtp://:5004", .warning, received: 9) { $0.otherSender = other(10) } == [
        "10 datagrams came from another sender, 192.0.2.1:40000, and were left out; "
          + "media is taken from one sender at a time"
      ])
    #expect(try hints("rtp://:5004", .warning, received: 9) { $0.otherSender = other(9) } == [])
  }

  @Test(
    "who says hello to this machine, as one listens in FFmpeg, is told how to listen",
    arguments: ["127.0.0.1", "0.0.0.0", "localhost", "[::1]"])
  func ownAddress(host: String) throws {
    let words = try hints("udp://\(host):5004", .refusal) { $0.refused = 2 }
    #expect(words.first?.hasSuffix("to listen there, write rtp://:5004") == true, "\(words)")
    #expect(try hints("udp://\(host):5004", .refusal).isEmpty)
  }

  @Test func aSmallerBufferThanWantedIsSaid() throws {
    var options = TransportOptions()
    options.sockets.receiveBuffer = 1 << 20
    let words = try hints("rtp://:5004", .warning, options: options) {
      $0.receiveBuffer = 416 << 10
    }
    #expect(
      words == [
        "the kernel grants a receive buffer of 416 KiB of the 1024 KiB asked for, so bursts may be "
          + "dropped; try: sudo sysctl net.core.rmem_max=1048576"
      ])
    for granted in [0, 1 << 20] {
      let words = try hints("rtp://:5004", .warning, options: options) {
        $0.receiveBuffer = granted
      }
      #expect(words.isEmpty)
    }
  }

  @Test func whatCameInsteadOfRTPIsNamed() throws {
    func count(_ counters: inout TransportCounters) {
      counters.notRTP = 1
      counters.note("a remark")
      counters.note(.warning("port 5005 is taken, so the sender's RTCP is missed"))
      counters.note(.content("what comes is text, and not RTP"))
    }
    #expect(try hints("rtp://:5004", .notRTP, count) == ["what comes is text, and not RTP"])
    #expect(try hints("rtp://:5004", .notRTP, received: 1, count).isEmpty)
  }

  @Test(arguments: [
    ("rtp://239.1.2.3:5004", "239.1.2.3:5004", "239.1.2.3"),
    ("rtp://group.example:5004", "[ff15::1]:5004", "ff15::1"),
    ("udp://239.1.2.3:5004", "239.1.2.3:5004", "239.1.2.3"),
    ("rtp://:5004", "0.0.0.0:5004", nil), ("rtp://239.1.2.3:5004", nil, nil),
  ])
  func ofASilentGroup(source: String, local: String?, group: String?) throws {
    var options = TransportOptions()
    func words() throws -> [String] {
      try hints(source, .silence, options: options) { $0.localAddress = local }
    }
    #expect(
      try words()
        == (group.map {
          [
            "nothing came to the group \($0): name the network interface by which it comes with "
              + "--interface, and check the firewall"
          ]
        } ?? []))
    options.sockets.interface = "eth1"
    #expect(try words().isEmpty)
    options.sockets.interface = nil
    options.sockets.bind = UDPTransport.LocalAddress(host: "192.0.2.1", port: 5004)
    #expect(try words().isEmpty)
  }

  @Test(arguments: [(1, "once"), (2, "twice"), (7, "7 times")])
  func ofHello(sent: UInt64, times: String) throws {
    #expect(
      try hints("udp://camera:5004", .silence) { $0.hellosSent = sent }
        == [
          "said hello \(times): check host, port, firewall and --hello; "
            + "the sender may still serve another client"
        ])
    #expect(try hints("udp://camera:5004", .waiting) { $0.hellosSent = sent } == ["saying hello"])
  }

  @Test(arguments: [
    ("http://camera/live", nil, true), ("HTTPS://camera/live", nil, true),
    ("tcp://camera:5004", nil, true), ("-", nil, false), ("camera:5004", "tcp", false),
  ])
  func ofConnections(source: String, transport: String?, isSaid: Bool) throws {
    let words = "nothing came through the connection: check that something is being sent there"
    #expect(try hints(source, .silence, transport: transport) == (isSaid ? [words] : []))
  }

  @Test(arguments: ["rtsp://camera/live", "rtsps://camera/live", "onvif://camera"])
  func ofAServerThatDoesNotAnswer(source: String) throws {
    #expect(
      try hints(source, .silence) { $0.rtsp.unanswered = "DESCRIBE" } == [
        "the connection stands, but the server has not answered DESCRIBE; "
          + "check that it speaks RTSP on this port, or restart it"
      ])
    #expect(try hints(source, .silence).isEmpty)
  }

  @Test(
    "what makes no sense may be encrypted, unless there is a key",
    arguments: ["udp://camera:5004", "http://camera/live", "-"])
  func ofNonsense(source: String) throws {
    #expect(
      try hints(source, .nonsense)
        == ["give the key of SRTP with --srtp-key-file if they are encrypted"])
    #expect(try hints(source, .nonsense) { $0.srtp = SRTPCounters() }.isEmpty)
  }

  @Test(
    "SRTP says what is wrong, over every transport",
    arguments: ["udp://camera:5004", "http://camera/live", "-"],
    [
      (
        \SRTPCounters.authenticationFailed,
        "came that could not be authenticated: is the key the sender's, and its suite? A stream "
          + "joined very late needs --srtp-roc. If the stream is not encrypted, leave the key out"
      ),
      (\.noKey, "came for which there is no key: check the MKI"),
      (
        \.malformed,
        "came that are too short for this suite, or not SRTP: check the sender's suite and MKI"
      ),
    ] as [(any WritableKeyPath<SRTPCounters, UInt64> & Sendable, String)])
  func ofSRTP(
    source: String, reason: (any WritableKeyPath<SRTPCounters, UInt64> & Sendable, String)
  ) throws {
    func words(
      _ occasion: TransportHint.Occasion, _ count: UInt64, authentic: UInt64 = 0,
      received: UInt64 = 0
    ) throws -> [String] {
      try hints(source, occasion, received: received) { counters in
        var srtp = SRTPCounters()
        srtp[keyPath: reason.0] = count
        srtp.authenticated = authentic
        counters.srtp = srtp
      }
    }
    #expect(try words(.distrust, 1) == ["1 packet \(reason.1)"])
    #expect(try words(.distrust, 19) == ["19 packets \(reason.1)"])
    #expect(try words(.warning, 19).isEmpty)
    #expect(try words(.warning, 20) == ["20 packets \(reason.1)"])
    for occasion in [TransportHint.Occasion.distrust, .warning] {
      #expect(try words(occasion, 20, authentic: 20).isEmpty)
      #expect(try words(occasion, 20, received: 1).isEmpty)
    }
  }
}
