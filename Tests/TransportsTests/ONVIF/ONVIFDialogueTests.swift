import Foundation
import Testing

@testable import Transports

struct ONVIFDialogueTests {
  private static let login = Credentials(user: "admin", password: "canary-4711")

  @Test func aCameraIsAskedForItsClockItsServicesItsProfilesAndTheAddress() throws {
    var asked: [ONVIFDialogue.Request] = []
    let (step, _) = try ScriptedCamera(answers: ScriptedCamera.usual).talk { asked.append($0) }
    guard case .play(let address, let profile) = step else {
      Issue.record("\(step)")
      return
    }
    #expect(address == "rtsp://192.168.1.64:554/Streaming/Channels/101?a=1&b=2")
    #expect(profile.token == "Profile_1")
    #expect(
      asked.map(\.name) == ["GetSystemDateAndTime", "GetServices", "GetProfiles", "GetStreamUri"])
    #expect(
      asked.map(\.path) == [
        "/onvif/device_service", "/onvif/device_service", "/onvif/Media", "/onvif/Media",
      ])
    // Some Hikvision cameras answer only what is one line.
    #expect(asked.allSatisfy { !$0.body.contains("\n") && !$0.body.contains("Security") })
    #expect(asked.allSatisfy { (try? XMLElement(parsing: $0.body.utf8))?.name == "Envelope" })
  }

  struct Quirk: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var changes: [String: HTTPReply]
    var expected = "rtsp://192.168.1.64:554/Streaming/Channels/101?a=1&b=2"
  }

  static let quirks = [
    Quirk(
      testDescription: "has no GetServices, and a capability with several addresses",
      changes: [
        "GetServices": ScriptedCamera.unsupported,
        "GetCapabilities": ScriptedCamera.reply(
          """
          <GetCapabilitiesResponse><Capabilities><Media>
          <XAddr> http://169.254.3.4/onvif/Media http://10.0.0.5/onvif/Media </XAddr></Media>
          </Capabilities></GetCapabilitiesResponse>
          """),
      ]),
    Quirk(
      testDescription: "names no service at all",
      changes: ["GetServices": ScriptedCamera.unsupported]),
    Quirk(
      testDescription: "does not tell the time without a login",
      changes: ["GetSystemDateAndTime": ScriptedCamera.fault("NotAuthorized", status: 401)]),
    Quirk(
      testDescription: "gives 0.0.0.0 as the address of its services (go2rtc)",
      changes: [
        "GetServices": ScriptedCamera.services(
          (ScriptedCamera.media, "http://0.0.0.0:8899/onvif/Media"))
      ]),
    Quirk(
      testDescription: "leaves the namespace of Media in other letters, and white space in",
      changes: [
        "GetServices": ScriptedCamera.services(
          ("\n http://www.onvif.org/ver10/Media/wsdl \n", "http:///onvif/Media"))
      ]),
    Quirk(
      testDescription: "puts line breaks into the address",
      changes: ["GetStreamUri": ScriptedCamera.uri("\r\n rtsp://10.0.0.1/1 \r\n")],
      expected: "rtsp://10.0.0.1/1"),
    Quirk(
      testDescription: "has JPEG in its first profile",
      changes: [
        "GetProfiles": ScriptedCamera.profiles(
          ScriptedCamera.profile("J", "jpeg", "JPEG"), ScriptedCamera.profile("H", "h264", "H264"))
      ]),
    Quirk(
      testDescription: "says nothing of encodings",
      changes: [
        "GetProfiles": ScriptedCamera.profiles(
          "<trt:Profiles token='T'><tt:Name/></trt:Profiles>", "<trt:Profiles/>")
      ]),
    Quirk(
      testDescription: "has default namespaces and no prefixes (TP-Link)",
      changes: [
        "GetProfiles": HTTPReply(
          status: 200,
          body: Array(
            """
            <Envelope xmlns="http://www.w3.org/2003/05/soap-envelope"><Header/><Body>
            <GetProfilesResponse xmlns="http://www.onvif.org/ver10/media/wsdl">
            <Profiles token="profile_1"><Name xmlns="http://www.onvif.org/ver10/schema">mainStream
            </Name><VideoEncoderConfiguration><Encoding>H264</Encoding></VideoEncoderConfiguration>
            </Profiles></GetProfilesResponse></Body></Envelope>\0\0\0
            """.utf8))
      ]),
  ]

  @Test("its stream is found although it", arguments: quirks)
  func quirk(_ quirk: Quirk) throws {
    let answers = ScriptedCamera.usual.merging(quirk.changes) { _, new in new }
    #expect(try ScriptedCamera(answers: answers).address() == quirk.expected)
  }

  /// By the encodings that are received, those that are known, and those of the profiles.
  @Test(
    "of several profiles, the first is played that can be received",
    arguments: [
      (["H264", "H265"], [], ["JPEG", "H265", "H264"], "H265"),
      // One of another package.
      (["H264", "VP8"], ["H264", "H265"], ["H265", "VP8"], "VP8"),
      // What the user says takes precedence over what the camera says.
      ([], ["H265"], ["JPEG", "H264", "H265"], "H265"), ([], ["H265"], ["H264"], "H264"),
      ([], [], ["JPEG", "H264"], "H264"), ([], [], ["JPEG"], "JPEG"),
    ] as [(Set<String>, Set<String>, [String], String)])
  func severalProfiles(
    received: Set<String>, known: Set<String>, offered: [String], played: String
  ) throws {
    var camera = ScriptedCamera(answers: ScriptedCamera.usual)
    (camera.media.encodings, camera.media.knownEncodings) = (received, known)
    let profiles = offered.map { ScriptedCamera.profile($0, $0, $0) }.joined()
    camera.answers["GetProfiles"] = ScriptedCamera.reply(
      "<trt:GetProfilesResponse>\(profiles)</trt:GetProfilesResponse>")
    var last = ""
    _ = try camera.talk { last = $0.body }
    #expect(last.contains("<ProfileToken>\(played)</ProfileToken>"))
  }

  @Test func theCodecH265IsFoundByMedia2() throws {
    var answers = ScriptedCamera.usual
    answers["GetServices"] = ScriptedCamera.services(
      (ScriptedCamera.media, "http://c/onvif/media"),
      (ScriptedCamera.media2, "http://c/onvif/media2"))
    answers["GetProfiles"] = ScriptedCamera.reply(
      """
      <tr2:GetProfilesResponse><tr2:Profiles token="t1"><tr2:Name>main</tr2:Name>
      <tr2:Configurations><tr2:VideoEncoder token="e"><tt:Encoding>H265</tt:Encoding>
      <tt:Resolution><tt:Width>3840</tt:Width><tt:Height>2160</tt:Height></tt:Resolution>
      <tt:RateControl><tt:FrameRateLimit>24.98</tt:FrameRateLimit></tt:RateControl>
      </tr2:VideoEncoder></tr2:Configurations></tr2:Profiles></tr2:GetProfilesResponse>
      """)
    answers["GetStreamUri"] = ScriptedCamera.reply(
      "<tr2:GetStreamUriResponse><tr2:Uri>rtsp://c/1</tr2:Uri></tr2:GetStreamUriResponse>")
    var asked: [ONVIFDialogue.Request] = []
    let (step, _) = try ScriptedCamera(answers: answers).talk { asked.append($0) }
    guard case .play("rtsp://c/1", let profile) = step else {
      Issue.record("\(step)")
      return
    }
    #expect(profile.video == "H265")
    #expect(profile.frameRate == 25)
    #expect(asked.last?.path == "/onvif/media2")
    #expect(asked.last?.body.contains("<Protocol>RTSP</Protocol>") == true)
  }

  @Test func mediaIsAskedWhereMedia2IsNamedButDoesNotAnswer() throws {
    var answers = ScriptedCamera.usual
    answers["GetServices"] = ScriptedCamera.services(
      (ScriptedCamera.media, "http://c/onvif/media"),
      (ScriptedCamera.media2, "http://c/onvif/media2"))
    var camera = ScriptedCamera(answers: answers)
    camera.override = { request in
      request.path == "/onvif/media2" ? HTTPReply(status: 404, body: Array("no".utf8)) : nil
    }
    #expect(try camera.address().hasSuffix("a=1&b=2"))
  }

  // MARK: Logins

  @Test(
    "the login goes with the camera's clock",
    arguments: [0, 3600 * 5, -86_400 * 365 * 20, 7])
  func clock(ahead: Int) throws {
    var answers = ScriptedCamera.usual
    answers["GetSystemDateAndTime"] = ScriptedCamera.clock(ahead: ahead)
    var camera = ScriptedCamera(answers: answers)
    camera.credentials = Self.login
    let wanted = "\(ScriptedCamera.now.advanced(by: ahead))"
    camera.override = { request in
      guard request.name != "GetSystemDateAndTime" else {
        return request.body.contains("Password") ? ScriptedCamera.unsupported : nil
      }
      return request.body.contains("<u:Created>\(wanted)</u:Created>")
        ? nil : ScriptedCamera.fault("NotAuthorized")
    }
    var nonces: [Substring] = []
    let (step, dialogue) = try camera.talk { request in
      nonces += request.body.matches(of: #/Base64Binary">([^<]+)</#).map(\.1)
      #expect(!request.body.contains(Self.login.password))
      #expect(!request.usesDigest)
    }
    guard case .play = step else {
      Issue.record("\(step)")
      return
    }
    #expect(dialogue.clockOffset == ahead)
    #expect(Set(nonces).count == 3)
  }

  @Test func aCameraThatTakesOnlyDigestsOfHTTPGetsThem() throws {
    var camera = ScriptedCamera(answers: ScriptedCamera.usual, credentials: Self.login)
    // Hikvision answers with a web page.
    camera.override = { request in
      request.usesDigest || request.name == "GetSystemDateAndTime"
        ? nil : HTTPReply(status: 401, body: Array("<!DOCTYPE html>".utf8), offersDigest: true)
    }
    var tokens = 0
    let (step, _) = try camera.talk { if $0.body.contains("UsernameToken") { tokens += 1 } }
    guard case .play = step else {
      Issue.record("\(step)")
      return
    }
    #expect(tokens == 1)
  }

  @Test(
    "a login that is refused is tried twice at most",
    arguments: [
      (login as Credentials?, ScriptedCamera.fault("NotAuthorized"), ONVIFError.credentialsRefused),
      (login, ScriptedCamera.fault("FailedAuthentication", status: 500), .credentialsRefused),
      (login, HTTPReply(status: 401, body: [], offersDigest: true), .credentialsRefused),
      (login, HTTPReply(status: 401, body: []), .credentialsRefused),
      (login, HTTPReply(status: 401, body: [], offersBasic: true), .onlyBasic),
      (nil, HTTPReply(status: 401, body: [], offersDigest: true), .credentialsMissing),
      (nil, ScriptedCamera.fault("NotAuthorized", status: 400), .credentialsMissing),
      (nil, ScriptedCamera.fault("x", "Sender not Authorized", status: 500), .credentialsMissing),
    ])
  func refusal(credentials: Credentials?, reply: HTTPReply, error: ONVIFError) {
    var camera = ScriptedCamera(answers: ScriptedCamera.usual, credentials: credentials)
    camera.override = { $0.name == "GetProfiles" ? reply : nil }
    var attempts = 0
    #expect(throws: error) {
      try camera.talk { if $0.name == "GetProfiles" { attempts += 1 } }
    }
    #expect(attempts <= 2)
  }

  @Test func theDigestIsThatOfTheProgrammersGuide() throws {
    let nonce = try #require(Data(base64Encoded: "LKqI6G/AikKCQrN0zqZFlg=="))
    let token = UsernameToken(
      credentials: Credentials(user: "user", password: "userpassword"), nonce: Array(nonce),
      created: UTCTime(secondsSince1970: 1_284_623_445))
    let header = try #require(token.header)
    #expect(header.contains(">2010-09-16T07:50:45Z<"))
    #expect(header.contains(">tuOSpGlFlIXsozq4HFNeeGeFLEI=<"))
  }

  // MARK: Profiles

  @Test(
    "a profile is chosen by its token, its name or its number",
    arguments: [
      (ONVIFDialogue.ProfileChoice.called("Profile_2"), "Profile_2"), (.called("1"), "Profile_2"),
      (.called("SUBSTREAM"), "Profile_2"), (.called("mainStream"), "Profile_1"),
      (.number(1), "Profile_2"), (.called("0"), "Profile_1"),
    ])
  func choice(_ choice: ONVIFDialogue.ProfileChoice, token: String) throws {
    let camera = ScriptedCamera(answers: ScriptedCamera.usual, purpose: .play(choice))
    var last = ""
    _ = try camera.talk { last = $0.body }
    #expect(last.contains("<ProfileToken>\(token)</ProfileToken>"))
  }

  @Test(arguments: [
    ("GetProfiles", ScriptedCamera.profiles(), ONVIFError.noProfiles),
    (
      "GetProfiles", ScriptedCamera.profiles(ScriptedCamera.profile("j", "j", "JPEG")),
      .noUsableProfile(encodings: ["JPEG"])
    ),
    ("GetStreamUri", ScriptedCamera.uri(""), .noAddress(profile: "mainStream")),
    ("GetStreamUri", HTTPReply(status: 200, body: []), .unreadable(request: "GetStreamUri")),
    (
      "GetStreamUri", ScriptedCamera.fault("NoProfile", "no\u{1B}[2J such"),
      .unreadable(request: "GetStreamUri")
    ),
    (
      "GetStreamUri", ScriptedCamera.fault("NoProfile", "no such", status: 500),
      .refused(request: "GetStreamUri", reason: "no such")
    ),
  ])
  func whatIsMissingIsSaid(name: String, reply: HTTPReply, error: ONVIFError) {
    var answers = ScriptedCamera.usual
    answers[name] = reply
    #expect(throws: error) { try ScriptedCamera(answers: answers).talk() }
    #expect(!error.description.isEmpty)
  }

  @Test func aProfileThatThereIsNotIsNamed() {
    let camera = ScriptedCamera(answers: ScriptedCamera.usual, purpose: .play(.called("third")))
    #expect(throws: ONVIFError.noSuchProfile("third", known: ["mainStream", "subStream"])) {
      try camera.talk()
    }
  }

  @Test(arguments: [
    HTTPReply(status: 404, body: Array("<html>".utf8)), HTTPReply(status: 200, body: []),
    HTTPReply(status: 200, body: Array("<!DOCTYPE html><html></html>".utf8)),
  ])
  func whatIsNoCameraIsSaidToBeNone(reply: HTTPReply) {
    var camera = ScriptedCamera(answers: [:])
    camera.override = { _ in reply }
    #expect(throws: ONVIFError.notONVIF(status: reply.status)) { try camera.talk() }
  }

  @Test func aListHasTheAddressesOfAllProfiles() throws {
    var camera = ScriptedCamera(answers: ScriptedCamera.usual, purpose: .list)
    camera.override = { request in
      guard request.name == "GetSnapshotUri", request.body.contains("Profile_1") else { return nil }
      return ScriptedCamera.reply(
        "<r><MediaUri><Uri>http://admin:secret@10.0.0.1/shot.jpg</Uri></MediaUri></r>")
    }
    guard case .list(let profiles) = try camera.talk().step else { return }
    #expect(profiles.map(\.token) == ["Profile_1", "Profile_2"])
    #expect(profiles.allSatisfy { $0.stream?.hasPrefix("rtsp://192.168.1.64:554/") == true })
    #expect(profiles[0].snapshot == "http://10.0.0.1/shot.jpg")
    #expect(profiles[1].snapshot == nil)
    #expect(profiles[0].width == 1920)
  }

  @Test func aRecorderWithThousandsOfProfilesIsListedInPart() throws {
    var answers = ScriptedCamera.usual
    answers["GetProfiles"] = ScriptedCamera.reply(
      "<r>" + (0..<3000).map { ScriptedCamera.profile("p\($0)", "n", "H264") }.joined() + "</r>")
    let camera = ScriptedCamera(answers: answers, purpose: .list)
    var asked = 0
    guard case .list(let profiles) = try camera.talk(requests: { _ in asked += 1 }).step else {
      return
    }
    #expect(profiles.count == ONVIFProfile.maximumCount)
    #expect(asked < 2 * ONVIFDialogue.mostListed + 5)
  }
}
