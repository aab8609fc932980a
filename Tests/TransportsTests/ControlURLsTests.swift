import Testing

@testable import Transports

struct ControlURLsTests {
  /// The URLs for the one section of a description.
  private func urls(
    _ control: String?, session: String? = nil, base: String? = nil, location: String? = nil,
    requested: String = "rtsp://camera/live"
  ) throws -> (media: [String], aggregate: [String]) {
    var response = RTSPResponse(status: 200, reason: "OK")
    if let base { response.headers.add("Content-Base", base) }
    if let location { response.headers.add("Content-Location", location) }
    var lines = ["v=0", "o=-"]
    if let session { lines.append("a=control:\(session)") }
    lines.append("m=video 0 RTP/AVP 96")
    if let control { lines.append("a=control:\(control)") }
    let description = try SessionDescription(parsing: Array(lines.joined(separator: "\n").utf8))
    let urls = ControlURLs(response, requested: try ServerURL(parsing: requested))
    let media = urls.media(of: description, selected: 0)
    #expect(media.count == 1)
    return (try #require(media.first), urls.aggregate(of: description))
  }

  // MARK: The base

  @Test(
    arguments: [
      (nil, nil, "rtsp://camera/live"),
      ("rtsp://camera/live/", nil, "rtsp://camera/live/"),
      (nil, "rtsp://camera/located/", "rtsp://camera/located/"),
      ("rtsp://camera/base/", "rtsp://camera/located/", "rtsp://camera/base/"),
      // As the server writes it, also with another host or the default port.
      ("rtsp://192.0.2.1:554/live/", nil, "rtsp://192.0.2.1:554/live/"),
      ("RTSP://camera/live/", nil, "rtsp://camera/live/"),
      ("rtsp://admin:secret@camera/live/", nil, "rtsp://camera/live/"),
      // Anjvision cameras leave the scheme out.
      ("192.0.2.1/live/", nil, "rtsp://192.0.2.1/live/"),
      ("192.0.2.1:554/live/", nil, "rtsp://192.0.2.1:554/live/"),
      ("camera/live/", nil, "rtsp://camera/live/"),
      ("/live/", nil, "rtsp://camera/live/"), ("live.sdp/", nil, "rtsp://camera/live.sdp/"),
      ("rtsp://rtsp://192.0.2.1/live/", nil, "rtsp://192.0.2.1/live/"),
      ("rtsp://::ffff:192.0.2.1/live/", nil, "rtsp://camera/live/"),
      ("rtsp://[2001:db8::1]:554/live/", nil, "rtsp://[2001:db8::1]:554/live/"),
      ("rtsp://camera:99999/live/", nil, "rtsp://camera/live/"),
      ("rtsp:///live/", nil, "rtsp://camera/live/"),
      ("rtsp://camera/liv\u{1}e room/", nil, "rtsp://camera/live%20room/"),
      // An unusable one is skipped.
      ("", nil, "rtsp://camera/live"), ("*", nil, "rtsp://camera/live"),
      ("http://camera/live/", nil, "rtsp://camera/live"),
      ("http://camera/", "rtsp://camera/located/", "rtsp://camera/located/"),
      ("rtsp://camera/" + String(repeating: "a", count: 4096), nil, "rtsp://camera/live"),
    ] as [(String?, String?, String)]
  )
  func theBaseIsWhatTheServerMeans(base: String?, location: String?, expected: String) throws {
    let urls = try urls("*", base: base, location: location)
    #expect(urls.aggregate.first == expected)
    #expect(urls.media == urls.aggregate)
  }

  // MARK: Relative attributes

  @Test(
    arguments: [
      ("track1", "rtsp://camera/live/", ["rtsp://camera/live/track1"]),
      (
        "track1", "rtsp://camera/live", ["rtsp://camera/live/track1", "rtsp://camera/track1"]
      ),
      ("trackID=1", "rtsp://camera", ["rtsp://camera/trackID=1", "rtsp://camera/live/trackID=1"]),
      (
        "/track1", "rtsp://camera/live/", ["rtsp://camera/live/track1", "rtsp://camera/track1"]
      ),
      // A whole path, as the slash says.
      (
        "/live/track1", "rtsp://camera/live/",
        ["rtsp://camera/live/track1", "rtsp://camera/live/live/track1"]
      ),
      (
        "../track1", "rtsp://camera/a/live/",
        [
          "rtsp://camera/a/live/../track1", "rtsp://camera/a/track1",
          "rtsp://camera/live/../track1",
        ]
      ),
      // Dahua.
      (
        "trackID=0", "rtsp://camera/cam/realmonitor?channel=1&subtype=0/",
        [
          "rtsp://camera/cam/realmonitor?channel=1&subtype=0/trackID=0",
          "rtsp://camera/cam/realmonitor/trackID=0?channel=1&subtype=0/",
          "rtsp://camera/cam/trackID=0", "rtsp://camera/live/trackID=0",
        ]
      ),
      // Axis.
      (
        "stream=0", "rtsp://camera/axis-media/media.amp?videocodec=h264",
        [
          "rtsp://camera/axis-media/media.amp?videocodec=h264/stream=0",
          "rtsp://camera/axis-media/media.amp/stream=0?videocodec=h264",
          "rtsp://camera/axis-media/stream=0", "rtsp://camera/live/stream=0",
        ]
      ),
      (
        "?ctype=video", "rtsp://camera/live",
        ["rtsp://camera/live?ctype=video", "rtsp://camera/live/?ctype=video"]
      ),
      ("tr\u{1}ack 1", "rtsp://camera/live/", ["rtsp://camera/live/track%201"]),
    ]
  )
  func aRelativeAttributeIsAppendedAndThenResolved(
    control: String, base: String, expected: [String]
  ) throws {
    #expect(try urls(control, base: base).media == expected)
  }

  @Test func withoutABaseTheURLOfTheRequestIsOne() throws {
    let urls = try urls("track1", requested: "rtsp://user:secret@camera:8554/live?x=1")
    #expect(urls.media.first == "rtsp://camera:8554/live?x=1/track1")
    #expect(urls.media.dropFirst().first == "rtsp://camera:8554/live/track1?x=1")
    #expect(urls.aggregate == ["rtsp://camera:8554/live?x=1"])
  }

  // MARK: Absolute attributes

  @Test func anAbsoluteAttributeIsUsedAsItStands() throws {
    #expect(
      try urls("rtsp://camera/live/trackID=1?x=1", base: "rtsp://camera/other/").media
        == ["rtsp://camera/live/trackID=1?x=1"])
  }

  @Test func anotherHostInAnAttributeIsNamedAndThenTheOneThatAnswers() throws {
    #expect(
      try urls("rtsp://192.0.2.1:554/live/track1").media
        == ["rtsp://192.0.2.1:554/live/track1", "rtsp://camera/live/track1"])
  }

  @Test(arguments: [
    "rtsp://rtsp://camera/live/track1", "rtsp://admin:secret@camera/live/track1",
    "RTSP://camera/live/track1", " rtsp://camera/live/track1 ",
    "rtsp://::ffff:192.0.2.1/live/track1",
  ])
  func aDeformedAbsoluteAttributeIsRepaired(control: String) throws {
    #expect(try urls(control).media == ["rtsp://camera/live/track1"])
  }

  // MARK: The whole

  @Test(arguments: [nil, "", "*", "http://camera/live/track1"])
  func anAttributeThatNamesNoStreamStandsForTheWhole(control: String?) throws {
    let urls = try urls(control, base: "rtsp://camera/live/")
    #expect(urls.media == ["rtsp://camera/live/", "rtsp://camera/live"])
    #expect(urls.aggregate == urls.media)
  }

  @Test(
    arguments: [
      (["track1", nil], [["rtsp://camera/live/track1"], []]),
      (
        [nil, "track2"],
        [["rtsp://camera/live/", "rtsp://camera/live"], ["rtsp://camera/live/track2"]]
      ),
      ([nil, nil], [["rtsp://camera/live/", "rtsp://camera/live"], []]),
      (["*", "*"], [["rtsp://camera/live/", "rtsp://camera/live"], []]),
    ] as [([String?], [[String]])]
  )
  func theWholeStandsForTheSelectedSectionAlone(
    controls: [String?], expected: [[String]]
  ) throws {
    var lines = ["v=0", "o=-"]
    for control in controls {
      lines.append("m=video 0 RTP/AVP 96")
      if let control { lines.append("a=control:\(control)") }
    }
    let description = try SessionDescription(parsing: Array(lines.joined(separator: "\n").utf8))
    var response = RTSPResponse(status: 200, reason: "OK")
    response.headers.add("Content-Base", "rtsp://camera/live/")
    let urls = ControlURLs(response, requested: try ServerURL(parsing: "rtsp://camera/live"))
    #expect(urls.media(of: description, selected: 0) == expected)
  }

  @Test func theCompanionOfAxisIsPlayedByTheURLOfItsSession() throws {
    let urls = try urls(
      "rtsp://camera/axis-media/media.amp/stream=0?Axis-Orig-Sw=true",
      session: "rtsp://camera/axis-media/media.amp?Axis-Orig-Sw=true",
      base: "rtsp://camera:554/axis-media/media.amp/",
      requested: "rtsp://camera/axis-media/media.amp")
    #expect(urls.media == ["rtsp://camera/axis-media/media.amp/stream=0?Axis-Orig-Sw=true"])
    #expect(
      urls.aggregate == [
        "rtsp://camera/axis-media/media.amp?Axis-Orig-Sw=true",
        "rtsp://camera:554/axis-media/media.amp/", "rtsp://camera/axis-media/media.amp",
      ])
  }

  @Test func theURLOfASessionMayBeTheBaseOfItsStreams() throws {
    let urls = try urls(
      "track1", session: "rtsp://camera/session", base: "rtsp://camera/base/")
    #expect(
      urls.media == [
        "rtsp://camera/base/track1", "rtsp://camera/session/track1", "rtsp://camera/live/track1",
      ])
    #expect(urls.aggregate.first == "rtsp://camera/session")
  }

  @Test func aRelativeURLOfASessionHasTheBaseAfterIt() throws {
    let urls = try urls("track1", session: "all", base: "rtsp://camera/base/")
    #expect(urls.aggregate.first == "rtsp://camera/base/all")
    #expect(urls.aggregate.contains("rtsp://camera/base/"))
  }

  // MARK: Limits

  @Test func anAttributeThatIsTooLongStandsForTheWhole() throws {
    for length in [4090, 5000, 60_000] {
      let urls = try urls(String(repeating: "a", count: length))
      #expect(urls.media == ["rtsp://camera/live"])
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func brokenAttributesNeverTrap(seed: UInt64) throws {
    var controls = TextMutations(seed: seed, "rtsp://rtsp://a:b@[::1]:554/../live/./?x=1/track1")
    var bases = TextMutations(seed: seed &+ 100, "rtsp://camera:554/cam/../x/?channel=1")
    for _ in 0..<200 {
      let control = controls.next().filter { !"\r\n\r\n\0".contains($0) }
      let found = try urls(
        control, session: bases.next().filter { $0 != "\n" && $0 != "\0" }, base: bases.next())
      for urls in [found.media, found.aggregate] {
        #expect((1...4).contains(urls.count))
        #expect(Set(urls).count == urls.count)
        for url in urls {
          #expect(url.hasPrefix("rtsp://") || url.hasPrefix("rtsps://"))
          #expect(!url.utf8.contains { $0 <= 0x20 || $0 == 0x7F })
          #expect(url.utf8.count <= 4096)
        }
      }
    }
  }
}
