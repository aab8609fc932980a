import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Testing

@testable import Transports

struct CatalogueTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  private static let schemes = [
    "udp", "rtp", "rtsp", "rtsps", "onvif", "onvifs", "http", "https", "tcp",
  ]
  private static let known = schemes.map { "\($0)://" }

  private func role(_ source: String, transport: String? = nil) throws -> UDPTransport.Role {
    let transport = try TransportCatalogue.standard.make(
      source: source, transport: transport, on: eventLoop)
    return try #require(transport as? UDPTransport).role
  }

  @Test(arguments: [
    ("udp://203.0.113.5:5004", nil, "203.0.113.5", 5004),
    ("203.0.113.5:5004", "udp", "203.0.113.5", 5004),
    ("UDP://camera.example:1", nil, "camera.example", 1),
    ("udp://[2001:db8::1]:65535/", nil, "2001:db8::1", 65_535),
    ("[fe80::1%eth0]:5004", "udp", "fe80::1%eth0", 5004),
    ("udp://[fe80::1%25eth0]:5004", nil, "fe80::1%eth0", 5004),
  ])
  func aServerIsNamedInEachOfTheseWays(
    source: String, transport: String?, host: String, port: Int
  ) throws {
    #expect(try role(source, transport: transport) == .client(host: host, port: port))
  }

  @Test(arguments: [
    ("rtp://:5004", nil, 5004), ("RTP://239.1.2.3:5004/", nil, 5004), ("rtp://[::1]:0", nil, 0),
    (":5004", "rtp", 5004), ("udp://:5004", nil, 5004), ("udp://239.1.2.3:5004", nil, 5004),
    ("udp://203.0.113.5:5004", nil, nil), ("rtsp://203.0.113.5:5004", nil, nil),
    ("missing.sdp", nil, nil),
  ])
  func aPortToListenOnIsFoundInTheSource(
    source: String, transport: String?, port: Int?
  ) throws {
    #expect(
      try TransportCatalogue.standard.listeningPort(of: source, transport: transport) == port)
  }

  @Test(arguments: [
    ("rtp://:5004", nil, nil, 5004, nil), ("rtp://@:5004", nil, nil, 5004, nil),
    (":5004", "rtp", nil, 5004, nil), ("udp://:5004", nil, nil, 5004, nil),
    ("udp://@:5004", nil, nil, 5004, nil), ("udp://@239.1.2.3:5004", nil, "239.1.2.3", 5004, nil),
    ("udp://239.1.2.3:5004", nil, "239.1.2.3", 5004, nil),
    ("udp://192.0.2.1@232.1.2.3:5004", nil, "232.1.2.3", 5004, "192.0.2.1"),
    ("rtp://127.0.0.1:5004", nil, "127.0.0.1", 5004, nil),
    ("rtp://239.1.2.3:5004", nil, "239.1.2.3", 5004, nil),
    ("rtp://@239.1.2.3:5004", nil, "239.1.2.3", 5004, nil),
    ("rtp://192.0.2.1@232.1.2.3:5004", nil, "232.1.2.3", 5004, "192.0.2.1"),
    ("rtp://[2001:db8::9]@[ff3e::1]:5004", nil, "ff3e::1", 5004, "2001:db8::9"),
    ("[ff15::1]:5004", "rtp", "ff15::1", 5004, nil),
  ])
  func aPortOrGroupIsNamedInEachOfTheseWays(
    source: String, transport: String?, host: String?, port: Int, sender: String?
  ) throws {
    #expect(
      try role(source, transport: transport)
        == .listener(.init(host: host, port: port, source: sender)))
  }

  @Test(arguments: [
    ("udp://host", nil, SourceFault.missingPort), ("udp://host:", nil, .missingPort),
    ("udp://[::1]", nil, .missingPort),
    ("udp://host:0", nil, .invalidPort("0")), ("udp://host:65536", nil, .invalidPort("65536")),
    ("udp://host:-1", nil, .invalidPort("-1")), ("udp://host:5004x", nil, .invalidPort("5004x")),
    ("udp://host:123456789012345678901234", nil, .invalidPort("123456789012345678901234")),
    ("udp://host:5004/path", nil, .unexpectedTail("/path")),
    ("udp://host:5004?pkt_size=1316", nil, .unexpectedTail("?pkt_size=1316")),
    ("udp://2001:db8::1:5004", nil, .invalidHost("2001:db8::1:5004")),
    ("udp://ho st:5004", nil, .invalidHost("ho st")),
    ("udp://ho\r\nst:5004", nil, .invalidHost("ho\r\nst")),
    ("udp://ho\0st:5004", nil, .invalidHost("ho\0st")),
    ("udp://user@host:5004", nil, .sourceWithoutGroup),
    ("rtp://192.0.2.1@192.0.2.2:5004", nil, .sourceWithoutGroup),
    ("srt://host:9000", nil, .unknownScheme("srt", known: schemes)),
    ("host:5004", nil, .noScheme(known: known)), (":5004", nil, .noScheme(known: known)),
    ("192.0.2.1", nil, .noScheme(known: known)), ("[::1]:5004", nil, .noScheme(known: known)),
    ("camera:554/live", nil, .noScheme(known: known)), ("", nil, .nothingGiven),
    ("capture.mp4", nil, .noSuchFile), ("/nowhere/capture.mp4", nil, .noSuchFile),
    ("capture", nil, .noSuchFile),
    (
      "host:5004", "srt",
      .unknownTransport("srt", known: ["udp", "rtp", "rtsp", "onvif", "http", "tcp", "replay"])
    ),
    ("tcp://:5004", nil, .missingHost), ("tcp://host", nil, .missingPort),
    ("http:///x", nil, .missingHost), ("http://host:0/", nil, .invalidPort("0")),
    ("rtsp://host:0/", nil, .invalidPort("0")), ("rtsps:///stream", nil, .missingHost),
    ("rtp://:5004", "udp", .otherTransport(scheme: "rtp", named: "udp")),
    ("", "udp", .missingPort), (":", "udp", .missingPort), ("]", "udp", .missingPort),
    ("[", "udp", .missingPort), ("[]:1", "udp", .invalidHost("[]")),
  ])
  func whatIsWrongWithASourceIsSaid(
    source: String, transport: String?, fault: SourceFault
  ) throws {
    let error = #expect(throws: TransportError.self) {
      try role(source, transport: transport)
    }
    #expect(error == .source(source, fault))
    #expect(error?.description.isEmpty == false)
  }

  @Test func aSessionDescriptionSaysWhereToListen() throws {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).SDP"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try """
    v=0
    c=IN IP4 232.1.2.3/16
    a=source-filter: incl IN IP4 * 192.0.2.7
    m=audio 5000 RTP/AVP 0
    m=video 5002 RTP/AVP 96
    a=rtcp-mux
    a=rtpmap:96 H264/90000
    """.write(toFile: path, atomically: true, encoding: .utf8)
    var audio = UDPTransport.Listening(host: "232.1.2.3", port: 5000, source: "192.0.2.7")
    audio.fallsBackToAnyAddress = true
    var video = UDPTransport.Listening(host: "232.1.2.3", port: 5002, source: "192.0.2.7")
    video.controlPort = 5002
    video.fallsBackToAnyAddress = true
    #expect(try role(path) == .listeners([audio, video], required: 1))
  }

  @Test(arguments: [("239.77.1.2", 2), ("239.77.1.1", 1)])
  func onePortOfTwoGroupsIsTwoSessions(group: String, sessions: Int) throws {
    let role = try role(
      description: """
        m=video 5004 RTP/AVP 96
        c=IN IP4 239.77.1.1/4
        a=rtpmap:96 H264/90000
        m=audio 5004 RTP/AVP 0
        c=IN IP4 \(group)/4
        """, number: nil)
    switch role {
    case .listener: #expect(sessions == 1)
    case .listeners(let all, _): #expect(all.count == sessions)
    default: Issue.record("\(role)")
    }
  }

  @Test func ifOnlyTheConnectionBroughtMediaTheNextOneTriesNothingElse() {
    var former = TransportCounters()
    former.carriage = .tcp
    var options = TransportOptions()
    TransportKind.rtsp.learn(&options, former)
    #expect(options.rtsp.lowerTransport == .tcp)
    options.rtsp.lowerTransport = .udp
    TransportKind.rtsp.learn(&options, former)
    #expect(options.rtsp.lowerTransport == .udp)
  }

  @Test(arguments: [true, false])
  func whoAskedForADigestGetsNoPasswordInClearOnTheNextConnection(hasAsked: Bool) {
    var former = TransportCounters()
    former.hasUsedDigest = hasAsked
    var options = TransportOptions()
    TransportKind.rtsp.learn(&options, former)
    TransportKind.http.learn(&options, former)
    #expect(options.rtsp.allowsBasic == !hasAsked)
    #expect(options.http.allowsBasic == !hasAsked)
    #expect(options.rtsp.lowerTransport == .automatic)
  }

  @Test func aKeepAliveUponWhichTheServerHungUpIsNotSentAgain() {
    var earlier = TransportCounters()
    earlier.rtsp.fatalKeepAlives = ["GET_PARAMETER"]
    var former = TransportCounters()
    former.rtsp.fatalKeepAlives = ["SET_PARAMETER"]
    var options = TransportOptions()
    TransportKind.rtsp.learn(&options, former.added(to: earlier))
    #expect(options.rtsp.fatalKeepAlives == ["GET_PARAMETER", "SET_PARAMETER"])
  }

  @Test(arguments: [
    ("rtsp://camera/", nil, true), ("camera/live", "rtsp", true), ("camera.sdp", nil, true),
    ("rtp://:5004", nil, false), (":5004", "rtp", false), ("udp://camera:5004", nil, false),
    ("http://camera/", nil, false), ("tcp://camera:5004", nil, false),
    ("camera.pcapng", nil, false),
  ])
  func whichSourcesMayBringADescription(
    source: String, transport: String?, expected: Bool
  ) throws {
    let isDescribed = try TransportCatalogue.standard.describesMedia(
      of: source, transport: transport)
    #expect(isDescribed == expected)
  }

  @Test(arguments: [
    ("rtsp://camera/", true), ("rtp://:5004", true), ("udp://camera:5004", true),
    ("http://camera/", true), ("tcp://camera:5004", true), ("camera.pcapng", false),
  ])
  func whichSourcesCanBeConnectedToAgain(source: String, expected: Bool) throws {
    let transport = try TransportCatalogue.standard.make(source: source, on: eventLoop)
    #expect(transport.comesAgain == expected)
    let wrapped = SRTPTransport(wrapping: transport, SRTPConfiguration(keys: .fixed([])))
    #expect(wrapped.comesAgain == expected)
  }

  @Test func anOpenPipeEndsOnceAndANamedOneCanBeOpenedAgain() {
    #expect(!FramedTransport(source: .pipe(0), on: eventLoop).comesAgain)
    #expect(FramedTransport(source: .pipeAt("/tmp/x"), on: eventLoop).comesAgain)
  }

  @Test func everyTransportSaysHowItsSourcesAreWritten() {
    #expect(TransportCatalogue.standard.kinds.allSatisfy { !$0.usage.isEmpty })
    #expect(
      TransportCatalogue.standard.usage.map(\.text) == [
        "udp://HOST:PORT", "rtp://[ADDRESS]:PORT", "rtsp://HOST[:PORT]/PATH",
        "onvif://HOST[/PROFILE]", "http://HOST[:PORT]/PATH", "tcp://HOST:PORT", "-",
        "FILE.sdp", "FILE.pcapng",
      ])
  }

  /// The role that a description leads to where H.264 and H.265 can be used.
  private func role(
    description: String, number: Int? = nil
  ) throws -> UDPTransport.Role {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).sdp"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try ("v=0\n" + description).write(toFile: path, atomically: true, encoding: .utf8)
    var options = TransportOptions()
    options.media.encodings = ["H264", "H265"]
    options.media.knownEncodings = ["H264", "H265"]
    options.media.number = number
    let transport = try TransportCatalogue.standard.make(
      source: path, options: options, on: eventLoop)
    return try #require(transport as? UDPTransport).role
  }

  private static let severalVideos = """
    m=audio 5000 RTP/AVP 0
    m=video 5002 RTP/AVP 26
    m=video 5004 RTP/AVP 97
    a=rtpmap:97 VP8/90000
    m=video 5006 RTP/AVP 96
    a=rtpmap:96 h265/90000
    m=video 5008 RTP/AVP 98
    a=rtpmap:98 H264/90000
    """

  @Test func aStreamThatIsChosenIsReceivedAlone() throws {
    for (number, port) in [(3, 5006), (4, 5008)] {
      guard
        case .listener(let listening) = try role(description: Self.severalVideos, number: number)
      else { throw CancellationError() }
      #expect(listening.port == port)
    }
    #expect(throws: TransportError.noSuchMedia(number: 5)) {
      try role(description: Self.severalVideos, number: 5)
    }
    #expect(
      throws: TransportError.noUsableMedia(described: ["audio PCMU"], usable: ["H264", "H265"])
    ) { try role(description: Self.severalVideos, number: 0) }
  }

  @Test func aStreamThatOnlyRepeatsAnotherCannotBeChosen() throws {
    let description = """
      m=video 5000 RTP/AVP 96
      a=rtpmap:96 H264/90000
      m=video 5002 RTP/AVP 97
      a=rtpmap:97 rtx/90000
      a=fmtp:97 apt=96
      """
    let error = #expect(throws: TransportError.self) {
      try role(description: description, number: 1)
    }
    #expect(error == .onlyRetransmissions(number: 1))
    #expect(error?.description.contains("retransmissions") == true)
  }

  @Test(arguments: ["udp://camera:5004", "rtsp://camera/", "camera.pcapng"])
  func keysThatWereNotReadAreNotForgotten(source: String) {
    var options = TransportOptions()
    options.srtp.keySource = .file("/nowhere/keys")
    let error = #expect(throws: TransportError.self) {
      try TransportCatalogue.standard.make(source: source, options: options, on: eventLoop)
    }
    #expect(error == .source(source, .unreadKeys))
    #expect(error?.description.contains("readKeys()") == true)
  }

  @Test func ofSeveralVideosTheFirstThatCanBeUsedIsTaken() throws {
    let role = try role(description: Self.severalVideos)
    guard case .listeners(let listenings, let required) = role else { throw CancellationError() }
    #expect(listenings.map(\.port) == [5000, 5002, 5004, 5006, 5008])
    #expect(required == 3)
  }

  @Test func aVideoOfWhichTheSecondFormatCanBeUsedIsTaken() throws {
    guard
      case .listener(let listening) = try role(
        description: "m=video 5002 RTP/AVP 97 99\na=rtpmap:97 VP8/90000\na=rtpmap:99 H264/90000\n")
    else { throw CancellationError() }
    #expect(listening.port == 5002)
  }

  @Test func whatSaysNoEncodingMayBeOne() throws {
    guard
      case .listeners(let listenings, let required) = try role(
        description: "m=audio 5000 RTP/AVP 99\nm=application 5002 RTP/AVP 98\n")
    else { throw CancellationError() }
    #expect(listenings[required].port == 5002)
  }

  @Test(arguments: [
    ("m=audio 5000 RTP/AVP 0\n", ["audio PCMU"]),
    ("m=audio 5000 RTP/AVP 97\na=rtpmap:97 mpeg4-generic/48000/2\n", ["audio mpeg4-generic"]),
    ("m=video 5000 RTP/AVP 97 26\na=rtpmap:97 VP8/90000\n", ["video VP8 or JPEG"]),
    (
      "m=audio 5000 RTP/AVP 98\nm=video 5002 RTP/AVP 26\n", ["audio payload type 98", "video JPEG"]
    ),
  ])
  func aDescriptionOfSoundAloneIsRefusedAtOnce(lines: String, described: [String]) {
    let error = #expect(throws: TransportError.self) { try role(description: lines) }
    #expect(error == .noUsableMedia(described: described, usable: ["H264", "H265"]))
    #expect(error?.description.contains(described[0]) == true)
  }

  @Test func everySourceThatADescriptionNamesIsHandedOn() throws {
    guard
      case .listener(let listening) = try role(
        description: """
          c=IN IP4 232.1.2.3/16
          a=source-filter: incl IN IP4 * 192.0.2.7 192.0.2.8
          m=video 5002 RTP/AVP 96
          """)
    else { throw CancellationError() }
    #expect(listening.senders == .only(["192.0.2.7", "192.0.2.8"]))
  }

  @Test(arguments: [
    ("m=video 5002 RTP/SAVP 96", TransportError.protected(.keyMissing(profile: "RTP/SAVP"))),
    ("m=video 0 RTP/AVP 96", .nothingToReceive),
    ("hello", .sessionDescription(.notADescription)),
  ])
  func aSessionDescriptionThatCannotBeListenedForIsRefused(
    line: String, expected: TransportError
  ) throws {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).sdp"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try (line.hasPrefix("m=") ? "v=0\n\(line)\n" : line)
      .write(toFile: path, atomically: true, encoding: .utf8)
    #expect(throws: expected) { try role(path) }
  }

  @Test func aFileThatDoesNotExistIsNamed() {
    #expect(
      throws: TransportError.fileUnreadable(
        path: "/nowhere/x.sdp", reason: "No such file or directory")
    ) { try role("/nowhere/x.sdp") }
  }

  @Test(arguments: ["a.pcap", "b.PCAPNG", "c.cap", "d.rtpdump", "e.rtp4"])
  func aRecordingIsToldByItsEnding(source: String) throws {
    let transport = try TransportCatalogue.standard.make(source: source, on: eventLoop)
    #expect(transport is ReplayTransport)
    #expect(transport.clock == .recorded)
  }

  /// A recording is recognized by its first bytes, whatever its name is.
  @Test(
    arguments: [
      [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0], [0xA1, 0xB2, 0x3C, 0x4D, 0, 2, 0, 4],
      Array("#!rtpplay1.0 192.0.2.1/5004\n".utf8), [0x1F, 0x8B, 8, 0],
      Array("once upon a time".utf8), [0, 0, 0, 24] + Array("ftypisom".utf8), [],
    ] as [[UInt8]])
  func anyFileIsARecording(bytes: [UInt8]) throws {
    let file = try ReplayTransportTests.File(ByteBuffer(bytes: bytes), ending: "mp4")
    #expect(
      try TransportCatalogue.standard.make(source: file.path, on: eventLoop) is ReplayTransport)
  }

  @Test(arguments: ["v=0\r\n", "\u{FEFF}v=0\n"])
  func aSessionDescriptionIsToldByItsBeginning(start: String) throws {
    let file = try ReplayTransportTests.File(
      ByteBuffer(string: start + "m=video 5002 RTP/AVP 96\n"), ending: "txt")
    guard case .listener(let listening) = try role(file.path) else { throw CancellationError() }
    #expect(listening.port == 5002)
  }

  @Test(
    "sound beside a video that was chosen by its number is known to be left out",
    arguments: [nil, 0])
  func soundBesideChosenVideo(number: Int?) async throws {
    let file = try ReplayTransportTests.File(
      ByteBuffer(
        string: """
          v=0
          m=video 5002 RTP/AVP 96
          a=rtpmap:96 H264/90000
          m=audio 5004 RTP/AVP 0

          """), ending: "sdp")
    var options = TransportOptions()
    options.media.number = number
    let transport = try TransportCatalogue.standard.make(
      source: file.path, options: options, on: eventLoop)
    #expect(await transport.counters().leavesSoundOut == (number != nil))
  }

  @Test func aNamedPipeIsReadAsItComes() throws {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).pcap"
    #expect(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let transport = try TransportCatalogue.standard.make(source: path, on: eventLoop)
    #expect((transport as? FramedTransport)?.source == .pipeAt(path))
    #expect(transport.clock == .monotonic && transport.isPassive)
  }

  @Test func whatIsFramedIsAFileWhateverItIsCalled() throws {
    var options = TransportOptions()
    options.framed.framing = .rfc4571
    let transport = try TransportCatalogue.standard.make(
      source: "video", options: options, on: eventLoop)
    #expect(transport is ReplayTransport)
  }

  @Test func aLocalAddressIsReadInEachForm() throws {
    #expect(try UDPTransport.LocalAddress(parsing: ":5004") == .init(host: nil, port: 5004))
    #expect(
      try UDPTransport.LocalAddress(parsing: "[::1]:5004") == .init(host: "::1", port: 5004))
    #expect(throws: TransportError.source("x", .missingPort)) {
      try UDPTransport.LocalAddress(parsing: "x")
    }
  }
}
