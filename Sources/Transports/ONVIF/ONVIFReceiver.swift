internal import NIOCore
internal import RTPWire

/// Asks a camera for the address of a stream, and then receives it by RTSP, on its event loop.
final class ONVIFReceiver: PacketReceiver {
  private let eventLoop: any EventLoop
  private let device: ServerURL
  private let credentials: Credentials?
  private let configuration: RTSPConfiguration
  private let sockets: UDPTransport.SocketConfiguration
  /// Who gets the stream; handed on to what receives it.
  private var sink: (any DatagramSink)?
  private var dialogue: ONVIFDialogue
  private var redirections: Redirections
  /// Where requests go: the device's address, or that to which it has redirected.
  private var origin: ServerURL
  private var exchange: HTTPExchange?
  private var opening: EventLoopPromise<Void>?
  private var timer: Scheduled<Void>?
  private var count = TransportCounters()
  private var isOver = false
  /// What receives the stream, once its address is known.
  private var stream: RTSPReceiver?
  /// All profiles, if they were asked for.
  private(set) var profiles: [ONVIFProfile]?

  /// The most time for one answer.
  private static let longestAnswerTime = TimeAmount.seconds(10)
  /// The time for one answer: a camera thinks longer than its stream is silent.
  private var answerTime: TimeAmount {
    guard let silence = configuration.silence else { return Self.longestAnswerTime }
    return min(.nanoseconds((silence * 2).wholeNanoseconds), Self.longestAnswerTime)
  }
  /// The time for all of them together.
  private var wholeTime: TimeAmount { answerTime * 3 }
  /// The difference of two clocks that is worth telling, in seconds: some cameras refuse logins
  /// that are five seconds off.
  private static let tolerableOffset = 5

  /// `device` is an address of ``ServerURL/Family/http``.
  init(
    _ device: ServerURL, credentials: Credentials?, configuration: RTSPConfiguration,
    sockets: UDPTransport.SocketConfiguration, purpose: ONVIFDialogue.Purpose,
    on eventLoop: any EventLoop, delivering sink: (any DatagramSink)?
  ) {
    self.eventLoop = eventLoop
    self.device = device
    self.credentials = credentials
    self.configuration = configuration
    self.sockets = sockets
    self.sink = sink
    origin = device
    redirections = Redirections(from: device)
    dialogue = ONVIFDialogue(
      for: purpose, credentials: credentials, lowerTransport: configuration.lowerTransport,
      media: configuration.formats, randomness: SystemRandomNumberGenerator())
    if device.isSecure, let remark = configuration.tls.remark { count.note(remark) }
  }

  /// Starts to ask; the future succeeds once the stream plays, or the profiles are known.
  func start() -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    opening = promise
    let end = NIODeadline.now() + wholeTime
    ask(until: end)
    return promise.futureResult
  }

  func close() {
    if let stream { return stream.close() }
    end(.failure(TransportError.closed))
  }

  func holdReading(_ isHeld: Bool) { stream?.holdReading(isHeld) }

  func gather(for time: Duration) { stream?.gather(for: time) }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) { stream?.sendFeedback(bytes, track: track) }

  var counters: TransportCounters { stream?.counters.added(to: count) ?? count }

  // MARK: - The dialogue

  private func ask(until end: NIODeadline) {
    let request = dialogue.request(at: .now)
    var url = origin
    url.path = request.path
    post(request, to: url, until: end)
  }

  private func post(_ request: ONVIFDialogue.Request, to url: ServerURL, until end: NIODeadline) {
    count.onvifRequests += 1
    var settings = HTTPConfiguration()
    settings.tls = configuration.tls
    let exchange = HTTPExchange(on: eventLoop)
    self.exchange = exchange
    let now = NIODeadline.now()
    let isLast = end - now <= answerTime
    watch(
      until: isLast ? end : now + answerTime,
      error: isLast
        ? .tooSlow(seconds: wholeTime.seconds)
        : .noAnswer(request: request.name, seconds: answerTime.seconds))
    let answer = exchange.start(
      HTTPTransfer.Request(
        url: url, credentials: request.usesDigest ? credentials : nil, configuration: settings,
        sockets: sockets, staysOutside: false,
        message: HTTPMessage(
          contentType: request.contentType, body: request.body,
          answerLimit: XMLElement.maximumBytes)))
    answer.assumeIsolated().whenComplete { result in
      guard !self.isOver, self.exchange === exchange else { return }
      self.exchange = nil
      switch result {
      case .failure(let error): self.end(.failure(error))
      case .success(let reply): self.take(reply, to: request, from: url, until: end)
      }
    }
  }

  private func take(
    _ reply: HTTPReply, to request: ONVIFDialogue.Request, from url: ServerURL,
    until end: NIODeadline
  ) {
    do {
      if let location = reply.location {
        let target = try followed(location, from: url)
        return post(request, to: target, until: end)
      }
      let step = try dialogue.take(reply, at: .now)
      noteClock()
      switch step {
      case .ask: ask(until: end)
      case .play(let address, let profile): try play(address, of: profile)
      case .list(let profiles):
        self.profiles = profiles
        self.end(.success(()))
      }
    } catch {
      self.end(.failure(error))
    }
  }

  /// The address to which the device redirects: another port of it, or its TLS.
  private func followed(_ location: String, from url: ServerURL) throws -> ServerURL {
    do throws(Redirections.Fault) {
      let target = try redirections.follow(location, from: url)
      guard target.host.lowercased() == device.host.lowercased() else { throw .refused }
      origin = target
      count.note("redirected to \(ServerURL.withoutUser(location))")
      return target
    } catch {
      switch error {
      case .refused: throw HTTPError.redirectRefused(to: location)
      case .tooOften(let limit): throw HTTPError.redirectedTooOften(limit: limit)
      }
    }
  }

  private func noteClock() {
    guard let offset = dialogue.clockOffset, offset.magnitude > Self.tolerableOffset else { return }
    count.note(
      "the camera's clock is \(offset.magnitude) s \(offset > 0 ? "ahead of" : "behind") this one")
  }

  // MARK: - The stream

  private func play(_ address: String, of profile: ONVIFProfile) throws {
    let isTunnel = configuration.lowerTransport == .http
    // Cameras give the address of RTSP in HTTP with either scheme.
    let text = isTunnel && address.hasPrefix("http") ? "rtsp" + address.dropFirst(4) : address
    guard let given = GivenAddress(text),
      let url = given.url(at: device, as: isTunnel ? .rtspInHTTP : .rtsp)
    else {
      throw ONVIFError.unusableAddress(ServerURL.withoutUser(address), profile: profile.name)
    }
    count.note("profile '\(profile.name.printable)' at \(ServerURL.withoutUser(url.description))")
    if ServerURL.endpoint(device.host, nil) != given.host {
      count.note("the camera itself names the host '\(given.host.printable)'")
    }
    var configuration = configuration
    // What was sent with TLS so far is not sent in clear now.
    if origin.isSecure, !url.isSecure { configuration.allowsBasic = false }
    let stream = RTSPReceiver(
      url, credentials: credentials ?? given.credentials, configuration: configuration,
      sockets: sockets, purpose: .play, on: eventLoop, delivering: sink)
    self.stream = stream
    sink = nil
    timer?.cancel()
    timer = nil
    let promise = opening
    opening = nil
    isOver = true
    stream.start().cascade(to: promise)
  }

  private func watch(until deadline: NIODeadline, error: ONVIFError) {
    timer?.cancel()
    timer = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      self.end(.failure(error))
    }
  }

  private func end(_ result: Result<Void, any Error>) {
    guard !isOver else { return }
    isOver = true
    sink = nil
    timer?.cancel()
    timer = nil
    exchange?.cancel(because: TransportError.closed)
    exchange = nil
    opening?.completeWith(result)
    opening = nil
  }
}

extension TimeAmount {
  fileprivate var seconds: Int { Int(nanoseconds / 1_000_000_000) }
}
