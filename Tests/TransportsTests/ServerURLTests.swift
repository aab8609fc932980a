import Testing

@testable import Transports

struct ServerURLTests {
  @Test(
    arguments: [
      ("rtsp://camera/live", "camera", 554, "/live"),
      ("rtsp://camera", "camera", 554, ""),
      ("rtsp://camera:/live", "camera", 554, "/live"),
      ("RTSP://Camera:8554/", "Camera", 8554, "/"),
      ("rtspu://camera/live", "camera", 554, "/live"),
      ("rtsps://camera/live", "camera", 322, "/live"),
      ("rtsp://192.0.2.1?profile=1", "192.0.2.1", 554, "?profile=1"),
      ("rtsp://[2001:db8::1]/live", "2001:db8::1", 554, "/live"),
      ("rtsp://[2001:db8::1]:65535/live", "2001:db8::1", 65_535, "/live"),
      ("rtsp://[fe80::1%25eth0]:1/", "fe80::1%eth0", 1, "/"),
      ("rtsp://[fe80::1%eth0]/", "fe80::1%eth0", 554, "/"),
      // Interfaces by their numbers.
      ("rtsp://[fe80::1%12]/live", "fe80::1%12", 554, "/live"),
      ("rtsp://[fe80::1%2512]:1/", "fe80::1%12", 1, "/"),
      // Dahua, XiongMai and Axis.
      (
        "rtsp://c/cam/realmonitor?channel=1&subtype=0", "c", 554,
        "/cam/realmonitor?channel=1&subtype=0"
      ),
      (
        "rtsp://c:554/user=a&password=&channel=1&stream=0.sdp?real_stream#x", "c", 554,
        "/user=a&password=&channel=1&stream=0.sdp?real_stream#x"
      ),
      ("rtsp://c/live@hd", "c", 554, "/live@hd"),
      ("rtsp://c/a%20b/ü?x=%41", "c", 554, "/a%20b/ü?x=%41"),
      ("rtsp://c/living room", "c", 554, "/living%20room"),
    ]
  )
  func aURLIsTakenApart(text: String, host: String, port: Int, path: String) throws {
    let (url, credentials) = try ServerURL.parse(text)
    #expect(url.host == host)
    #expect(url.port == port)
    #expect(url.path == path)
    #expect(url.isSecure == text.hasPrefix("rtsps"))
    #expect(credentials == nil)
  }

  @Test(
    arguments: [
      ("admin:secret@", "admin", "secret"), ("admin@", "admin", ""), ("admin:@", "admin", ""),
      (":secret@", "", "secret"), ("a%40b:p%3Aq%2Fr@", "a@b", "p:q/r"), ("a:b:c@", "a", "b:c"),
      // What people forget to encode.
      ("admin:p@ss@", "admin", "p@ss"), ("admin:100%@", "admin", "100%"),
      ("admin:%zz%4@", "admin", "%zz%4"), ("admin:p#ss@", "admin", "p#ss"),
      ("ädmin:pässwörd@", "ädmin", "pässwörd"), ("a:%C3%A4@", "a", "ä"),
    ]
  )
  func credentialsAreDecodedAndComeApart(userInfo: String, user: String, password: String) throws {
    let (url, credentials) = try ServerURL.parse("rtsp://\(userInfo)camera:8554/live@hd")
    #expect(credentials?.user == user)
    #expect(credentials?.password == password)
    #expect(url.description == "rtsp://camera:8554/live@hd")
    #expect(try ServerURL(parsing: "rtsp://\(userInfo)camera:8554/live@hd") == url)
  }

  @Test(arguments: [
    ("rtsp://joe:secret@camera:99999/live@hd", SourceFault.invalidPort("99999")),
    ("rtsp://joe:secret@ca mera/live@hd", .invalidHost("ca mera")),
    ("rtsp://joe:se/cret@camera/live", .unescapedCredentials),
  ])
  func anAtSignInThePathIsNoLogin(text: String, fault: SourceFault) {
    #expect(throws: fault) { try ServerURL.parse(text) }
  }

  @Test(arguments: [
    ("rtsp://camera:554/live@hd", "rtsp://camera:554/live@hd"),
    ("rtsp://joe:secret@camera/live@hd", "rtsp://camera/live@hd"),
    ("rtsp://joe@camera/live@hd", "rtsp://camera/live@hd"),
    ("rtsp://joe:sec/ret@camera/live", "rtsp://…@camera/live"), ("camera/live", "camera/live"),
  ])
  func anAddressIsShownWithoutItsUser(address: String, shown: String) {
    #expect(ServerURL.withoutUser(address) == shown)
  }

  @Test func anEmptyUserIsNone() throws {
    #expect(try ServerURL.parse("rtsp://@camera/").1 == nil)
  }

  @Test(
    arguments: [
      ("rtsp://camera:554/live", "rtsp://camera/live"), ("rtsp://camera", "rtsp://camera"),
      ("rtsps://camera:322/x", "rtsps://camera/x"),
      ("rtsps://camera:554/x", "rtsps://camera:554/x"),
      ("rtspu://camera/x", "rtsp://camera/x"), ("rtsp://[::1]:5/x", "rtsp://[::1]:5/x"),
      // A zone means nothing to the server.
      ("rtsp://[fe80::1%25eth0]/x", "rtsp://[fe80::1]/x"),
    ]
  )
  func whatRequestsNameIsCanonical(text: String, expected: String) throws {
    #expect(try ServerURL(parsing: text).description == expected)
  }

  @Test(
    arguments: [
      ("", SourceFault.noScheme(known: ["rtsp", "rtsps"])),
      ("camera/live", .noScheme(known: ["rtsp", "rtsps"])),
      ("rtsp:/camera", .noScheme(known: ["rtsp", "rtsps"])),
      ("http://camera/", .unknownScheme("http", known: ["rtsp", "rtsps"])),
      ("rtsp://", .missingHost), ("rtsp:///live", .missingHost), ("rtsp://:554/", .missingHost),
      ("rtsp://user@/live", .missingHost),
      ("rtsp://h:0/", .invalidPort("0")), ("rtsp://h:99999/", .invalidPort("99999")),
      ("rtsp://h:65536", .invalidPort("65536")), ("rtsp://h:-1/", .invalidPort("-1")),
      ("rtsp://h:+1/", .invalidPort("+1")), ("rtsp://h:５/", .invalidPort("５")),
      ("rtsp://2001:db8::1/", .invalidHost("2001:db8::1")), ("rtsp://[]/", .invalidHost("[]")),
      ("rtsp://[host]/", .invalidHost("[host]")),
      ("rtsp://[192.0.2.1]/", .invalidHost("[192.0.2.1]")),
      ("rtsp://[%25eth0]/", .invalidHost("[%25eth0]")),
      ("rtsp://[::1/", .invalidHost("[::1")), ("rtsp://[::1]x/", .invalidHost("[::1]x")),
      ("rtsp://a b/", .invalidHost("a b")), ("rtsp://a#b/", .invalidHost("a#b")),
      ("rtsp://h/a\r\nX: y", .controlCharacter), ("rtsp://h/\0", .controlCharacter),
      ("rtsp://h/%0d%0aX", .controlCharacter), ("rtsp://h/%00", .controlCharacter),
      ("rtsp://a:b%0Ac@h/", .controlCharacter), ("rtsp://h/\u{7F}", .controlCharacter),
      ("rtsp://[fe80::1%12]?%0a", .controlCharacter),
      ("rtsp://a%0Ab@[fe80::1%12]/", .controlCharacter),
      ("rtsp://admin:pa/ss@h/live", .unescapedCredentials),
      ("rtsp://admin:pa?ss@h/live", .unescapedCredentials),
    ]
  )
  func whatIsNoURLIsRefusedWithTheReason(text: String, fault: SourceFault) {
    #expect(throws: fault) { try ServerURL.parse(text) }
  }

  /// What the first was given, and whether the second gets it over HTTP.
  @Test(
    arguments: [
      ("http://camera/", "http://camera/hd", true), ("http://camera/", "https://camera/", true),
      ("http://Camera:80/", "https://camera:443/", true),
      ("https://camera/", "http://camera/", false), ("http://camera/", "https://other/", false),
      ("http://camera/", "http://camera:8080/", false),
      ("http://camera/", "https://camera:8443/", false),
      ("http://camera:8080/", "https://camera/", false),
    ]
  )
  func aPasswordFollowsItsHostToTLSAtTheUsualPorts(
    given: String, target: String, isSent: Bool
  ) throws {
    let origin = try ServerURL(parsing: given, as: .http)
    #expect(try ServerURL(parsing: target, as: .http).takesCredentials(of: origin) == isSent)
  }

  @Test func aURLHasALimit() throws {
    let fits = "rtsp://h/" + String(repeating: "a", count: 4096 - 9)
    #expect(try ServerURL(parsing: fits).path.count == 4096 - 8)
    #expect(throws: SourceFault.tooLong(count: 4097, limit: 4096)) {
      try ServerURL.parse(fits + "a")
    }
  }

  @Test(
    arguments: [
      "rtsp://admin:hunter2@h:99999/", "rtsp://admin:hunter2@a b/", "rtsp://admin:hunter2@/x",
      "rtsp://admin:hunter/2@h/", "rtsp://admin:hunter?2@h/x", "rtsp://admin:hunter2@[::1/",
      "rtspx://admin:hunter2@h/", "rtsp://admin:hunter2%0a@h/", "rtsp://admin:hunter2@::1/",
    ]
  )
  func noErrorShowsAPassword(text: String) {
    do {
      _ = try ServerURL.parse(text)
      Issue.record("\(text) is taken for a URL")
    } catch {
      #expect(!TransportError.source(text, error).description.contains("hunter"))
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func brokenURLsNeverTrap(seed: UInt64) {
    var mutations = TextMutations(
      seed: seed, "rtsp://admin:p%40ss@[fe80::1%25eth0]:8554/cam/realmonitor?channel=1&subtype=0")
    for _ in 0..<300 {
      guard let (url, _) = try? ServerURL.parse(mutations.next()) else { continue }
      #expect((1...65_535).contains(url.port))
      #expect(!url.host.isEmpty)
      #expect(!url.description.utf8.contains { $0 <= 0x20 || $0 == 0x7F })
      // What is sent to a server is a URL of that server.
      let sent = try? ServerURL(parsing: url.description)
      #expect(sent?.path == url.path)
      #expect(sent?.port == url.port)
    }
  }
}
