internal import NIOCore
internal import RTPWire

/// Finds the roll-over counter of a source that was joined late, or was away for more than 2^15
/// packets, by trying counters on copies of its packets.
///
/// No packet contains the counter (RFC 3711 §3.3.1). Trials are limited in number and rate. They
/// continue from packet to packet, and only a packet that authenticates ends them.
struct RolloverSearch {
  /// The counters to try, in this order.
  struct Candidates: Sendable, Hashable {
    /// Likely counters: the user's, and the one that the source has under another key.
    var likely: [UInt32] = []
    /// The first of ``RolloverSearch/span`` counters that are tried afterwards, over and over.
    var first: UInt32 = 1
  }

  /// A source under trial.
  private struct Prospect {
    let ssrc: UInt32
    let key: SRTPKeyMaterial
    /// A context for this source only, so that trials change nothing elsewhere.
    let context: SRTPContext
    var candidates: Candidates
    var tried: UInt32 = 0

    var next: UInt32 {
      if let likely = candidates.likely.dropFirst(Int(clamping: tried)).first { return likely }
      let further = tried &- UInt32(clamping: candidates.likely.count)
      return candidates.first &+ further % RolloverSearch.span
    }
  }

  private(set) var trials: UInt64 = 0
  /// The least recently heard source comes first.
  private var prospects: [Prospect] = []
  private var allowance = TrialAllowance()
  /// Limits how many searches one address can start.
  private var beginnings = AddressAllowance(burst: 2, interval: .seconds(1))
  private let replayWindow: Int

  init(replayWindow: Int) { self.replayWindow = replayWindow }

  /// Tries counters on `packet`, which did not authenticate; it is copied to `scratch` for each
  /// trial.
  ///
  /// - Returns: the context in which it authenticated; `scratch` then holds the decrypted packet.
  mutating func context(
    for packet: ByteBuffer, of ssrc: UInt32, key: SRTPKeyMaterial, layout: SRTPLayout,
    candidates: Candidates, from origin: SocketAddress?, at now: Instant, scratch: inout ByteBuffer
  ) -> SRTPContext? {
    allowance.refill(at: now)
    var prospect: Prospect
    if let index = prospects.firstIndex(where: { $0.ssrc == ssrc && $0.key === key }) {
      prospect = prospects.remove(at: index)
      // The source has gone on meanwhile: earlier counters mean replayed packets.
      if prospect.candidates != candidates {
        (prospect.candidates, prospect.tried) = (candidates, 0)
      }
    } else {
      // Single packets must not exhaust the trials that a continuing source needs, nor one address
      // those of another.
      guard allowance.left - Self.contextCost >= TrialAllowance.burst / 2,
        beginnings.take(for: origin, at: now),
        allowance.take(Self.contextCost, leaving: TrialAllowance.burst / 2),
        let context = try? SRTPContext(key, for: .only(ssrc), replayWindow: replayWindow)
      else { return nil }
      prospect = Prospect(ssrc: ssrc, key: key, context: context, candidates: candidates)
      if prospects.count == Self.maximumProspects { prospects.removeFirst() }
    }
    for _ in 0..<Self.trialsPerPacket where allowance.take(1) {
      trials += 1
      let candidate = prospect.next
      prospect.tried &+= 1
      // For libsrtp, 0 means no expectation, and 0 was tried before.
      guard candidate > 0 else { continue }
      prospect.context.expect(rollover: candidate, of: ssrc)
      scratch.load(packet, layout: layout, isControl: false)
      if prospect.context.unprotect(&scratch, isControl: false) == .authentic {
        return prospect.context
      }
    }
    prospects.append(prospect)
    return nil
  }

  /// Ends the search for a source that was found in another way.
  mutating func forget(_ ssrc: UInt32) {
    if !prospects.isEmpty { prospects.removeAll { $0.ssrc == ssrc } }
  }

  /// How many counters are tried: at 500 packets a second a stream reaches this after 25 days.
  static let span: UInt32 = 16_384
  /// Trials per packet, about 0.3 ms in total, so that the packets after it do not wait.
  static let trialsPerPacket = 64
  static let maximumProspects = 4
  /// The cost of making a context, counted in trials.
  private static let contextCost = 8
}

extension ByteBuffer {
  /// Becomes a copy of `packet` in the form for libsrtp; others keep the previous content.
  mutating func load(_ packet: ByteBuffer, layout: SRTPLayout, isControl: Bool) {
    clear(minimumCapacity: packet.readableBytes + SRTPContext.spareBytes)
    writeImmutableBuffer(packet)
    layout.removeIdentifier(from: &self, isControl: isControl)
  }
}
