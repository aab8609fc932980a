import Foundation
import NIOCore
import RTPWire
import TransportConformance
import Transports

/// Any subject, with everything that its transports deliver captured to an unused file.
struct CapturedSubject<Inner: ConformanceSubject>: ConformanceSubject {
  private let inner: Inner

  init(_ inner: Inner) { self.inner = inner }

  var name: String { "a capture of \(inner.name)" }
  var carrier: Carrier { inner.carrier }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    CapturedEnd(try await inner.startFarEnd(behaviour))
  }
}

private final class CapturedEnd: FarEnd {
  private let inner: any FarEnd

  init(_ inner: any FarEnd) { self.inner = inner }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    CapturingTransport(
      try inner.makeTransport(on: eventLoop), to: try CaptureFile(path: "/dev/null"))
  }

  func send(_ packets: [ByteBuffer]) async throws { try await inner.send(packets) }
  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws {
    try await inner.send(packets, onTrack: track)
  }
  func sendRaw(_ bytes: ByteBuffer) async throws { try await inner.sendRaw(bytes) }
  func finish() async throws { try await inner.finish() }
  func fail() async throws { try await inner.fail() }
  var feedback: [ByteBuffer] { inner.feedback }
  func close() async { await inner.close() }
}
