/// The requests by which a camera is asked where its streams are (ONVIF Core §8, Media, Media 2),
/// as a value without I/O or clock.
///
/// All of them go to the host that was named, whatever addresses the camera gives: these are often
/// inner ones behind a translation, `0.0.0.0`, or meant to lead elsewhere. Of them, the path is
/// taken, and of a stream's address the port too.
struct ONVIFDialogue: Sendable {
  enum Purpose: Sendable, Hashable {
    /// The address of one profile's stream; `nil` for the first that can be received.
    case play(ProfileChoice?)
    /// All profiles with their addresses.
    case list
  }

  enum ProfileChoice: Sendable, Hashable {
    /// A token or a name, or else a number.
    case called(String)
    /// Counted from 0.
    case number(Int)
  }

  /// A message to post.
  struct Request: Sendable, Hashable {
    /// What people call it, such as `GetProfiles`.
    let name: String
    let path: String
    let contentType: String
    let body: String
    /// Whether the login is for HTTP, by digest authentication, and not in the message.
    let usesDigest: Bool
  }

  enum Step: Sendable, Hashable {
    /// ``request(at:)`` is to be posted.
    case ask
    /// The address of the stream to play, as the camera wrote it.
    case play(String, ONVIFProfile)
    case list([ONVIFProfile])
  }

  /// How the login goes to the camera: many cameras take either way, and some only one.
  private enum Login: Sendable, Hashable {
    case none
    /// In the message (``UsernameToken``).
    case token
    /// In HTTP, as the camera asked for it.
    case digest
  }

  private enum Question: Sendable, Hashable {
    case clock, services, capabilities
    case profiles
    /// About the profile at this index.
    case stream(Int), snapshot(Int)
  }

  private let purpose: Purpose
  private let credentials: Credentials?
  private let lowerTransport: RTSPConfiguration.LowerTransport
  private let media: MediaChoice
  private var randomness: any RandomNumberGenerator & Sendable
  private var login: Login
  private var question = Question.clock
  /// The Media services in the order in which they are asked; never empty once they are.
  private var services: [ONVIFMediaService] = []
  private var profiles: [ONVIFProfile] = []
  /// How far the camera's clock is ahead of this machine's, in seconds; `nil` until it is known.
  private(set) var clockOffset: Int?

  /// Begins a dialogue, in which the first request asks for the camera's clock; `media` says what
  /// can be received.
  init(
    for purpose: Purpose, credentials: Credentials?,
    lowerTransport: RTSPConfiguration.LowerTransport = .automatic,
    media: MediaChoice = MediaChoice(),
    randomness: any RandomNumberGenerator & Sendable
  ) {
    self.purpose = purpose
    self.credentials = credentials
    self.lowerTransport = lowerTransport
    self.media = media
    self.randomness = randomness
    login = credentials == nil ? .none : .token
  }

  /// The path of the service that every device has (ONVIF Core §5.1).
  static let devicePath = "/onvif/device_service"
  /// The most profiles whose addresses are asked for, to list them.
  static let mostListed = 64

  // MARK: Asking

  /// The next message, at a time by this machine's clock.
  mutating func request(at now: UTCTime) -> Request {
    let (name, path, namespace, content) = content
    var envelope = SOAPEnvelope(
      body: #"<\#(name) xmlns="\#(namespace)">\#(content)</\#(name)>"#)
    // The clock is asked for without a login, which would have to tell the time.
    if question != .clock, login == .token, let credentials {
      let token = UsernameToken(
        credentials: credentials, nonce: nonce(), created: now.advanced(by: clockOffset ?? 0))
      envelope.header = token.header ?? ""
    }
    return Request(
      name: name, path: path,
      contentType: #"application/soap+xml; charset=utf-8; action="\#(namespace)/\#(name)""#,
      body: envelope.text, usesDigest: question != .clock && login == .digest)
  }

  private mutating func nonce() -> [UInt8] {
    (0..<16).map { _ in UInt8(truncatingIfNeeded: randomness.next()) }
  }

  private var content: (name: String, path: String, namespace: String, content: String) {
    let device = "http://www.onvif.org/ver10/device/wsdl"
    let service = services.first ?? .media1(path: ONVIFMediaService.usualPath)
    switch question {
    case .clock: return ("GetSystemDateAndTime", Self.devicePath, device, "")
    case .services:
      return (
        "GetServices", Self.devicePath, device, "<IncludeCapability>false</IncludeCapability>"
      )
    case .capabilities:
      return ("GetCapabilities", Self.devicePath, device, "<Category>All</Category>")
    case .profiles:
      return ("GetProfiles", service.path, service.namespace, service.profilesContent)
    case .stream(let index):
      return (
        "GetStreamUri", service.path, service.namespace,
        service.streamContent(ofProfile: token(at: index), by: lowerTransport)
      )
    case .snapshot(let index):
      return (
        "GetSnapshotUri", service.path, service.namespace,
        "<ProfileToken>\(token(at: index).escapedForXML)</ProfileToken>"
      )
    }
  }

  private func token(at index: Int) -> String {
    profiles.indices.contains(index) ? profiles[index].token : ""
  }

  // MARK: Answers

  /// Takes the answer to the last request, which came at a time by this machine's clock.
  mutating func take(_ reply: HTTPReply, at now: UTCTime) throws(ONVIFError) -> Step {
    let answer = Self.answer(in: reply)
    if question == .clock {
      // Who does not tell it has logins of which it is no part, or it is this machine's.
      if case .content(let content) = answer, let time = UTCTime(in: content) {
        clockOffset = time.secondsSince1970 - now.secondsSince1970
      }
      question = .services
      return .ask
    }
    if Self.isAboutLogin(reply, answer) {
      try logIn(after: reply)
      return .ask
    }
    switch question {
    case .clock, .services: return takeServices(answer)
    case .capabilities: return try takeCapabilities(answer, reply)
    case .profiles: return try takeProfiles(answer, reply)
    case .stream(let index): return try takeStream(answer, reply, index)
    case .snapshot(let index):
      if case .content(let content) = answer, let address = content.first("Uri")?.text {
        profiles[index].snapshot = Self.shown(address)
      }
      return list(after: index)
    }
  }

  private static func answer(in reply: HTTPReply) -> SOAPAnswer? {
    (try? XMLElement(parsing: reply.body)).flatMap { SOAPAnswer($0) }
  }

  private static func isAboutLogin(_ reply: HTTPReply, _ answer: SOAPAnswer?) -> Bool {
    if case .fault(let fault) = answer { return reply.status == 401 || fault.isAboutLogin }
    return reply.status == 401
  }

  /// Chooses another way of logging in, if there is one left.
  private mutating func logIn(after reply: HTTPReply) throws(ONVIFError) {
    switch login {
    case .none: throw .credentialsMissing
    // Newer Hikvision cameras take no logins in messages unless they are told to.
    case .token where reply.status == 401 && reply.offersDigest: login = .digest
    case .token where reply.status == 401 && reply.offersBasic: throw .onlyBasic
    case .token, .digest: throw .credentialsRefused
    }
  }

  /// Why `answer` to the question is none.
  private func error(_ answer: SOAPAnswer?, _ reply: HTTPReply) -> ONVIFError {
    if case .fault(let fault) = answer {
      return .refused(request: content.name, reason: fault.reason)
    }
    // Who has answered before is an ONVIF device.
    if question != .capabilities { return .unreadable(request: content.name) }
    return .notONVIF(status: reply.status)
  }

  private mutating func takeServices(_ answer: SOAPAnswer?) -> Step {
    if case .content(let content) = answer {
      services = ONVIFMediaService.all(inServices: content)
    }
    question = services.isEmpty ? .capabilities : .profiles
    return .ask
  }

  private mutating func takeCapabilities(
    _ answer: SOAPAnswer?, _ reply: HTTPReply
  ) throws(ONVIFError) -> Step {
    switch answer {
    case .content(let content): services = ONVIFMediaService.all(inCapabilities: content)
    // Its media may be there all the same.
    case .fault: break
    case nil: throw error(answer, reply)
    }
    if services.isEmpty { services = ONVIFMediaService.usual }
    question = .profiles
    return .ask
  }

  private mutating func takeProfiles(
    _ answer: SOAPAnswer?, _ reply: HTTPReply
  ) throws(ONVIFError) -> Step {
    if case .content(let content) = answer { profiles = ONVIFProfile.all(in: content) }
    guard !profiles.isEmpty else {
      // Some cameras answer only one of the services, although they name both.
      if services.count > 1 {
        services.removeFirst()
        return .ask
      }
      if case .content = answer { throw .noProfiles }
      throw error(answer, reply)
    }
    switch purpose {
    // Some cameras say in Media 2 nothing of encodings.
    case .play(nil)
    where ONVIFProfile.usable(in: profiles, by: media).isEmpty && services.count > 1:
      services.removeFirst()
    case .play(let choice): question = .stream(try index(for: choice))
    case .list: question = .stream(0)
    }
    return .ask
  }

  private func index(for choice: ProfileChoice?) throws(ONVIFError) -> Int {
    let known = profiles.map(\.name)
    switch choice {
    case .called(let text):
      let index =
        profiles.firstIndex { $0.token == text } ?? profiles.firstIndex { $0.isCalled(text) }
        ?? Int(text).flatMap { profiles.indices.contains($0) ? $0 : nil }
      guard let index else { throw .noSuchProfile(text, known: known) }
      return index
    case .number(let number):
      guard profiles.indices.contains(number) else {
        throw .noSuchProfile("\(number)", known: known)
      }
      return number
    case nil:
      let best = ONVIFProfile.usable(in: profiles, by: media).first
      guard let best, let index = profiles.firstIndex(of: best) else {
        throw .noUsableProfile(encodings: Set(profiles.compactMap(\.video)).sorted())
      }
      return index
    }
  }

  private mutating func takeStream(
    _ answer: SOAPAnswer?, _ reply: HTTPReply, _ index: Int
  ) throws(ONVIFError) -> Step {
    var address: String?
    if case .content(let content) = answer { address = content.first("Uri")?.text }
    if case .list = purpose {
      profiles[index].stream = address.flatMap(Self.shown)
      question = .snapshot(index)
      return .ask
    }
    if let address, !address.isEmpty { return .play(address, profiles[index]) }
    if services.count > 1 {
      services.removeFirst()
      return .ask
    }
    if case .content = answer { throw .noAddress(profile: profiles[index].name) }
    throw error(answer, reply)
  }

  private mutating func list(after index: Int) -> Step {
    let next = index + 1
    guard profiles.indices.contains(next), next < Self.mostListed else { return .list(profiles) }
    question = .stream(next)
    return .ask
  }

  /// An address for people, without any user name and password; `nil` if there is none.
  private static func shown(_ address: String) -> String? {
    address.isEmpty ? nil : ServerURL.withoutUser(address)
  }
}
