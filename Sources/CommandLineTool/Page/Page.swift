import Receiver
import Serving

/// The page that a run serves while it receives.
struct Page: Sendable {
  /// What it shows.
  let live: LivePage
  private let server: PageServer

  /// Begins to serve `live` and `routes` at `address`, and says where that is.
  ///
  /// - Throws: `CannotWrite`, as for anything else that cannot be given out.
  init(
    at address: ListenAddress, showing live: LivePage, routes: Routes = Routes()
  ) async throws(CannotWrite) {
    self.live = live
    do {
      server = try await PageServer.start(at: address, page: live, routes: routes)
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
