import BlockingIO
import NIOCore
import RTPSend
import RTPWire
import Synchronization
import Transports

/// Says what happens to clients, as far as ``NewsAllowance`` goes, and to streams.
final class ClientNews: Sendable {
  private let isQuiet: Bool
  private let allowance = Mutex(NewsAllowance())

  /// Failures are also said where `isQuiet`.
  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  func tell(_ event: SenderEvent) {
    // Clients that come and go must not hide it.
    if case .streamFailed = event { return say(event) }
    guard event.isFailure || !isQuiet else { return }
    let now = Instant.now
    guard let leftOut = allowance.withLock({ $0.admit(at: now) }) else { return }
    tell(leftOut)
    say(event)
  }

  /// Says at the end what was left out last.
  func finish() { tell(allowance.withLock { $0.takeLeftOut() }) }

  private func say(_ event: SenderEvent) {
    for line in event.lines { Session.complain(line) }
  }

  private func tell(_ leftOut: Int) {
    if leftOut > 0 { Session.complain("\(leftOut.counted("message")) about clients left out") }
  }
}

extension SenderEvent {
  fileprivate var isFailure: Bool {
    if case .clientFailed = self { true } else { false }
  }

  fileprivate var lines: [String] {
    switch self {
    case .clientArrived(let client): ["sending to \(client.hostAndPort)"]
    case .clientLeft(let client): ["\(client.hostAndPort) has gone"]
    case .clientReported(let client, let receptions):
      receptions.map { "\(client.hostAndPort): \($0.line)" }
    case .clientIgnored(let client):
      ["ignoring the hello of \(client.hostAndPort) while another client is served"]
    case .clientTooSlow(let client):
      ["\(client.hostAndPort) is too slow; pictures are left out for it"]
    case .clientFailed(let client, let reason): ["\(client.hostAndPort): \(reason)"]
    case .streamFailed(let name, let reason): ["/\(name): \(reason)"]
    }
  }
}
