import NIOCore
import NIOEmbedded
import Testing

@testable import Transports

/// A server's layer in a channel without a socket, with a client's TLS at its other end.
struct TLSLayerTests {
  private let channel = EmbeddedChannel()
  private let client: TLSSession

  init() throws {
    var configuration = TLSConfiguration()
    configuration.acceptsAnything = true
    client = try TLSSession(TLSContext(configuration), .client(of: "localhost"))
    try channel.pipeline.syncOperations.addHandler(TLSLayer(TestCertificates.server("server")))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 554)).wait()
    // Two flights of the client, and one look more.
    for _ in 0..<3 {
      let isDone = try client.handshake() == nil
      if let flight = client.takeOutput(ByteBufferAllocator()) { try channel.writeInbound(flight) }
      try takeAnswers()
      if isDone { return }
    }
    Issue.record("the handshake has no end")
  }

  /// Gives the client what the layer has sent.
  private func takeAnswers() throws {
    while let answer = try channel.readOutbound(as: ByteBuffer.self) { try client.receive(answer) }
  }

  private func record(_ text: String) throws -> ByteBuffer {
    try client.write(ByteBuffer(string: text))
    return try #require(client.takeOutput(ByteBufferAllocator()))
  }

  @Test func whatCameBeforeAnErrorIsPassedOn() throws {
    var bytes = try record("genuine")
    var changed = try record("changed")
    let last = changed.writerIndex - 1
    let byte = try #require(changed.getInteger(at: last, as: UInt8.self))
    changed.setInteger(byte ^ 1, at: last)
    bytes.writeBuffer(&changed)
    #expect(throws: TLSError.self) { try channel.writeInbound(bytes) }
    #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "genuine"))
    #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    #expect(!channel.isActive)
  }

  @Test("a far end that does not close TLS is waited for", arguments: [true, false])
  func closing(isAnswered: Bool) throws {
    let written = channel.eventLoop.makePromise(of: Void.self)
    channel.writeAndFlush(ByteBuffer(string: "last"), promise: written)
    let closed = channel.close()
    try written.futureResult.wait()
    #expect(channel.isActive)
    try takeAnswers()
    var received = ByteBuffer()
    guard case .closed = try client.read(into: &received) else {
      Issue.record("there is no goodbye")
      return
    }
    #expect(received == ByteBuffer(string: "last"))
    if isAnswered {
      client.sayGoodbye()
      try channel.writeInbound(#require(client.takeOutput(ByteBufferAllocator())))
    } else {
      channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
      #expect(channel.isActive)
      channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    }
    #expect(!channel.isActive)
    try closed.wait()
  }
}
