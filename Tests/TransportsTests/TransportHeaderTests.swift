import Testing

@testable import Transports

struct TransportHeaderTests {
  @Test(
    arguments: [
      ("RTP/AVP/TCP;unicast;interleaved=0-1", 0, 1),
      ("RTP/AVP/TCP;unicast;interleaved=254-255;ssrc=1234ABCD;mode=\"PLAY\"", 254, 255),
      // The Escam Q6 names the wrong protocol, others name none.
      ("RTP/AVP;unicast;interleaved=0-1", 0, 1), ("interleaved=2-3", 2, 3),
      // Luckfox boards begin with the SSRC.
      ("RTP/AVP/TCP;unicast;ssrc=23D2A5B7;interleaved=0-1", 0, 1),
      ("ssrc=23D2A5B7;interleaved=0-1;RTP/AVP/TCP", 0, 1),
      // Hikvision's has a space before it; Uniden's lacks zeros, or is not a number.
      ("RTP/AVP/TCP;unicast;interleaved=0-1;ssrc= 4317f80;mode=\"play\"", 0, 1),
      ("RTP/AVP/TCP;ssrc=4F;interleaved=0-1", 0, 1),
      ("RTP/AVP/TCP;ssrc=xyz=;interleaved=0-1", 0, 1),
      ("RTP/AVP/TCP; unicast ; INTERLEAVED = 4 - 5 ;", 4, 5), ("interleaved=\"6-7\"", 6, 7),
      ("RTP/AVP/TCP;mode=\"PLAY,RECORD;x\";interleaved=0-1", 0, 1),
      ("RTP/AVP/TCP;interleaved=1-0", 1, 0), ("RTP/AVP/TCP;interleaved=3-3", 3, 3),
      ("RTP/AVP/TCP;interleaved=0-1;interleaved=8-9", 0, 1),
      ("RTP/AVP/TCP;interleaved=x;interleaved=8-9", 8, 9),
      ("RTP/AVP/TCP;interleaved=0-1,RTP/AVP;interleaved=8-9", 0, 1),
    ] as [(String, UInt8, UInt8)]
  )
  func channelsAreFoundWhereverTheyStand(text: String, media: UInt8, control: UInt8) {
    #expect(TransportHeader(text).interleaved == .init(media: media, control: control))
  }

  @Test(
    arguments: [
      ("interleaved=2", 2), ("interleaved=255-256", 255), ("interleaved=7-", 7),
      ("interleaved=7-x", 7), ("interleaved=7--8", 7), ("interleaved=7-8-9", 7),
      ("interleaved=7-99999999999999999999", 7),
    ] as [(String, UInt8)]
  )
  func aControlChannelThatCannotBeIsNone(text: String, media: UInt8) {
    #expect(TransportHeader(text).interleaved == .init(media: media, control: nil))
  }

  @Test(arguments: [
    "", " ", ";", ",", "=", ";;;===,,,", "RTP/AVP/TCP", "interleaved", "interleaved=",
    "interleaved=256-257", "interleaved=-1-0", "interleaved=-", "interleaved=+1-2",
    "interleaved=1.5", "interleaved=99999999999999999999-1", "interleaved=٣-٤",
    "RTP/AVP/TCP,interleaved=0-1",
  ])
  func channelsThatCannotBeAreNone(text: String) {
    #expect(TransportHeader(text).interleaved == nil)
  }

  @Test(
    arguments: [
      ("RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;ssrc=1", 6000, 6001),
      ("RTP/AVP;source=192.0.2.1;server_port=6000-6001;destination=192.0.2.2", 6000, 6001),
      ("server_port=6000", 6000, nil), ("server_port=65535-65536", 65_535, nil),
      ("server_port=6000-0", 6000, nil), ("server_port = 1 - 2", 1, 2),
    ] as [(String, Int, Int?)]
  )
  func portsOfTheServerAreFound(text: String, media: Int, control: Int?) {
    let header = TransportHeader(text)
    #expect(header.serverPort == .init(media: media, control: control))
    #expect(header.interleaved == nil)
  }

  @Test(arguments: ["server_port=0-1", "server_port=65536", "server_port=", "server_port=-5"])
  func aPortThatCannotBeIsNone(text: String) {
    #expect(TransportHeader(text).serverPort == nil)
  }

  @Test func aGroupHasAnAddressAndPorts() {
    let header = TransportHeader(
      "RTP/AVP;multicast;destination=232.1.2.3;port=5000-5001;ttl=127;source=192.0.2.1")
    #expect(header.destination == "232.1.2.3")
    #expect(header.port == .init(media: 5000, control: 5001))
  }

  @Test(
    arguments: [
      ("destination=[ff15::1];ttl=256", "ff15::1"),
      ("destination=\"232.1.2.3\";ttl=-1", "232.1.2.3"),
      ("destination=;ttl=", nil), ("destination=[]", nil),
      ("destination=" + String(repeating: "a", count: 256), nil),
    ] as [(String, String?)]
  )
  func whatIsOutOfRangeInAGroupIsLeftOut(text: String, destination: String?) {
    let header = TransportHeader(text)
    #expect(header.destination == destination)
  }

  @Test func aThousandTransportsCostNothing() {
    let many = Array(repeating: "RTP/AVP/TCP;unicast;interleaved=0-1", count: 1000)
    let header = TransportHeader(many.joined(separator: ","))
    #expect(header.interleaved == .init(media: 0, control: 1))
    // Beyond the limit nothing is looked at.
    let late = String(repeating: ";", count: 4096) + "interleaved=0-1"
    #expect(TransportHeader(late) == TransportHeader(""))
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func brokenFieldsNeverTrap(seed: UInt64) {
    var mutations = TextMutations(
      seed: seed,
      "RTP/AVP;unicast;ssrc= 1F;interleaved=0-255;server_port=65535-1;destination=[::1];ttl=255,a")
    for _ in 0..<300 {
      let header = TransportHeader(mutations.next())
      #expect((1...65_535).contains(header.serverPort?.media ?? 1))
      #expect((1...65_535).contains(header.serverPort?.control ?? 1))
      #expect(header.destination != "")
    }
  }
}

struct SessionHeaderTests {
  @Test(
    arguments: [
      ("12345678", "12345678", nil), ("12345678;timeout=60", "12345678", 60),
      (" 12345678 ; timeout = 60 ", "12345678", 60), ("a;TIMEOUT=5", "a", 5),
      ("a;x=1;timeout=5", "a", 5), ("a;timeout=60s", "a", 60), ("a;timeout=\"60\"", "a", 60),
      ("a;timeout=60,", "a", 60), ("a;;timeout=60;", "a", 60), ("a;timeout=x;timeout=7", "a", 7),
      ("a;timeout=0", "a", 0), ("a;timeout=-1", "a", nil), ("a;timeout=", "a", nil),
      ("a;timeout", "a", nil), ("a;timeout=99999999999999999999", "a", nil),
      ("a timeout=60", "a", nil), ("a/b+c=$-_.", "a/b+c=$-_.", nil),
    ] as [(String, String, Int?)]
  )
  func identifierAndTimeoutAreFound(text: String, identifier: String, timeout: Int?) {
    let header = SessionHeader(text)
    #expect(header?.identifier == identifier)
    #expect(header?.timeout == timeout)
  }

  @Test(arguments: ["", " ", ";", ";timeout=60", " ;timeout=60", " \t;a"])
  func withoutAnIdentifierThereIsNoSession(text: String) {
    #expect(SessionHeader(text) == nil)
  }

  @Test func anIdentifierHasALimit() {
    let longest = String(repeating: "a", count: 1024)
    #expect(SessionHeader(longest)?.identifier == longest)
    #expect(SessionHeader(longest + "a") == nil)
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func brokenFieldsNeverTrap(seed: UInt64) {
    var mutations = TextMutations(seed: seed, " 0123456789abcdef ; timeout=60;x=\"y\"")
    for _ in 0..<300 {
      guard let header = SessionHeader(mutations.next()) else { continue }
      #expect(!header.identifier.isEmpty)
      #expect((header.timeout ?? 0) >= 0)
    }
  }
}
