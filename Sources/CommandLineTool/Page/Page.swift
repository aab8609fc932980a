import Receiver
import Serving

/// The page that a run serves while it receives.
struct Page: Sendable {
  /// What it shows.
  let live: LivePage
  private let server: PageServer

  /// Names what the token is, so that it is the same in each run.
  private static let tokenName = "RTP_RECV_PAGE_TOKEN"

  /// Begins to serve `live` and `routes` at `address`, and says where that is.
  ///
  /// - Throws: `CannotWrite`, as for anything else that cannot be given out.
  init(
    at address: ListenAddress, showing live: LivePage, routes: Routes = Routes()
  ) async throws(CannotWrite) {
    self.live = live
    let chosen = Environment.value(of: Self.tokenName)
    let token = chosen.flatMap { AccessToken($0) }
    guard chosen == nil || token != nil else {
      throw CannotWrite(
        description: "\(Self.tokenName) must be 16 to 128 letters, digits, hyphens and underscores",
        status: .usage)
    }
    do {
      server = try await PageServer.start(at: address, page: live, routes: routes, token: token)
    } catch {
      throw CannotWrite(description: error.description)
    }
    StandardError.say("the page is at \(server.url)")
    if server.isReachable {
      StandardError.say(
        .warning("whoever has its address sees the pictures, which are not encrypted on their way"))
    }
  }

  /// Ends all connections.
  func stop() async { await server.stop() }
}
