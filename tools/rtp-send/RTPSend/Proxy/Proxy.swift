public import Impairment
public import NIOCore
import NIOPosix

/// A bad network in front of somebody else's sender or server.
public final class Proxy: Sendable {
  /// What it stands in front of, and what it does.
  public struct Configuration: Sendable {
    public var listening: Endpoint
    public var target: Endpoint
    public var plan = Plan()
    /// The same one gives the same verdicts.
    public var seed: UInt64 = 0
    /// Takes what the networks decide about each packet; called on the event loop.
    public var onVerdicts: (@Sendable ([Verdict]) -> Void)?
    /// What clients of RTSP may have at most.
    var limits = Limits()

    struct Limits: Sendable, Hashable {
      /// All of them; more are refused, so that nobody can take all descriptors.
      var clients = 256
      /// Those of one address, so that nobody alone can keep all others out.
      var clientsOfOneAddress = 128
      /// Their tracks over UDP, each of which has four sockets.
      var tracksOfOneAddress = 512
      /// How long nothing may come from either side: a client that is there says something within
      /// a minute (RFC 2326 §12.37).
      var silence = TimeAmount.minutes(2)
    }

    public init(listening: Endpoint, target: Endpoint) {
      self.listening = listening
      self.target = target
    }
  }

  /// `udp://host:port` or `rtsp://host:port`.
  public struct Endpoint: Sendable, Hashable {
    public enum Scheme: String, Sendable { case udp, rtsp }

    public let scheme: Scheme
    /// Empty for any address to listen on.
    public let host: String
    public let port: Int

    /// - Throws: ``SendError/invalid(option:reason:)`` if the URL has another form.
    public init(_ url: String) throws(SendError) {
      let problem = SendError.invalid(
        option: "proxy", reason: "takes udp://HOST:PORT or rtsp://HOST:PORT, not '\(url)'")
      guard let separator = url.firstRange(of: "://"),
        let scheme = Scheme(rawValue: url[..<separator.lowerBound].lowercased())
      else { throw problem }
      var rest = url[separator.upperBound...]
      if rest.hasSuffix("/") { rest.removeLast() }
      var port: Int? = scheme == .rtsp ? 554 : nil
      if let colon = rest.lastIndex(of: ":"), !rest.hasSuffix("]") {
        port = Int(rest[rest.index(after: colon)...])
        rest = rest[..<colon]
      }
      if rest.hasPrefix("["), rest.hasSuffix("]") {
        rest = rest.dropFirst().dropLast()
      } else if rest.contains(":") || rest.contains("/") || rest.contains("@") {
        throw problem
      }
      guard let port, (0...65_535).contains(port) else { throw problem }
      self.scheme = scheme
      host = String(rest)
      self.port = port
    }

    /// Whether what arrives here and goes to `other` comes here again.
    public func leads(to other: Endpoint) -> Bool {
      let isAny = ["", "0.0.0.0", "::"].contains(host)
      let isHere = ["localhost", "127.0.0.1", "::1"].contains(other.host.lowercased())
      guard host.lowercased() == other.host.lowercased() || isAny && isHere else { return false }
      // RTCP has the port above.
      return abs(port - other.port) <= (scheme == .udp ? 1 : 0)
    }

    /// Whether it is the address of a group, whose datagrams go past a proxy.
    public var isMulticast: Bool {
      (try? SocketAddress(ipAddress: host, port: port))?.isMulticast ?? false
    }

    func resolved() throws(SendError) -> SocketAddress {
      do {
        return try SocketAddress.makeAddressResolvingHost(
          host.isEmpty ? "0.0.0.0" : host, port: port)
      } catch {
        throw .network(address: host, reason: "this name or address is not known")
      }
    }
  }

  /// Where clients go.
  public let localAddress: SocketAddress
  private let service: NIOLoopBound<any ProxyService>
  private let loop: any EventLoop

  /// Listens, and forwards from then on.
  ///
  /// - Throws: ``SendError`` when an address is not known or cannot be listened on.
  public static func start(_ configuration: Configuration) async throws -> Proxy {
    let local = try configuration.listening.resolved()
    let target = try configuration.target.resolved()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    return try await loop.flatSubmit {
      let paths = ProxyPaths(configuration, on: loop.assumeIsolated())
      switch configuration.listening.scheme {
      case .udp: return UDPProxy.open(at: local, to: target, paths, on: loop)
      case .rtsp: return RTSPProxy.open(at: local, to: target, paths, on: loop)
      }
    }.get()
  }

  init(_ service: any ProxyService, at address: SocketAddress, on loop: any EventLoop) {
    self.service = NIOLoopBound(service, eventLoop: loop)
    self.loop = loop
    localAddress = address
  }

  /// Ends everything, and says what was done.
  public func stop() async throws -> ProxyReport {
    try await loop.flatSubmit { [service] in service.value.end() }.get()
  }
}

extension SendError {
  static func cannotListen(at address: SocketAddress, _ error: any Error) -> SendError {
    let reason = (error as? IOError).map { Libav.reason(-$0.errnoCode) } ?? "\(error)"
    return .network(
      address: address.hostAndPort,
      reason: "cannot listen there: \(reason); port 0 takes free ports, :PORT any address")
  }
}

/// What a proxy did.
public struct ProxyReport: Sendable, Hashable {
  public var network = ImpairmentCounters()
  public var clients = 0
  /// Clients whose server could not be reached.
  public var unreachable = 0
  /// Datagrams that this machine lost because the proxy was too slow, which no verdict says.
  public var ownLosses: UInt64 = 0

  public init() {}
}

/// What listens, on its event loop.
protocol ProxyService {
  func end() -> EventLoopFuture<ProxyReport>
}

/// Makes the paths of a proxy, and adds up what they did.
final class ProxyPaths {
  let configuration: Proxy.Configuration
  let loop: NIOIsolatedEventLoop
  private(set) var report = ProxyReport()

  init(_ configuration: Proxy.Configuration, on loop: NIOIsolatedEventLoop) {
    self.configuration = configuration
    self.loop = loop
  }

  /// Counts a client, and says which one it is.
  func admit() -> Int {
    defer { report.clients += 1 }
    return report.clients
  }

  /// A path for a client; several tracks of one client each have theirs.
  ///
  /// The tracks of the first client are numbered as those of a sender, so that they have the same
  /// random numbers.
  func open(for address: SocketAddress, client: Int, track: Int = 0) -> PathDriver {
    let path = ProxyPath(
      configuration.plan, seed: configuration.seed, number: client << 16 | track & 0xFFFF,
      client: address.hostAndPort, recordsVerdicts: configuration.onVerdicts != nil)
    return PathDriver(path, on: loop, onVerdicts: configuration.onVerdicts)
  }

  /// The totals once everything has ended.
  func report(after ends: [EventLoopFuture<Void>]) -> EventLoopFuture<ProxyReport> {
    let loop = loop.nonisolated()
    let done = loop.makePromise(of: ProxyReport.self)
    EventLoopFuture.andAllComplete(ends, on: loop).assumeIsolated().whenComplete { _ in
      done.succeed(self.report)
    }
    return done.futureResult
  }

  func noteUnreachable() { report.unreachable += 1 }

  /// Ends a path, and the sockets that it had.
  func close(_ driver: PathDriver, _ ports: [DatagramPort]) -> EventLoopFuture<Void> {
    driver.end()
    report.network.add(driver.counters)
    return count(ports)
  }

  /// Adds up what the kernel dropped in front of `ports`, and closes them.
  func count(_ ports: [DatagramPort]) -> EventLoopFuture<Void> {
    let loop = loop.nonisolated()
    let done = loop.makePromise(of: Void.self)
    EventLoopFuture.whenAllSucceed(ports.compactMap(\.ownLosses), on: loop).assumeIsolated()
      .whenComplete { result in
        if case .success(let counts) = result {
          self.report.ownLosses += counts.reduce(0) { $0 + UInt64($1) }
        }
        for port in ports { port.close() }
        done.succeed()
      }
    return done.futureResult
  }
}
