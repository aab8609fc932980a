import Serving

/// The page of a fleet, with the metrics of its cameras, wherever the file says that it is.
///
/// One actor uses it.
final class FleetPage {
  let live = LivePage()
  let metrics = MetricsPage()
  private var served: (at: ListenAddress, page: Page)?

  /// Whether it is served anywhere.
  var isServed: Bool { served != nil }

  /// Serves the page at `address`, and no longer where it was served before.
  func serve(at address: ListenAddress?) async throws(CannotWrite) {
    guard address != served?.at else { return }
    let former = served
    // Two cannot have one port.
    if address == nil || former?.at.port == address?.port {
      await former?.page.stop()
      served = nil
    }
    guard let address else { return }
    do throws(CannotWrite) {
      let new = try await Page(at: address, showing: live, routes: metrics.routes)
      if served != nil { await former?.page.stop() }
      served = (address, new)
    } catch {
      if served == nil, let at = former?.at {
        served = try (at, await Page(at: at, showing: live, routes: metrics.routes))
      }
      throw error
    }
  }

  /// Ends all connections.
  func stop() async { await served?.page.stop() }
}
