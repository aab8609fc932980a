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
  /// How long media is waited for at first; a script that ends only by that has a `patience` of its
  /// own.
  private static let patience = 20.0
  /// Far more than the scripts that are played here pause, because a busy machine pauses too.
  private static let silence = Duration.seconds(10)

  static func run(_ script: Script) async throws -> (Outcome, port: Int) {
    let isSecure = script.given["secure"] != nil
    let server = try await SocketServer.start(script, scheme: isSecure ? "rtsps" : "rtsp")
    let clip = try ClipPackets.shared.get()
    let frames = Mutex<[Frame]>([])

    var configuration = Receiver.Configuration()
    let patience = script.given["patience"].flatMap { Double($0) } ?? Self.patience
    configuration.firstMediaTimeout = .after(.seconds(patience))
    configuration.silenceTimeout = .after(silence)
    configuration.onAccessUnit = { unit in
      let frame = Frame(unit, of: clip)
      frames.withLock { $0.append(frame) }
    }
    var options = script.options
    options.silence = .after(silence)
    let transport = try TransportCatalogue.standard.make(
      source: script.source(port: server.port), options: options,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let report = try await Receiver(transport: transport, configuration: configuration).run()

    var outcome = Outcome()
    // A transport reports these only as text.
    outcome.reports = nil
    outcome.seconds = nil
    outcome.frames = frames.withLock { $0 }
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
