import NIOCore
import RTPWire
import Synchronization
import TransportConformance

@testable import Transports

/// Any subject, with SRTP around its transport and its far end's packets protected.
struct ProtectedSubject<Inner: ConformanceSubject>: ConformanceSubject {
  private let inner: Inner
  private let key: SRTPKeyMaterial?
  private let hasEverySize: Bool

  /// Each size costs more here than all else, so that one of the carriers has every one of them.
  init(_ inner: Inner, hasEverySize: Bool = false) {
    self.inner = inner
    self.hasEverySize = hasEverySize
    let bytes = (0..<30).map { UInt8($0) }
    key = try? SRTPKeyMaterial(suite: .aesCM128SHA1Tag80, keyAndSalt: bytes.span.bytes)
  }

  var name: String { "SRTP in \(inner.name)" }

  var carrier: Carrier {
    var carrier = inner.carrier
    // Room for the tag.
    let sizes = carrier.packetSizes
    carrier.packetSizes = sizes.lowerBound...sizes.upperBound - 10
    if !hasEverySize { carrier.everySizeUpTo = 4096 }
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    guard let key else { throw SRTPError.keyMissing(profile: "SRTP") }
    return try ProtectedEnd(await inner.startFarEnd(behaviour), key)
  }
}

private final class ProtectedEnd: FarEnd {
  private let inner: any FarEnd
  private let key: SRTPKeyMaterial
  private let protector: Mutex<SRTPProtector>
  private let reports: Mutex<Reports>

  /// Received compound packets, each of which can be decrypted once.
  private struct Reports {
    var session: SRTPSession
    var seen = 0
    var clear: [ByteBuffer] = []
  }

  init(_ inner: any FarEnd, _ key: SRTPKeyMaterial) throws {
    self.inner = inner
    self.key = key
    protector = Mutex(try SRTPProtector(key))
    reports = Mutex(Reports(session: try SRTPConfiguration(keys: .fixed([key])).makeSession()))
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    SRTPTransport(
      wrapping: try inner.makeTransport(on: eventLoop), SRTPConfiguration(keys: .fixed([key])))
  }

  func send(_ packets: [ByteBuffer]) async throws { try await send(packets, onTrack: 0) }

  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws {
    let protected = try protector.withLock { protector in
      try packets.map { try protector.protect($0) }
    }
    try await inner.send(protected, onTrack: track)
  }

  func sendRaw(_ bytes: ByteBuffer) async throws { try await inner.sendRaw(bytes) }
  func finish() async throws { try await inner.finish() }
  func fail() async throws { try await inner.fail() }

  var feedback: [ByteBuffer] {
    let protected = inner.feedback
    return reports.withLock { reports in
      for compound in protected.dropFirst(reports.seen) {
        let now = Instant(NIODeadline.now())
        if case .passed(let clear) = reports.session.unprotect(
          compound, isControl: true, at: now)
        {
          reports.clear.append(clear)
        }
      }
      reports.seen = protected.count
      return reports.clear
    }
  }

  func close() async { await inner.close() }
}
