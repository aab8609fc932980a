import Testing

@testable import Transports

struct RTPInfoTests {
  @Test(
    arguments: [
      ("url=rtsp://c/a;seq=1;rtptime=2", "rtsp://c/a", 1, 2),
      ("url=rtsp://c/a;rtptime=2;seq=1", "rtsp://c/a", 1, 2), ("seq=1;rtptime=2", nil, 1, 2),
      (" URL = rtsp://c/a ; Seq = 1 ; RTPtime = 2 ", "rtsp://c/a", 1, 2),
      ("url=\"rtsp://c/a\";seq=1", "rtsp://c/a", 1, nil),
      // Laureii cameras end with a semicolon, OMNY's M5S2A has negative timestamps.
      ("url=a;seq=1;rtptime=2;", "a", 1, 2), ("url=a;seq=1;rtptime=-2", "a", 1, nil),
      ("url=a;seq=65535;rtptime=4294967295", "a", 65_535, 4_294_967_295),
      ("url=a;seq=65536;rtptime=4294967296", "a", nil, nil),
      ("url=a;seq=;rtptime=x", "a", nil, nil), ("url=a;seq=99999999999999999999", "a", nil, nil),
      ("url=a", "a", nil, nil), ("url=;seq=3", "", 3, nil),
      // Nothing forbids what divides the field in a URL.
      ("url=rtsp://c/a;b=c/d,e?f=g;h;seq=1;rtptime=2", "rtsp://c/a;b=c/d,e?f=g;h", 1, 2),
    ] as [(String, String?, UInt16?, UInt32?)]
  )
  func anEntryIsTakenApart(text: String, url: String?, number: UInt16?, timestamp: UInt32?) throws {
    let entries = RTPInfo.parse(text)
    #expect(entries.count == 1)
    let entry = try #require(entries.first)
    #expect(entry.url == url)
    #expect(entry.sequenceNumber == number)
    #expect(entry.timestamp == timestamp)
  }

  @Test func severalStreamsHaveAnEntryEach() {
    let entries = RTPInfo.parse("url=rtsp://c/a,b;seq=1;rtptime=2, url=rtsp://c/c;seq=3,url=d")
    #expect(entries.map(\.url) == ["rtsp://c/a,b", "rtsp://c/c", "d"])
    #expect(entries.map(\.sequenceNumber) == [1, 3, nil])
    #expect(entries.map(\.timestamp) == [2, nil, nil])
  }

  @Test func aFieldIsBounded() {
    #expect(RTPInfo.parse(String(repeating: "url=a,", count: 1000)).count == 64)
    #expect(RTPInfo.parse("url=a" + String(repeating: ";", count: 9000) + "seq=1").count == 1)
    #expect(RTPInfo.parse("").isEmpty)
  }

  @Test(
    arguments: [
      ("rtsp://c/live/track1", "rtsp://c/live/track1", true),
      // What a server behind address translation writes, or one that writes the default port.
      ("rtsp://192.0.2.1:554/live/track1", "rtsp://c/live/track1", true),
      ("track1", "rtsp://c/live/track1", true), ("live/track1", "rtsp://c/live/track1", true),
      ("/live/track1", "rtsp://c/live/track1", true),
      ("rack1", "rtsp://c/live/track1", false), ("track2", "rtsp://c/live/track1", false),
      ("rtsp://c/track1", "rtsp://c/live/track1", false), ("", "rtsp://c/live/", false),
      ("rtsp://c", "rtsp://c/live", false), ("rtsp://c", "rtsp://c", true),
    ]
  )
  func anEntryIsForTheStreamOfItsPath(url: String, control: String, expected: Bool) {
    #expect(RTPInfo.parse("url=\(url);seq=5").map { $0.isFor(control) } == [expected])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func brokenFieldsNeverTrap(seed: UInt64) {
    var mutations = TextMutations(
      seed: seed, "url=rtsp://c/a;seq=65535;rtptime=-1, url=\"rtsp://c/b,c;d\";rtptime=4294967295;")
    for _ in 0..<300 {
      let entries = RTPInfo.parse(mutations.next())
      #expect(entries.count <= 64)
      _ = entries.map { $0.isFor("rtsp://c/a") }
    }
  }
}
