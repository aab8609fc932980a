import Testing

@testable import Serving

/// Where the page cannot be served.
struct PageServerTests {
  @Test("a port that another program has is said to be the reason, with what to do")
  func takenPort() async throws {
    let first = try await PageServer.start(
      at: try #require(ListenAddress("127.0.0.1:0")), page: LivePage(), routes: Routes())
    let port = try #require(first.url.firstMatch(of: #/:(\d+)\//#)).1
    let address = try #require(ListenAddress("127.0.0.1:\(port)"))
    let error = await #expect(throws: ServingError.self) {
      try await PageServer.start(at: address, page: LivePage(), routes: Routes())
    }
    #expect(
      error?.description
        == "the page cannot be served at 127.0.0.1:\(port): Address already in use; "
        + "another program has this port; choose another")
    await first.stop()
  }
}
