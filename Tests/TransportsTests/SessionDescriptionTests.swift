import Foundation
import RTPWire
import TestSupport
import Testing

@testable import Transports

struct SessionDescriptionTests {
  private func parse(_ text: String) throws -> SessionDescription {
    try SessionDescription(parsing: Array(text.utf8))
  }

  /// The only media section of a description with the given lines.
  private func media(_ lines: String...) throws -> SessionDescription.Media { try media(lines) }

  private func media(_ lines: [String]) throws -> SessionDescription.Media {
    let session = try parse((["v=0"] + lines).joined(separator: "\r\n") + "\r\n")
    #expect(session.media.count == 1)
    return try #require(session.media.first)
  }

  @Test func whatFFmpegWritesIsUnderstood() throws {
    let session = try parse(
      """
      v=0
      o=- 0 0 IN IP4 127.0.0.1
      s=No Name
      c=IN IP4 127.0.0.1
      t=0 0
      a=tool:libavformat 59.27.100
      m=video 5004 RTP/AVP 96
      a=rtpmap:96 H264/90000
      a=fmtp:96 packetization-mode=1; sprop-parameter-sets=Z0LAHtkD,aMuMsg==; \
      profile-level-id=42C01E
      """)
    let media = try #require(session.media.first)
    #expect(session.diagnostics.isEmpty)
    #expect(media.port == 5004)
    #expect(media.connection?.address == "127.0.0.1")
    #expect(
      media.description
        == MediaDescription(
          payloadType: 96, encodingName: "H264", clockRate: 90_000,
          formatParameters: [
            "packetization-mode": "1", "sprop-parameter-sets": "Z0LAHtkD,aMuMsg==",
            "profile-level-id": "42C01E",
          ]))
  }

  @Test func anRTSPServersDescriptionOfTwoTracksIsUnderstood() throws {
    let session = try parse(
      """
      v=0
      o=- 1642021126 1642021126 IN IP4 34.227.104.115
      s=BigBuckBunny_115k.mov
      c=IN IP4 34.227.104.115
      t=0 0
      a=sdplang:en
      a=control:*
      m=audio 0 RTP/AVP 96
      a=rtpmap:96 mpeg4-generic/12000/2
      a=fmtp:96 profile-level-id=1;mode=AAC-hbr;config=1490
      a=control:trackID=1
      m=video 0 RTP/AVP 97
      a=rtpmap:97 H264/90000
      a=fmtp:97 packetization-mode=1;sprop-parameter-sets=Z0LAHtkDxWg=,aMuMsg==
      a=control:trackID=2
      """)
    #expect(session.control == "*")
    #expect(session.media.map(\.control) == ["trackID=1", "trackID=2"])
    #expect(session.media.map(\.kind) == [.audio, .video])
    #expect(session.media[0].description.clockRate == 12_000)
    #expect(session.media[1].description.encodingName == "H264")
    #expect(throws: TransportError.nothingToReceive) { try session.mediaToReceive() }
  }

  @Test(arguments: ["\r\n", "\n", "\r", "\n\n", " \r\n"])
  func linesMayEndInAnyWay(ending: String) throws {
    let lines = [
      "v=0", "o=- 0 0 IN IP4 192.0.2.1", "m=video 5004 RTP/AVP 96", "a=rtpmap:96 H265/90000",
    ]
    let session = try parse(lines.map { $0 + ending }.joined())
    #expect(session.media.first?.description.encodingName == "H265")
    #expect(session.media.first?.payloadTypes == [96])
  }

  // MARK: Connections

  @Test func aGroupMayBeTheSectionsAndItsTimeToLiveIsNoPartOfIt() throws {
    let media = try media(
      "c=IN IP4 192.0.2.1", "m=video 5004/2 RTP/AVP 96", "c=IN IP4 232.1.2.3/127/2",
      "a=source-filter: incl IN IP4 232.1.2.3 192.0.2.10 192.0.2.11",
      "a=rtcp:5010 IN IP4 192.0.2.1",
      "a=rtcp-mux")
    #expect(media.connection == .init(address: "232.1.2.3"))
    #expect(media.port == 5004)
    #expect(media.sourceFilters.first?.sources == ["192.0.2.10", "192.0.2.11"])
    #expect(media.controlPort == 5010)
    #expect(media.isControlMultiplexed)
  }

  @Test(arguments: [
    (["incl IN IP4 * 192.0.2.1 192.0.2.2"], SenderFilter?.some(.only(["192.0.2.1", "192.0.2.2"]))),
    (
      ["incl IN IP4 * 192.0.2.1", "incl IN IP4 232.1.2.3 192.0.2.2"],
      .only(["192.0.2.1", "192.0.2.2"])
    ),
    (["excl IN IP4 * 192.0.2.9"], .allBut(["192.0.2.9"])),
    (["EXCL IN IP4 232.1.2.3 192.0.2.9 192.0.2.8"], .allBut(["192.0.2.9", "192.0.2.8"])),
    (["incl IN IP4 * 192.0.2.1 192.0.2.9", "excl IN IP4 * 192.0.2.9"], .only(["192.0.2.1"])),
    (["incl IN IP4 232.9.9.9 192.0.2.1"], nil), ([], nil), (["only IN IP4 * 192.0.2.1"], nil),
  ])
  func whoMaySendIsWhatTheFiltersOfTheAddressSay(filters: [String], senders: SenderFilter?) throws {
    let lines = filters.map { "a=source-filter: \($0)" }
    let own = try media(["c=IN IP4 232.1.2.3", "m=video 5004 RTP/AVP 96"] + lines)
    #expect(own.senders == senders)
    let inherited = try media(["c=IN IP4 232.1.2.3"] + lines + ["m=video 5004 RTP/AVP 96"])
    #expect(inherited.senders == senders)
  }

  @Test func filtersWithoutEndAreBounded() throws {
    let many = (0..<100).map { " 192.0.2.\($0 % 256)" }.joined()
    let line = "a=source-filter: incl IN IP4 *\(many)"
    let media = try media(
      ["c=IN IP4 232.1.2.3", "m=video 5004 RTP/AVP 96"] + Array(repeating: line, count: 80))
    #expect(media.sourceFilters.count == 64)
    #expect(media.sourceFilters.allSatisfy { $0.sources.count == 64 })
  }

  @Test func theCountOfIPv6GroupsIsNoPartOfTheFirst() throws {
    let media = try media("c=IN IP6 FF15::101/3", "m=video 5004 RTP/AVP 96")
    #expect(media.connection == .init(address: "FF15::101"))
  }

  @Test(arguments: [
    ("c=IN", nil), ("c=IN IP4", nil), ("c=", nil), ("c=   ", nil), ("c=IN IP4 /", nil),
    ("c=IN IPV4 192.0.2.1", "192.0.2.1"), ("c=IN c=IN IP4 192.0.2.1", "192.0.2.1"),
    ("c=IP IP4 192.0.2.1", "192.0.2.1"), ("c=IN 192.0.2.1", "192.0.2.1"),
    ("c=192.0.2.1", "192.0.2.1"),
  ])
  func aBrokenConnectionOfUniviewVurixAltasecOrVerintIsReadAsFarAsItGoes(
    line: String, address: String?
  ) throws {
    let session = try parse("v=0\no=-\n\(line)\nm=video 5004 RTP/AVP 96\n")
    #expect(session.media.first?.connection?.address == address)
    #expect(session.diagnostics == [.invalidConnection])
  }

  // MARK: Deviations

  @Test func aCameraThatLeavesTheOriginOutIsUnderstood() throws {
    let session = try parse("v=0\ns=x\nt=0 0\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n")
    #expect(session.media.count == 1)
    #expect(session.diagnostics == [.missingOrigin])
  }

  /// Names are shown to people, on terminals too.
  @Test func namesControlNoTerminal() throws {
    let session = try parse(
      "v=0\no=- 0 0 IN IP4 192.0.2.1\ns=x\nt=0 0\nm=vi\u{1B}deo 0 RTP/AVP 96\n"
        + "a=rtpmap:96 H\u{1B}]0;x\u{7}\u{202E}264/90000\n")
    let text = session.media.map { "\($0.kind.rawValue) \($0.description.encodingName ?? "")" }
      .joined()
    #expect(text.contains("264"))
    #expect(!text.unicodeScalars.contains { "\u{1B}\u{7}\u{202E}".unicodeScalars.contains($0) })
  }

  @Test func anOriginInsideASectionIsTolerated() throws {
    let session = try parse("v=0\nm=video 0 RTP/AVP 96\no=- 0 0 IN IP4 192.0.2.1\n")
    #expect(session.diagnostics == [.misplacedOrigin])
  }

  @Test(arguments: ["t=now-", "t=", "t=0", "t=-1 0", "t=99999999999999999999999 0"])
  func timingOfFLIRCamerasIsTolerated(line: String) throws {
    let session = try parse("v=0\no=-\n\(line)\nm=video 0 RTP/AVP 96\n")
    #expect(session.media.count == 1)
    #expect(session.diagnostics == [.invalidTiming])
  }

  @Test(arguments: [
    "m=application/TP-LINK 0 RTP/AVP smart/1/90000", "m=metadata 0 RTP/AVP", "m=meta", "m=",
    "m=text 0",
    "m=video 65536 RTP/AVP 96", "m=video -1 RTP/AVP 96", "m=video x RTP/AVP 96",
    "m=video / RTP/AVP 96", "m=video 0 RTP/AVP 128", "m=video 0 RTP/AVP 999",
  ])
  func aSectionThatDoesNotParseIsIgnoredWithItsAttributes(line: String) throws {
    let session = try parse(
      """
      v=0
      o=-
      m=video 5004 RTP/AVP 96
      a=rtpmap:96 H264/90000
      \(line)
      a=rtpmap:96 JUNK/1
      a=control:junk
      c=IN IP4 203.0.113.1
      """)
    #expect(session.media.count == 1)
    #expect(session.media.first?.description.encodingName == "H264")
    #expect(session.media.first?.control == nil)
    #expect(session.media.first?.connection == nil)
    #expect(session.diagnostics.contains(.ignoredMedia))
  }

  @Test(arguments: ["a=fmtp:96", "a=fmtp:96 ", "a=fmtp:96  "])
  func theEmptyFormatParametersOfUbiquitiAreIgnored(line: String) throws {
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 96\n\(line)\n")
    #expect(session.media.first?.description.formatParameters == [:])
    #expect(session.diagnostics == [.emptyFormatParameters])
  }

  @Test func spacesAroundTheRTPMapOfMacroVideoAreIgnored() throws {
    let media = try media("m=video 0 RTP/AVP 96 ", "a=rtpmap:96  H264/90000 \t ")
    #expect(media.description.encodingName == "H264")
    #expect(media.description.clockRate == 90_000)
  }

  @Test func formatParametersAtTheEndOfAnotherTrackAreFound() throws {
    let session = try parse(
      """
      v=0
      o=-
      m=video 0 RTP/AVP 96
      a=rtpmap:96 H264/90000
      m=audio 0 RTP/AVP 8
      a=fmtp:96 packetization-mode=1
      """)
    #expect(session.media.first?.description.formatParameters == ["packetization-mode": "1"])
    #expect(session.diagnostics == [.formatParametersElsewhere(payloadType: 96)])
  }

  @Test(arguments: [
    "H264/0", "H264", "H264/", "H264/-90000", "H264/2147483648", "H264/x", "H264/99999999999999",
  ])
  func aClockRateThatCannotBeIsReplaced(map: String) throws {
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 96\na=rtpmap:96 \(map)\n")
    #expect(session.media.first?.description.clockRate == 90_000)
    #expect(session.media.first?.description.encodingName == "H264")
    #expect(session.diagnostics == [.invalidClockRate(payloadType: 96)])
  }

  @Test func boschCamerasUsePayloadType35ForH264() throws {
    let media = try media("m=video 0 RTP/AVP 35", "a=rtpmap:35 H264/90000")
    #expect(media.description.payloadType == 35)
    #expect(media.description.encodingName == "H264")
  }

  @Test func aTypeOutOfRangeIsPassedOverForTheNext() throws {
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 200 97\na=rtpmap:97 H265/90000\n")
    #expect(session.media.first?.payloadTypes == [97])
    #expect(session.diagnostics == [.invalidPayloadType])
  }

  @Test func retransmissionIsNotTheMedia() throws {
    let media = try media(
      "m=video 0 RTP/AVP 97 98 96", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96",
      "a=rtpmap:98 ulpfec/90000", "a=rtpmap:96 H264/90000")
    #expect(media.description.payloadType == 96)
  }

  @Test func whatCorrectsTheMediaIsNotTheMedia() throws {
    let media = try media(
      "m=video 0 RTP/AVP 100 101 102 96", "a=rtpmap:100 red/90000", "a=rtpmap:101 ULPFEC/90000",
      "a=rtpmap:102 flexfec-03/90000", "a=rtpmap:96 H264/90000", "a=rtpmap:103 red/90000")
    #expect(media.description.payloadType == 96)
    #expect(media.description.redundancyPayloadType == 100)
    #expect(media.description.correctionFormats == [101: .ulpfec, 102: .flexfecDraft])
  }

  private static let severalFormats = [
    "m=video 25104 RTP/AVPF 97 98 99 100 26", "a=rtpmap:97 VP8/90000", "a=rtpmap:98 rtx/90000",
    "a=fmtp:98 apt=97", "a=rtpmap:99 H264/90000", "a=fmtp:99 packetization-mode=1",
    "a=rtcp-fb:99 nack pli", "a=rtpmap:100 rtx/90000", "a=fmtp:100 apt=99",
  ]

  /// Any of the formats may be used (RFC 8866 §5.14).
  @Test(
    arguments: [
      (["H264", "H265"], nil, 99), (["H265"], nil, 97), ([], nil, 97), (["H264"], 26, 26),
      (["H264"], 33, 99),
    ] as [(Set<String>, UInt8?, UInt8)])
  func ofSeveralFormatsTheFirstThatIsKnownIsUsed(
    known: Set<String>, asked: UInt8?, used: UInt8
  ) throws {
    var choice = MediaChoice()
    (choice.knownEncodings, choice.payloadType) = (known, asked)
    let lines = (["v=0", "o=-"] + Self.severalFormats).joined(separator: "\n")
    let session = try parse(lines).choosing(by: choice)
    let media = try #require(session.media.first)
    #expect(media.formats.map(\.payloadType) == [97, 99, 26])
    #expect(media.description.payloadType == used)
    // Who asks for a type wants no other.
    #expect(media.description.otherTypes == (used == 99 ? [97, 26] : []))
    #expect(media.description.encodingName == [97: "VP8", 99: "H264", 26: "JPEG"][used])
    let parameters = used == 99 ? ["packetization-mode": "1"] : [:]
    #expect(media.description.formatParameters == parameters)
    #expect(media.description.feedback.requests == [97: [.nack], 99: [.nack, .pli]][used] ?? [])
    let isUnknown = known == ["H265"]
    #expect(media.description.encodingNames.map { $0.contains(" or ") } == isUnknown)
    if isUnknown { #expect(media.description.encodingNames == "VP8 or H264 or JPEG") }
  }

  @Test func anAssignedTypeNeedsNoMap() throws {
    let media = try media("m=video 0 RTP/AVP 26")
    #expect(media.description.encodingName == "JPEG")
  }

  @Test func bytesThatAreNotTextAreTolerated() throws {
    var bytes = Array("v=0\no=-\ns=".utf8) + [0xFF, 0xFE, 0x0A]
    bytes += Array("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 a=".utf8)
    bytes += [0xC0, 0x80, 0x0A]
    let session = try SessionDescription(parsing: bytes)
    #expect(session.media.first?.description.formatParameters.keys.sorted() == ["a"])
    #expect(session.diagnostics == [.invalidText])
  }

  @Test(arguments: [
    "a=fmtp:96 x\0y=1", "a=rtpmap:96 H\0265/90000", "a=crypto:1\0", "b=\0", "\0", "r=\0",
    "m=au\0dio 0 RTP/AVP 0",
  ])
  func aLineWithANULIsIgnored(line: String) throws {
    let session = try parse(
      "v=0\no=-\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n\(line)\na=control:x\n")
    #expect(session.media.count == 1)
    #expect(session.media.first?.description.encodingName == "H264")
    #expect(session.diagnostics.contains(.nulByte))
  }

  @Test(arguments: [
    "o=0 0 0.5 IN IP4 192.0.2.1", "o=- 1.5e9 1 IN IP4 192.0.2.1", "o=camera x y", "o=",
    "o=- 99999999999999999999999 1 IN IP4 192.0.2.1", "o=- -1 -1 IN IP4 192.0.2.1",
  ])
  func anOriginWithDecimalsOrTextIsTolerated(line: String) throws {
    let session = try parse("v=0\n\(line)\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n")
    #expect(session.media.first?.description.encodingName == "H264")
    #expect(session.diagnostics.isEmpty)
  }

  @Test(arguments: ["m=smart/1/90000", "m=application/TP-LINK RTP/AVP smart/1/90000", "m=text"])
  func whatIsNoMediaBeforeTheVideoIsPassedOver(line: String) throws {
    let session = try parse(
      "v=0\no=-\n\(line)\na=control:x\nm=video 0 RTP/AVP 96\na=control:y\n")
    #expect(session.media.map(\.control) == ["y"])
  }

  @Test func parameterSetsAreKeptAsVStarcamAndRevotechWriteThem() throws {
    // One with a start code before the sequence parameter set, one that is not base64.
    for sets in ["AAAAAWdCwB7ZAw==,aMuMsg==", "!!,,==", ""] {
      let media = try media("m=video 0 RTP/AVP 96", "a=fmtp:96 sprop-parameter-sets=\(sets)")
      #expect(media.description.formatParameters["sprop-parameter-sets"] == sets)
    }
  }

  /// VStarcam cameras.
  @Test func tabsAreSpaces() throws {
    let media = try media("m=audio 0 RTP/AVP 8\t ", "a=rtpmap:8 PCMA/8000", "a=rtcp-mux\t")
    #expect(media.payloadTypes == [8] && media.isControlMultiplexed)
  }

  /// Anpviz cameras send G.711 all the same.
  @Test(
    arguments: [
      ("m=audio 0 RTP/AVP 0", "a=rtpmap:0 MPEG4-GENERIC/16000/2", "PCMU", 8000),
      ("m=audio 0 RTP/AVP 8", "a=rtpmap:8 PCMA/16000", "PCMA", 16_000),
      ("m=audio 0 RTP/AVP 11", "a=rtpmap:11 L16/16000", "L16", 16_000),
      ("m=video 0 RTP/AVP 0", "a=rtpmap:0 H264/90000", "H264", 90_000),
    ] as [(String, String, String, UInt32)])
  func aStaticTypeOfSoundIsWhatItIsEverywhere(
    line: String, map: String, name: String, rate: UInt32
  ) throws {
    let media = try media(line, map)
    #expect(media.description.encodingName == name)
    #expect(media.description.clockRate == rate)
    #expect(media.description.channels ?? 1 == 1)
  }

  // MARK: Back channels

  @Test func aSectionForWhatAClientSendsIsABackChannel() throws {
    let session = try parse(
      """
      v=0
      o=-
      m=audio 0 RTP/AVP 0
      a=sendonly
      m=video 0 RTP/AVP 96
      a=recvonly
      m=audio 0 RTP/AVP 8
      a=sendrecv
      m=application 0 RTP/AVP 107
      a=inactive
      m=audio 0 RTP/AVP 9
      """)
    #expect(session.media.map(\.isBackChannel) == [true, false, false, false, false])
    #expect(session.index(of: .firstVideo) == 1)
  }

  /// Only what can be used must not fail.
  @Test(
    arguments: [
      (["H264", "H265"], 1), ([], 0), (["H265"], 0), (["JPEG"], 0),
    ] as [(Set<String>, Int)])
  func aDeviceThatDescribesJPEGBeforeH264(_ known: Set<String>, selected: Int) throws {
    let session = try parse(
      "v=0\no=-\nm=video 0 RTP/AVP 26\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n")
    #expect(session.index(of: .everything, preferring: known) == selected)
    #expect(session.index(of: .firstVideo, preferring: known) == selected)
  }

  @Test func aDeviceThatMarksAllItsStreamsMeansItself() throws {
    let session = try parse(
      "v=0\no=-\nm=video 0 RTP/AVP 96\na=sendonly\nm=audio 0 RTP/AVP 0\na=sendonly\n")
    #expect(session.media.map(\.isBackChannel) == [false, false])
    #expect(session.index(of: .firstVideo) == 0)
  }

  /// D-Link's DCS-2630L, and what a camera with metadata would write.
  @Test(arguments: [
    "m=audio 0 RTP/AVP 127\na=rtpmap:127 mpeg4-generic/8000/1", "m=application 0 RTP/AVP 107",
  ])
  func aDeviceThatMarksItsVideoMeansItself(other: String) throws {
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 99\na=sendonly\n\(other)\n")
    #expect(session.media.map(\.isBackChannel) == [false, false])
    #expect(session.index(of: .firstVideo) == 0)
  }

  @Test func theWholeSessionIsNoBackChannel() throws {
    let session = try parse("v=0\no=-\na=sendonly\nm=video 0 RTP/AVP 96\nm=audio 0 RTP/AVP 0\n")
    #expect(session.media.map(\.isBackChannel) == [false, false])
  }

  // MARK: Limits

  @Test func thirtyThousandAttributesAreRefused() {
    let text = String(repeating: "a=d\r\n", count: 30_000)
    #expect(throws: SessionDescriptionError.self) { try parse("v=0\r\n" + text) }
    let short = String(repeating: "a=d\n", count: 30_000)
    #expect(throws: SessionDescriptionError.tooManyLines(count: 30_001, limit: 2000)) {
      try parse("v=0\n" + short)
    }
  }

  @Test func tenThousandSectionsAreRefused() {
    #expect(throws: SessionDescriptionError.tooLong(count: 210_000, limit: 131_072)) {
      try parse(String(repeating: "m=video 0 RTP/AVP 96\n", count: 10_000))
    }
    #expect(throws: SessionDescriptionError.tooManyLines(count: 10_000, limit: 2000)) {
      try parse(String(repeating: "m=\n", count: 10_000))
    }
    #expect(throws: SessionDescriptionError.tooManyMedia(limit: 64)) {
      try parse(String(repeating: "m=\n", count: 65))
    }
  }

  @Test func whatIsNotADescriptionIsRefused() {
    for text in ["", "\n\n", "hello", "<html>", "a=b", String(repeating: "x", count: 100_000)] {
      #expect(throws: SessionDescriptionError.notADescription) { try parse(text) }
    }
  }

  @Test(arguments: [
    "v=", "o=", "s=", "i=", "c=", "b=", "t=", "r=", "z=", "k=", "a=", "a=rtpmap:96 ", "a=fmtp:96 ",
    "a=crypto:1 ", "a=control:", "a=source-filter: incl IN IP4 * ", "m=audio 0 RTP/AVP ",
  ])
  func aHostileFieldLeavesTheVideoAsItIs(field: String) throws {
    for value in [[], [0x78], [0xFF, 0xC0, 0x80], [UInt8](repeating: 0x41, count: 64 << 10)] {
      var bytes = Array("v=0\no=-\nm=video 0 RTP/AVP 97\na=rtpmap:97 H265/90000\n".utf8)
      bytes += Array(field.utf8) + value + [0x0A]
      let session = try SessionDescription(parsing: bytes)
      #expect(session.media.first?.description.encodingName == "H265")
      #expect(session.media.first?.payloadTypes == [97])
    }
  }

  @Test func hostileFieldsOfEachKindEndQuickly() throws {
    let long = String(repeating: "9", count: 64 << 10)
    let parameters = String(repeating: "a=b;", count: 16 << 10)
    let lists = String(repeating: "96 ", count: 20_000)
    let clock = ContinuousClock()
    let time = try clock.measure {
      for field in [
        "v", "o", "s", "c", "b", "t", "r", "z", "k", "m", "a", "a=rtpmap:", "a=fmtp:96 ", "a=rtcp:",
      ] {
        for value in ["", "x", long, parameters, lists, "0 " + long, "video 0 RTP/AVP " + lists] {
          let prefix = field.contains("=") ? field : field + "="
          _ = try parse("v=0\nm=video 0 RTP/AVP 96\n\(prefix)\(value)\n")
        }
      }
    }
    // 98 descriptions; a debug build takes some ten times as long as a release.
    #expect(time < .seconds(10))
  }

  @Test func feedbackAndRetransmissionAreUnderstood() throws {
    // As GStreamer's server with the profile AVPF and browsers write it.
    let media = try parse(
      """
      v=0
      o=-
      m=video 0 RTP/AVPF 96 97 98 99
      a=rtcp-rsize
      a=rtpmap:96 H264/90000
      a=rtcp-fb:96 nack
      a=rtcp-fb:* nack pli
      a=rtcp-fb:98 ccm fir
      a=rtcp-fb:96 transport-cc
      a=rtcp-fb:999 nack
      a=rtcp-fb
      a=rtpmap:97 rtx/90000
      a=fmtp:97 apt=96;rtx-time=700
      a=rtpmap:98 H264/90000
      a=rtpmap:99 RTX/90000
      a=fmtp:99 apt=98

      """
    ).media.first?.description
    #expect(media?.payloadType == 96)
    #expect(media?.feedback == FeedbackOffer([.nack, .pli], acceptsReducedSize: true))
    #expect(
      media?.retransmissionFormats == [
        97: RetransmissionFormat(original: 96, time: .milliseconds(700)),
        99: RetransmissionFormat(original: 98),
      ])
  }

  @Test(arguments: ["RTP/AVPF", "RTP/SAVPF", "RTP/AVPF/UDP", "RTP/AVP"])
  func whoSendsAgainUnderAFeedbackProfileMayBeAsked(profile: String) throws {
    let session = try parse(
      "v=0\no=-\nm=video 0 \(profile) 96 97\na=rtpmap:96 H264/90000\n"
        + "a=rtpmap:97 rtx/90000\na=fmtp:97 apt=96;rtx-time=1000\n")
    let feedback = session.media.first?.description.feedback
    #expect(feedback?.requests == (profile == "RTP/AVP" ? [] : [.nack]))
  }

  @Test(arguments: ["", "a=fmtp:97 apt=", "a=fmtp:97 apt=128", "a=fmtp:97 apt=x;rtx-time=-1"])
  func retransmissionOfNothingIsNone(line: String) throws {
    let session = try parse(
      "v=0\no=-\nm=video 0 RTP/AVPF 96 97\na=rtpmap:96 H264/90000\n"
        + "a=rtpmap:97 rtx/90000\n\(line)\n")
    #expect(session.media.first?.description.retransmissionFormats == [:])
    #expect(session.media.first?.description.payloadType == 96)
  }

  /// RFC 4588 §8.6, but for the codec.
  private static let retransmissionSession = """
    v=0
    o=mascha 2980675221 2980675778 IN IP4 host.example.net
    c=IN IP4 192.0.2.0
    a=group:FID 1 2
    a=group:FID 3 4
    m=video 49170 RTP/AVPF 96
    a=rtpmap:96 H264/90000
    a=rtcp-fb:96 nack
    a=mid:1
    m=video 49172 RTP/AVPF 97
    a=rtpmap:97 rtx/90000
    a=fmtp:97 apt=96;rtx-time=3000
    a=mid:2

    """

  @Test func aSessionOfRetransmissionsBelongsToItsMedia() throws {
    let session = try parse(Self.retransmissionSession)
    let format = RetransmissionFormat(original: 96, time: .seconds(3))
    #expect(session.media.map(\.retransmission) == [1, nil])
    #expect(session.media.map(\.isRetransmission) == [false, true])
    #expect(session.media[0].description.retransmissionSession == [97: format])
    #expect(session.media[0].description.retransmissionFormats == [:])
    #expect(try session.mediaToReceive() == 0)
    #expect(session.retransmissionPort(ofMedia: 0) == 49_172)
    #expect(session.index(of: .firstVideo) == 0)
  }

  @Test(
    "what does not belong together is not joined, and is not played by itself",
    arguments: [
      ("a=mid:2", "a=mid:5"), ("FID 1 2", "FID 1"), ("FID 1 2", "BUNDLE 1 2"),
      ("FID 1 2", "FID 2 2"),
      ("97\na=rtpmap:97 rtx", "97\na=rtpmap:97 H264"),
      ("49172 RTP/AVPF", "49172 RTP/SAVPF"),
      (
        "a=mid:1",
        "a=mid:1\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:"
          + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
      ),
    ])
  func unjoined(old: String, new: String) throws {
    let session = try parse(Self.retransmissionSession.replacingOccurrences(of: old, with: new))
    #expect(session.media.map(\.retransmission) == [nil, nil])
    #expect(session.media[0].description.retransmissionSession == nil)
    #expect(try session.mediaToReceive() == 0)
  }

  @Test func onOnePortItIsOneSession() throws {
    let session = try parse(
      Self.retransmissionSession.replacingOccurrences(of: "49172", with: "49170"))
    let format = RetransmissionFormat(original: 96, time: .seconds(3))
    #expect(session.media.map(\.retransmission) == [nil, nil])
    #expect(session.media[0].description.retransmissionFormats == [97: format])
    #expect(session.media[0].description.retransmissionSession == nil)
  }

  @Test func retransmissionsMayStandFirst() throws {
    let lines = Self.retransmissionSession.split(separator: "\n").map(String.init)
    let text = (lines[..<5] + lines[9...] + lines[5..<9]).joined(separator: "\n") + "\n"
    let session = try parse(text)
    #expect(session.media.map(\.retransmission) == [nil, 0])
    #expect(try session.mediaToReceive() == 1)
    #expect(session.index(of: .firstVideo) == 1)
  }

  @Test func retransmissionsOnAnotherAddressAreNotListenedFor() throws {
    let session = try parse(
      Self.retransmissionSession.replacingOccurrences(
        of: "97\na=rtpmap", with: "97\nc=IN IP4 192.0.2.7\na=rtpmap"))
    #expect(session.retransmissionPort(ofMedia: 0) == nil)
  }

  @Test func formatParametersAreBounded() throws {
    let many = (0..<1000).map { "k\($0)=v" }.joined(separator: ";")
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 96\na=fmtp:96 \(many)\n")
    #expect(session.media.first?.description.formatParameters.count == 128)
    #expect(session.diagnostics == [.tooManyFormatParameters])
  }

  @Test func aFormatParameterThatIsRepeatedCountsEachTime() throws {
    let many = String(repeating: "a=v;", count: 128)
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 96\na=fmtp:96 \(many)b=w\n")
    #expect(session.media.first?.description.formatParameters == ["a": "v"])
    #expect(session.diagnostics == [.tooManyFormatParameters])
  }

  /// 8 KiB before the last one, and a byte more.
  @Test(arguments: [(8186, ["a", "b"]), (8187, ["a"])])
  func formatParametersBeyondTheirLengthAreIgnored(count: Int, keys: [String]) throws {
    let long = "a=1;b=" + String(repeating: "x", count: count)
    let session = try parse("v=0\no=-\nm=video 0 RTP/AVP 96\na=fmtp:96 \(long);c=1\n")
    let parameters = try #require(session.media.first?.description.formatParameters)
    #expect(parameters.keys.sorted() == keys)
    #expect(session.diagnostics == [.tooManyFormatParameters])
  }

  /// However many sections use them.
  @Test func formatParametersAreReadOnce() throws {
    var parser = SessionDescriptionParser()
    for line in ["m=video 0 RTP/AVP 96", "a=fmtp:96 a=b=;c", "a=fmtp:96 d=e"] {
      try parser.read(Array(line.utf8)[...])
    }
    #expect(parser.sections.first?.parameters == [96: ["a": "b=", "c": ""]])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func brokenDescriptionsNeverTrap(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let lines = [
      "v=0", "o=- 0 0 IN IP4 127.0.0.1", "c=IN IP4 232.1.2.3/127/2", "t=0 0", "a=control:*",
      "m=video 5004/2 RTP/AVP 96 97", "a=rtpmap:96 H264/90000", "a=rtpmap:97 rtx/90000",
      "a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAHtkD,aMuMsg==", "a=rtcp:5005",
      "a=source-filter: incl IN IP4 * 192.0.2.1", "a=rtcp-fb:96 nack pli", "a=fmtp:97 apt=96",
      "m=audio 0 RTP/AVP 8", "a=fmtp:96 a=b", "",
    ]
    let whole = Array(lines.joined(separator: "\r\n").utf8)
    for _ in 0..<200 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(contentsOf: bytes[..<at], at: at)
        default: bytes.removeSubrange(at...)
        }
        if bytes.isEmpty { bytes = whole }
      }
      guard let session = try? SessionDescription(parsing: bytes) else { continue }
      #expect(session.media.count <= SessionDescription.maximumMedia)
      for media in session.media {
        #expect((0...65_535).contains(media.port))
        #expect(media.description.clockRate > 0)
        #expect(media.payloadTypes.allSatisfy { $0 <= 127 })
      }
    }
  }
}
