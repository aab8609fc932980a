import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// The key derived from a seed.
func srtpKey(
  _ suite: SRTPSuite = .aesCM128SHA1Tag80, seed: UInt64 = 1, identifier: [UInt8] = []
) throws -> SRTPKeyMaterial {
  var random = SeededGenerator(seed: seed)
  let bytes = (0..<suite.keyLength + suite.saltLength).map { _ in
    UInt8(truncatingIfNeeded: random.next())
  }
  return try SRTPKeyMaterial(suite: suite, keyAndSalt: bytes.span.bytes, identifier: identifier)
}

func unhex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map {
    UInt8(digits[$0] << 4 | digits[$0 + 1])
  }
}

/// A sender of protected packets: one context, with the identifier of its key.
struct ProtectingSender {
  let key: SRTPKeyMaterial
  let context: SRTPContext
  private let layout: SRTPLayout

  init(_ key: SRTPKeyMaterial, readableControl: Bool = false) throws {
    self.key = key
    context = try SRTPContext(key, for: .anySent, readableControl: readableControl)
    layout = SRTPLayout(
      suite: key.suite, identifierLength: key.identifier.count,
      acceptsReadableControl: readableControl)
  }

  func protect(_ packet: ByteBuffer, isControl: Bool = false) throws -> ByteBuffer {
    var packet = packet
    try #require(context.protect(&packet, isControl: isControl) == .authentic)
    layout.insert(key.identifier, into: &packet, isControl: isControl)
    return packet
  }
}

/// The sink of a transport that could not be opened, which nobody else holds.
struct WeakSink {
  private(set) weak var sink: RecordingSink?

  init(refusedBy transport: any RTPTransport) async {
    let sink = RecordingSink()
    await #expect(throws: (any Error).self) { try await transport.open(delivering: sink) }
    self.sink = sink
  }
}

extension SRTPSession {
  /// A session with `keys`, all for every source.
  init(
    _ keys: SRTPKeyMaterial..., readableControl: Bool = false, rollover: UInt32? = nil
  ) throws {
    let first = try #require(keys.first)
    self.init(
      layout: SRTPLayout(
        suite: first.suite, identifierLength: first.identifier.count,
        acceptsReadableControl: readableControl),
      givenRollover: rollover)
    for key in keys { try add(key) }
  }

  /// The outcome of a media packet.
  mutating func take(
    _ packet: ByteBuffer, isControl: Bool = false, at seconds: Double = 0
  ) -> Fate {
    let now = Instant(nanoseconds: Int64(seconds * 1e9))
    switch unprotect(packet, isControl: isControl, at: now) {
    case .passed(let clear): return .passed(clear)
    case .authenticationFailed: return .authenticationFailed
    case .replayed: return .replayed
    case .malformed(let malformation): return .malformed(malformation)
    case .keyUnknown(let request): return .keyUnknown(request)
    }
  }

  enum Fate: Hashable {
    case passed(ByteBuffer)
    case authenticationFailed
    case replayed
    case malformed(SRTPLayout.Malformation)
    case keyUnknown(SRTPKeyRequest)

    var isPassed: Bool { if case .passed = self { true } else { false } }
  }
}
