import NIOCore
import NIOEmbedded
import Testing

@testable import Serving

/// How long a client of the page may take.
@Suite struct RequestBoundTests {
  @Test("an answer takes as long as it needs, and its client goes on taking it or is left")
  func slowAnswer() throws {
    let bound = RequestBound(Connections())
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandler(bound)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    let context = try channel.pipeline.syncOperations.context(handler: bound)
    let loop = channel.embeddedEventLoop
    bound.noteRequest(context)
    loop.advanceTime(by: .seconds(60))
    #expect(channel.isActive)
    for _ in 0..<3 {
      bound.noteProgress(context)
      loop.advanceTime(by: RequestBound.patience - .seconds(1))
      #expect(channel.isActive)
    }
    loop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }
}
