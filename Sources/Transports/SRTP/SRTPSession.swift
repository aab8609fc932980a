internal import NIOCore
internal import RTPWire

/// The receiving end of a protected stream: takes packets and the time, and returns each outcome.
///
/// A packet that is not authentic changes nothing but the counters and the remaining trials of
/// roll-over counters.
struct SRTPSession {
  enum Outcome: Sendable {
    /// Authentic; the decrypted packet, in storage of its own.
    case passed(ByteBuffer)
    case authenticationFailed
    case replayed
    case malformed(SRTPLayout.Malformation)
    /// There is no key for it.
    case keyUnknown(SRTPKeyRequest)
  }

  /// A key in use.
  private struct Key {
    let material: SRTPKeyMaterial
    /// The only source that it is for; `nil` for all sources.
    let ssrc: UInt32?
    /// The context for all sources that begin with a roll-over counter of 0.
    let context: SRTPContext
    /// The context for sending, once something is sent.
    var sending: SRTPContext?
  }

  /// A source that has sent an authentic packet.
  private struct Source {
    let ssrc: UInt32
    /// One entry for each key that protected its media.
    var media: [Media] = []

    struct Media {
      let key: SRTPKeyMaterial
      /// A context for this source only, if its roll-over counter had to be searched for.
      var own: SRTPContext?
      var lastHeard: Instant
    }

    func index(under key: SRTPKeyMaterial) -> Int? { media.lastIndex { $0.key === key } }

    func context(under key: SRTPKeyMaterial) -> SRTPContext? {
      index(under: key).flatMap { media[$0].own }
    }
  }

  /// The media of the last packet: the next one probably belongs to it and needs no look-up.
  private struct Recent {
    let ssrc: UInt32
    let key: SRTPKeyMaterial
    let context: SRTPContext
    /// Its index among the media of the source, which is the last in ``sources``.
    let index: Int
  }

  let layout: SRTPLayout
  private let replayWindow: Int
  private let givenRollover: UInt32?
  private var keys: [Key] = []
  /// The least recently heard source comes first.
  private var sources: [Source] = []
  /// The media of the last packet, while keys and sources are unchanged.
  private var recent: Recent?
  private var search: RolloverSearch
  /// Each packet is copied here and decrypted in place.
  ///
  /// A copy costs little compared with decrypting. Others who hold the read do not see the change,
  /// there is room after the packet, and the original is intact for another trial.
  private var scratch = ByteBuffer()
  /// The copies of the last packets passed on.
  ///
  /// Usually nobody keeps them, so the same memory is used again and again.
  private var used = Array(repeating: ByteBuffer(), count: Self.packetsTogether)
  private var nextUsed = 0
  /// The key of the last authentic packet, which is also used for sending.
  private var current: SRTPKeyMaterial?
  private var counted = SRTPCounters()

  init(
    layout: SRTPLayout, replayWindow: Int = SRTPContext.replayWindow, givenRollover: UInt32? = nil
  ) {
    self.layout = layout
    self.replayWindow = min(
      max(replayWindow, Self.smallestReplayWindow), Self.largestReplayWindow)
    self.givenRollover = givenRollover
    search = RolloverSearch(replayWindow: self.replayWindow)
  }

  /// The counters so far.
  var counters: SRTPCounters {
    var counters = counted
    counters.rolloverTrials = search.trials
    return counters
  }

  /// Adds a key for all sources, or for one.
  ///
  /// - Throws: ``SRTPError/keysDiffer`` when it does not fit the others, and
  ///   ``SRTPError/library(status:)``.
  mutating func add(_ material: SRTPKeyMaterial, for ssrc: UInt32? = nil) throws(SRTPError) {
    guard material.suite == layout.suite, material.identifier.count == layout.identifierLength
    else { throw .keysDiffer }
    let context = try SRTPContext(
      material, for: .anyReceived, replayWindow: replayWindow,
      readableControl: layout.acceptsReadableControl)
    if keys.count == Self.maximumKeys {
      // The key of a source that is gone is replaced, or else the oldest key.
      let gone = keys.firstIndex { key in
        key.ssrc.map { ssrc in !sources.contains { $0.ssrc == ssrc } } ?? false
      }
      keys.remove(at: gone ?? 0)
    }
    recent = nil
    keys.append(Key(material: material, ssrc: ssrc, context: context))
  }

  /// Authenticates and decrypts `packet`, which arrived from `origin` at `now`.
  mutating func unprotect(
    _ packet: ByteBuffer, isControl: Bool, from origin: SocketAddress? = nil, at now: Instant
  ) -> Outcome {
    if let malformation = layout.malformation(of: packet, isControl: isControl) {
      if malformation == .readableControl {
        counted.readableControl += 1
      } else {
        counted.malformed += 1
      }
      return .malformed(malformation)
    }
    let ssrc =
      packet.getInteger(at: packet.readerIndex + (isControl ? 4 : 8), as: UInt32.self) ?? 0
    if let recent, recent.ssrc == ssrc, !isControl, layout.identifierLength == 0 {
      scratch.load(packet, layout: layout, isControl: false)
      let outcome = recent.context.unprotect(&scratch, isControl: false)
      guard outcome == .authentic else {
        return failed(
          outcome, packet, of: ssrc, key: recent.key, sources.count - 1, from: origin, at: now)
      }
      counted.authenticated += 1
      sources[sources.count - 1].media[recent.index].lastHeard = now
      return .passed(takeClear())
    }
    guard let chosen = keys.indices.first(where: { fits($0, packet, ssrc, isControl: isControl) })
    else { return .keyUnknown(request(for: packet, of: ssrc, isControl: isControl)) }
    let key = keys[chosen].material
    let known = sources.lastIndex { $0.ssrc == ssrc }
    let own = isControl ? nil : known.flatMap { sources[$0].context(under: key) }
    let context = own ?? keys[chosen].context
    scratch.load(packet, layout: layout, isControl: isControl)
    let outcome = context.unprotect(&scratch, isControl: isControl)
    guard outcome == .authentic else {
      return failed(
        outcome, packet, of: ssrc, key: key, known, isControl: isControl, from: origin, at: now)
    }
    return passed(ssrc, under: key, in: context, isControl: isControl, at: now)
  }

  /// Handles a packet that did not authenticate in the expected context.
  private mutating func failed(
    _ outcome: SRTPContext.Outcome, _ packet: ByteBuffer, of ssrc: UInt32, key: SRTPKeyMaterial,
    _ known: Int?, isControl: Bool = false, from origin: SocketAddress?, at now: Instant
  ) -> Outcome {
    if outcome == .replayed {
      counted.replayed += 1
      return .replayed
    }
    if outcome == .authenticationFailed, !isControl,
      let found = find(packet, of: ssrc, key: key, known, from: origin, at: now)
    {
      counted.rolloversFound += 1
      return passed(ssrc, under: key, in: found, isFound: true, at: now)
    }
    counted.authenticationFailed += 1
    return .authenticationFailed
  }

  /// Encrypts RTCP for the sender; `nil` before its key is known.
  mutating func protect(_ compound: ByteBuffer) -> ByteBuffer? {
    guard let index = keys.firstIndex(where: { $0.material === current }) else {
      return nil
    }
    let material = keys[index].material
    if keys[index].sending == nil {
      keys[index].sending = try? SRTPContext(
        material, for: .anySent, readableControl: layout.acceptsReadableControl)
    }
    var packet = ByteBuffer()
    packet.writeImmutableBuffer(compound)
    guard keys[index].sending?.protect(&packet, isControl: true) == .authentic else { return nil }
    layout.insert(material.identifier, into: &packet, isControl: true)
    return packet
  }

  private func fits(
    _ index: Int, _ packet: ByteBuffer, _ ssrc: UInt32, isControl: Bool
  ) -> Bool {
    guard keys[index].ssrc == nil || keys[index].ssrc == ssrc else { return false }
    guard layout.identifierLength > 0 else { return true }
    guard let identifier = layout.identifier(of: packet, isControl: isControl) else { return false }
    return identifier.elementsEqual(keys[index].material.identifier)
  }

  private func request(
    for packet: ByteBuffer, of ssrc: UInt32, isControl: Bool
  ) -> SRTPKeyRequest {
    let identifier = layout.identifier(of: packet, isControl: isControl).map(Array.init) ?? []
    return SRTPKeyRequest(ssrc: ssrc, identifier: identifier)
  }

  /// Records that a packet of `ssrc` was authentic in `context`, and returns it.
  private mutating func passed(
    _ ssrc: UInt32, under key: SRTPKeyMaterial, in context: SRTPContext, isFound: Bool = false,
    isControl: Bool = false, at now: Instant
  ) -> Outcome {
    counted.authenticated += 1
    if current !== key { current = key }
    makeLast(ssrc)
    if !isControl {
      let last = sources.count - 1
      var index = sources[last].index(under: key)
      if let old = index, isFound {
        sources[last].media.remove(at: old)
        index = nil
      }
      if index == nil {
        if sources[last].media.count == Self.maximumKeys { sources[last].media.removeFirst() }
        index = sources[last].media.count
        sources[last].media.append(
          Source.Media(key: key, own: isFound ? context : nil, lastHeard: now))
        search.forget(ssrc)
      }
      if let index {
        sources[last].media[index].lastHeard = now
        recent = Recent(ssrc: ssrc, key: key, context: context, index: index)
      }
    }
    return .passed(takeClear())
  }

  /// Takes the content of `scratch`, and gives it another buffer.
  private mutating func takeClear() -> ByteBuffer {
    let clear = scratch.slice()
    swap(&scratch, &used[nextUsed])
    nextUsed = (nextUsed + 1) % used.count
    return clear
  }

  /// Makes `ssrc` the most recently heard source; adds it if it is new.
  private mutating func makeLast(_ ssrc: UInt32) {
    guard sources.last?.ssrc != ssrc else { return }
    recent = nil
    if let index = sources.lastIndex(where: { $0.ssrc == ssrc }) {
      return sources.append(sources.remove(at: index))
    }
    if sources.count == Self.maximumSources { forgetOldest() }
    sources.append(Source(ssrc: ssrc))
  }

  private mutating func forgetOldest() {
    let oldest = sources.removeFirst()
    counted.sourcesForgotten += 1
    for key in keys { key.context.forget(oldest.ssrc) }
  }

  /// Tries roll-over counters for a source that is new, or has been silent for a while.
  private mutating func find(
    _ packet: ByteBuffer, of ssrc: UInt32, key: SRTPKeyMaterial, _ known: Int?,
    from origin: SocketAddress?, at now: Instant
  ) -> SRTPContext? {
    let source = known.map { sources[$0] }
    let media = source.flatMap { source in source.index(under: key).map { source.media[$0] } }
    if let media, media.lastHeard.nanoseconds(to: now) < Self.silenceBeforeSearch { return nil }
    let candidates = candidates(for: source, media)
    return search.context(
      for: packet, of: ssrc, key: key, layout: layout, candidates: candidates, from: origin,
      at: now,
      scratch: &scratch)
  }

  private func candidates(
    for source: Source?, _ media: Source.Media?
  ) -> RolloverSearch.Candidates {
    // A known counter only goes forward: an earlier one means a replayed packet.
    if let media, let source {
      return RolloverSearch.Candidates(first: (rollover(of: source.ssrc, media) ?? 0) &+ 1)
    }
    // A new key takes over the counter of the previous one (RFC 3711 §3.3.1).
    var known: UInt32?
    if let source, let media = source.media.last { known = rollover(of: source.ssrc, media) }
    if known == nil, sources.allSatisfy(\.media.isEmpty) { known = givenRollover }
    guard let known else { return RolloverSearch.Candidates() }
    return RolloverSearch.Candidates(likely: [known, known &+ 1, known &- 1])
  }

  private func rollover(of ssrc: UInt32, _ media: Source.Media) -> UInt32? {
    let context = media.own ?? keys.first { $0.material === media.key }?.context
    return context?.rollover(of: ssrc)
  }

  /// How many decrypted packets may be in use at once without new memory.
  static let packetsTogether = 32
  /// The most SSRCs known at once: enough for audio and video of a sender that changes both.
  static let maximumSources = 8
  static let maximumKeys = 16
  /// The smallest replay window in packets, whatever is asked for.
  static let smallestReplayWindow = 1024
  /// The largest replay window in packets: libsrtp tells a wrap from a late packet by half a cycle.
  static let largestReplayWindow = 32_767
  /// Nanoseconds without an authentic packet of a source until its roll-over counter is doubted.
  static let silenceBeforeSearch: Int64 = 1_000_000_000
}

/// The source or identifier for which a key is requested.
public struct SRTPKeyRequest: Sendable, Hashable {
  public var ssrc: UInt32
  /// The master key identifier of the packet; empty where there are none.
  public var identifier: [UInt8]
}
