import Impairment
import Testing

/// What quirks do to a session description.
@Suite struct QuirkyDescriptionTests {
  private static let text = """
    v=0\r
    o=- 1 1 IN IP4 127.0.0.1\r
    s=rtp-send\r
    c=IN IP4 127.0.0.1\r
    t=0 0\r
    m=video 5004 RTP/AVP 96\r
    a=rtpmap:96 H264/90000\r
    a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0IAKQ==,aM4=\r
    m=audio 5006 RTP/AVP 0\r
    a=recvonly\r
    m=audio 5008 RTP/AVP 97\r
    a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190\r

    """

  private static let quirks = Quirk.allCases.filter { $0.place == .description }

  @Test func withoutQuirksNothingChanges() {
    #expect(QuirkyDescription.apply([.padding], to: Self.text) == Self.text)
  }

  @Test(arguments: quirks) func everyQuirkShows(quirk: Quirk) {
    #expect(QuirkyDescription.apply([quirk], to: Self.text) != Self.text)
    // Nothing at all is no reason to end.
    _ = QuirkyDescription.apply([quirk], to: "")
  }

  @Test(arguments: [
    (Quirk.originInMedia, "m=audio 5008 RTP/AVP 97\r\no=- 1 1 IN IP4 127.0.0.1\r\n"),
    (.formatElsewhere, "m=audio 5008 RTP/AVP 97\r\na=fmtp:96 packetization-mode=1;"),
    (.soundModeName, "a=fmtp:97 mode=aac_hbr;sizelength=13;"),
    (.noIndexLength, "a=fmtp:97 mode=AAC-hbr;sizelength=13;config=1190\r\n"),
    (.keyExchange, "m=video 5004 RTP/AVP 96\r\na=key-mgmt:mikey AQAF"),
    (.setsWithStartCodes, "sprop-parameter-sets=AAABZ0IAKQ==,AAABaM4=\r\n"),
    (.brokenSets, "sprop-parameter-sets=AAAA,AAAA\r\n"),
    (.rateZero, "a=rtpmap:96 H264/0\r\n"), (.modeZero, "packetization-mode=0;sprop"),
    (.emptyFormat, "a=fmtp:96\r\n"), (.formatSemicolon, "aM4=;\r\n"),
    (.backChannels, "m=audio 5006 RTP/AVP 0\r\na=sendonly\r\n"),
    // 67 42 00 29 and two zeros, a start code, 68 CE.
    (.setsTogether, "sprop-parameter-sets=Z0IAKQAAAAABaM4=\r\n"),
    (.brokenConnection, "c=IN\r\nc=IN IPV4 127.0.0.1\r\nc=IN c=IN IP4 127.0.0.1\r\n"),
    (.brokenConnection, "c=IP IP4 127.0.0.1\r\nc=IN 127.0.0.1\r\nt=0 0\r\n"),
    (.oddMedia, "m=application/TP-LINK 0 RTP/AVP smart/1/90000\r\n"),
    (.oddMedia, "m=metadata 0 RTP/AVP 107\r\n"), (.oddMedia, "m=meta 0 RTP/AVP 108\r\n"),
    (.oddMedia, "m=text 0 RTP/AVP 109\r\n"),
  ])
  func itSays(quirk: Quirk, words: String) {
    let text = QuirkyDescription.apply([quirk], to: Self.text)
    #expect(text.contains(words), "\(text)")
  }
}
