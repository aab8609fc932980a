import NIOCore
import NIOPosix
import RTPWire
import Receiver
import Reception
import Synchronization
import Testing

@testable import Transports

/// A script played on sockets of loopback, received as any program with this library does it.
enum SocketPlay {
  /// Nothing in the scripts that are played here pauses for longer.
  static let silence = Duration.seconds(1)

  static func run(_ script: Script) async throws -> (Outcome, port: Int) {
    let isSecure = script.given["secure"] != nil
    let server = try await SocketServer.start(script, scheme: isSecure ? "rtsps" : "rtsp")
    let clip = try ClipPackets.shared.get()
    let frames = Mutex<[Frame]>([])
    let begun = ContinuousClock.now

    var configuration = Receiver.Configuration()
    configuration.firstMediaTimeout = .after(.seconds(3))
    configuration.silenceTimeout = .after(silence)
    configuration.onAccessUnit = { unit in
      let frame = Frame(unit, of: clip)
      frames.withLock { $0.append(frame) }
    }
    let transport = try TransportCatalogue.standard.make(
      source: script.source(port: server.port), options: script.options,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let report = try await Receiver(transport: transport, configuration: configuration).run()

    var outcome = Outcome()
    // A transport reports these only as text.
    outcome.reports = nil
    outcome.frames = frames.withLock { $0 }
    outcome.seconds = (ContinuousClock.now - begun) / .seconds(1)
    outcome.requests = try await server.requests()
    (outcome.end, outcome.texts) = Self.words(for: report.reason)
    try await server.stop()
    return (outcome, server.port)
  }

  private static func words(for reason: EndReason) -> (String, [String]) {
    switch reason {
    case .cannotOpen(let error), .transportFailed(let error), .unsupportedMedia(let error):
      (caseName(of: error), ["\(error)", String(reflecting: error)])
    case .noMedia: ("noMedia", [])
    case .mediaLost: ("mediaStopped", [])
    case .goodbye, .ended: ("finished", [])
    default: ("\(reason)", [])
    }
  }
}

extension Script {
  /// The address that the client is given.
  func source(port: Int) -> String {
    let scheme = given["secure"] == nil ? "rtsp" : "rtsps"
    return "\(scheme)://127.0.0.1:\(port)" + (given["url"] ?? "/stream")
  }

  /// Further options of the client.
  var options: TransportOptions {
    var options = TransportOptions()
    // In the connection unless the script says otherwise: what most of them are about.
    options.rtsp.lowerTransport =
      RTSPConfiguration.LowerTransport(rawValue: given["delivery"] ?? "tcp") ?? .tcp
    options.rtsp.setsUpEverything = given["everything"] != nil
    if let user = given["user"], let password = given["password"] {
      options.rtsp.credentials = Credentials(user: user, password: password)
    }
    return options
  }
}
