internal import NIOCore
internal import RTPWire

/// Finds the roll-over counter of a source that was joined late, or that was away for more than 2^15
/// packets, by trying counters on copies of its packets.
///
/// A counter is in no packet (RFC 3711 §3.3.1). Trials are bounded in number and rate, they go on from
/// packet to packet, and only a packet that authenticates ends them.
struct RolloverSearch {
  /// Counters tried, the first ones first.
  struct Candidates: Sendable, Hashable {
    /// Likely ones: what the user says, and what the same source has under another key.
    var likely: [UInt32] = []
    /// All from here on are tried after those, ``RolloverSearch/span`` of them, over and over.
    var first: UInt32 = 1
  }

  /// A source under trial.
  private struct Prospect {
    let ssrc: UInt32
    let key: SRTPKeyMaterial
    /// Has this source alone, so that no trial leaves anything behind elsewhere.
    let context: SRTPContext
    let candidates: Candidates
    var tried: UInt32 = 0

    var next: UInt32 {
      if let likely = candidates.likely.dropFirst(Int(clamping: tried)).first { return likely }
      let further = tried &- UInt32(clamping: candidates.likely.count)
      return candidates.first &+ further % RolloverSearch.span
    }
  }

  private(set) var trials: UInt64 = 0
  /// The one not heard for longest first.
  private var prospects: [Prospect] = []
  private var allowance = TrialAllowance()
  /// Sources that an address may begin to be searched for.
  private var beginnings = AddressAllowance(burst: 2, interval: .seconds(1))
  private let replayWindow: Int

  init(replayWindow: Int) { self.replayWindow = replayWindow }

  /// Tries counters on `packet`, which did not authenticate and is copied to `scratch` for each trial.
  ///
  /// - Returns: the context in which it did, with the packet decrypted in `scratch`.
  mutating func context(
    for packet: ByteBuffer, of ssrc: UInt32, key: SRTPKeyMaterial, layout: SRTPLayout,
    candidates: Candidates, from origin: SocketAddress?, at now: Instant, scratch: inout ByteBuffer
  ) -> SRTPContext? {
    allowance.refill(at: now)
    var prospect: Prospect
    if let index = prospects.firstIndex(where: { $0.ssrc == ssrc && $0.key === key }) {
      prospect = prospects.remove(at: index)
    } else {
      // What comes once must not use up what a source that keeps coming needs, nor one address what
      // another does.
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
      // 0 would stand for no expectation at all, and has been tried before.
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

  /// Gives up what was tried for a source that has been found otherwise.
  mutating func forget(_ ssrc: UInt32) {
    if !prospects.isEmpty { prospects.removeAll { $0.ssrc == ssrc } }
  }

  /// Counters that are tried: at 500 packets a second a stream has so many after 25 days.
  static let span: UInt32 = 16_384
  /// Trials for one packet, some 0.3 ms in all, so that packets behind it do not wait.
  static let trialsPerPacket = 64
  static let maximumProspects = 4
  /// Trials that making a context stands for.
  private static let contextCost = 8
}

extension ByteBuffer {
  /// Becomes a copy of `packet` as libsrtp takes it; what it held stays with whoever has it.
  mutating func load(_ packet: ByteBuffer, layout: SRTPLayout, isControl: Bool) {
    clear(minimumCapacity: packet.readableBytes + SRTPContext.spareBytes)
    writeImmutableBuffer(packet)
    layout.removeIdentifier(from: &self, isControl: isControl)
  }
}
