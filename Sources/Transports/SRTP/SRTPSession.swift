internal import NIOCore
internal import RTPWire

/// The receiving end of a protected stream: takes packets and time, and says what became of each.
///
/// Nothing that is not authentic changes anything here but the counters, and how many trials of
/// roll-over counters may still be made.
struct SRTPSession {
  enum Outcome: Sendable {
    /// Authentic; the packet in clear, in storage of its own.
    case passed(ByteBuffer)
    case authenticationFailed
    case replayed
    case malformed(SRTPLayout.Malformation)
    /// Nobody has given the key.
    case keyUnknown(SRTPKeyRequest)
  }

  /// A key at work.
  private struct Key {
    let material: SRTPKeyMaterial
    /// The one source that it is for; `nil` for all.
    let ssrc: UInt32?
    /// For all that begin with a roll-over counter of 0.
    let context: SRTPContext
    /// For what is sent back, once something is.
    var sending: SRTPContext?
  }

  /// A source that has sent something authentic.
  private struct Source {
    let ssrc: UInt32
    /// One for each key that its media was under.
    var media: [Media] = []

    struct Media {
      let key: SRTPKeyMaterial
      /// Where the roll-over counter had to be found out, a context for this source alone.
      var own: SRTPContext?
      var lastHeard: Instant
    }

    func index(under key: SRTPKeyMaterial) -> Int? { media.lastIndex { $0.key === key } }

    func context(under key: SRTPKeyMaterial) -> SRTPContext? {
      index(under: key).flatMap { media[$0].own }
    }
  }

  /// Media that the next packet is most likely of: no look at keys and sources is needed for it.
  private struct Recent {
    let ssrc: UInt32
    let key: SRTPKeyMaterial
    let context: SRTPContext
    /// Its place among the media of the source, which is the last one.
    let index: Int
  }

  let layout: SRTPLayout
  private let replayWindow: Int
  private let givenRollover: UInt32?
  private var keys: [Key] = []
  /// The one not heard for longest first.
  private var sources: [Source] = []
  /// Of the last packet, as long as nothing else has become of keys and sources.
  private var recent: Recent?
  private var search: RolloverSearch
  /// Each packet is copied here and decrypted in place.
  ///
  /// A copy costs little beside decrypting, whoever else holds the read that the packet came in sees
  /// nothing of it, there is room behind the packet, and one that was not authentic is whole for another
  /// trial.
  private var scratch = ByteBuffer()
  /// What the packets passed last were copied to; as mostly nobody keeps those, it is the same memory
  /// again and again.
  private var used = Array(repeating: ByteBuffer(), count: Self.packetsTogether)
  private var nextUsed = 0
  /// The key of the last authentic packet, which is good for what is sent back.
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

  /// What has been counted so far.
  var counters: SRTPCounters {
    var counters = counted
    counters.rolloverTrials = search.trials
    return counters
  }

  /// Takes a key for all sources, or for one.
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
      // The key of a source that has gone, or else the oldest one.
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

  /// What becomes of a packet that is not authentic where it was looked for.
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

  /// Encrypts what is sent back; `nil` before it is known under which key.
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

  /// Takes in that a packet of `ssrc` was authentic in `context`, and hands it out.
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

  /// What `scratch` holds, which then is another buffer.
  private mutating func takeClear() -> ByteBuffer {
    let clear = scratch.slice()
    swap(&scratch, &used[nextUsed])
    nextUsed = (nextUsed + 1) % used.count
    return clear
  }

  /// Has `ssrc` among the sources, as the one heard last.
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

  /// Tries roll-over counters for a source that is new, or of which nothing has come for a while.
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
    // What is known only goes forward: an earlier counter is that of a packet played again.
    if let media, let source {
      return RolloverSearch.Candidates(first: (rollover(of: source.ssrc, media) ?? 0) &+ 1)
    }
    // A new key takes over the counter of the one before (RFC 3711 §3.3.1).
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

  /// Packets that may be in clear before the first of them is let go of, without new memory.
  static let packetsTogether = 32
  /// SSRCs that are known at once, as audio and video of a sender that changes both.
  static let maximumSources = 8
  static let maximumKeys = 16
  /// Packets; never fewer, whatever is asked for.
  static let smallestReplayWindow = 1024
  /// Packets; libsrtp tells wraps from packets that are late by half a cycle.
  static let largestReplayWindow = 32_767
  /// Nanoseconds without an authentic packet of a source before its roll-over counter is doubted.
  static let silenceBeforeSearch: Int64 = 1_000_000_000
}

/// What a key is asked for.
public struct SRTPKeyRequest: Sendable, Hashable {
  public var ssrc: UInt32
  /// The master key identifier of the packet; empty where there are none.
  public var identifier: [UInt8]
}
