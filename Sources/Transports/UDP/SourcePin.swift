internal import NIOCore
internal import RTPWire

/// The source from which a stream is accepted: one address and port, determined once and then kept.
///
/// A datagram is accepted, refused or held. A source is a candidate until it has proved itself
/// (``SourceProof``); its datagrams are held until then, so none is lost. One origin may have two
/// candidates, because audio and video can share a port.
///
/// The rules, depending on what is known of the far end:
/// - A known peer (one that got a hello) is accepted at once from its own address. Another port of
///   its host can replace it until it has sent media; another host cannot.
/// - If only the host is known (source-specific multicast), any port of it can be accepted.
/// - If nothing is known, the first source to prove itself is accepted.
/// - After that, everything else is refused. After ``rebindingSilence``, the same host may continue
///   from another port with the same SSRC and continuing numbers: a NAT gave the sender a new port.
/// - A listener may also accept an entirely new sender: FFmpeg sends from another port with another
///   SSRC in each run. One of the same host that was not heard before is accepted after
///   ``restartSilence``, any other after ``replacementSilence``.
struct SourcePin: Sendable {
  enum Expectation: Sendable, Hashable {
    case peer(SocketAddress)
    /// One of these hosts, from any port.
    case hosts([SocketAddress])
    /// Anyone but these hosts.
    case others(than: [SocketAddress])

    static let anyone = Expectation.others(than: [])
    static func host(_ address: SocketAddress) -> Expectation { .hosts([address]) }
  }

  enum Verdict: Sendable {
    case accepted
    /// The source is a candidate; its datagram is kept here.
    case held
    /// The candidate is now accepted: these are its datagrams, the current one last.
    case latched([Datagram])
    case foreign
  }

  /// Where media comes from and feedback goes to, once known.
  private(set) var source: SocketAddress?
  /// How often an accepted source was replaced after a silence.
  private(set) var rebindings: UInt64 = 0
  /// Held datagrams of sources that did not prove themselves.
  private(set) var discarded: UInt64 = 0
  /// RTCP that was dropped before any media came.
  private(set) var reportsAlone: UInt64 = 0
  /// When media last came from the accepted source.
  private(set) var lastMedia: Instant?

  private let expectation: Expectation
  /// The last packet of the source, and of its other SSRC: sound and pictures may share a port.
  private var last: (ssrc: UInt32, number: SequenceNumber)?
  private var other: (ssrc: UInt32, number: SequenceNumber)?
  /// Least recently active first.
  private var candidates: [Candidate] = []
  /// Who sent beside the accepted source, and since when; the latest last.
  private var bystanders: [(origin: SocketAddress, first: Instant)] = []
  /// RTCP that came before any source was accepted, oldest first.
  private var earlyReports: [Datagram] = []

  init(expecting expectation: Expectation) {
    self.expectation = expectation
    if case .peer(let address) = expectation { source = address }
  }

  /// Judges a datagram that came to the media port.
  mutating func admit(_ datagram: Datagram, from origin: SocketAddress) -> Verdict {
    if origin == source {
      note(datagram)
      return .accepted
    }
    guard isEligible(origin, now: datagram.arrival) else {
      noteBystander(origin, at: datagram.arrival)
      return .foreign
    }
    return consider(datagram, from: origin)
  }

  /// Whether RTP from `origin` on `channel` would be considered.
  func awaits(_ origin: SocketAddress, on channel: Datagram.Channel, now: Instant) -> Bool {
    channel == .media && isEligible(origin, now: now)
  }

  /// Judges a datagram that came to an RTCP port: only the host counts.
  mutating func admitControl(_ datagram: Datagram, from origin: SocketAddress) -> Verdict {
    if let source { return origin.isSameHost(as: source) ? .accepted : .foreign }
    return isEligible(origin, now: datagram.arrival) ? holdReport(datagram) : .foreign
  }

  /// Judges a datagram that came to a port for repairs.
  ///
  /// Only the host counts, once media has come from it: before that there is nothing to repair.
  func admitRepair(from origin: SocketAddress) -> Verdict {
    guard lastMedia != nil, let source else { return .foreign }
    return origin.isSameHost(as: source) ? .accepted : .foreign
  }

  /// Whether to try to authenticate a datagram from `origin`; changes nothing.
  func mayAuthenticate(_ channel: Datagram.Channel, from origin: SocketAddress, now: Instant)
    -> Bool
  {
    if origin == source { return true }
    if channel != .media, let source { return origin.isSameHost(as: source) }
    return isEligible(origin, now: now)
  }

  /// Notes that a datagram on the media port was authentic.
  ///
  /// One authentic datagram proves a source, and nothing else does.
  mutating func noteAuthentic(_ datagram: Datagram, from origin: SocketAddress) {
    guard datagram.channel == .media, !datagram.isControl else { return }
    if lastMedia != nil, origin != source { rebindings += 1 }
    source = origin
    lastMedia = datagram.arrival
  }

  /// How many datagrams are held before any source is accepted, in RTP and in RTCP.
  var waiting: (media: UInt64, reports: UInt64) {
    guard lastMedia == nil else { return (0, 0) }
    let media = candidates.reduce(0) { $0 + $1.held.count }
    return (UInt64(media), UInt64(earlyReports.count))
  }

  /// Drops what is held; call it when nothing more will come.
  ///
  /// Before any source is accepted, it stays ``waiting``: it is what there is to say of the sender.
  mutating func discardHeld() {
    guard lastMedia != nil else { return }
    for candidate in candidates { discarded += UInt64(candidate.held.count) }
    discarded += UInt64(earlyReports.count)
    candidates.removeAll()
    earlyReports.removeAll()
  }

  private mutating func note(_ datagram: Datagram) {
    guard let packet = datagram.mediaHeader else { return }
    noteMedia(packet, at: datagram.arrival)
    if !candidates.isEmpty || !earlyReports.isEmpty { discardHeld() }
  }

  private mutating func noteMedia(_ packet: RTPHeader, at arrival: Instant) {
    lastMedia = arrival
    if let last, last.ssrc != packet.ssrc { other = last }
    last = (packet.ssrc, packet.sequenceNumber)
  }

  /// Whether `origin` may be a candidate now.
  private func isEligible(_ origin: SocketAddress, now: Instant) -> Bool {
    guard let lastMedia else {
      switch expectation {
      case .peer(let host): return origin.isSameHost(as: host)
      case .hosts, .others: return isPermitted(origin)
      }
    }
    guard let source else { return false }
    let silence = lastMedia.nanoseconds(to: now)
    let isSameHost = origin.isSameHost(as: source)
    guard expectation.allowsReplacement else {
      return isSameHost && silence >= Self.rebindingSilence
    }
    guard isPermitted(origin) else { return false }
    guard isSameHost else { return silence >= Self.replacementSilence }
    return silence >= (isBystander(origin) ? Self.rebindingSilence : Self.restartSilence)
  }

  /// Notes that `origin`, which is not the accepted source, sends.
  mutating func noteBystander(_ origin: SocketAddress, at now: Instant) {
    guard !bystanders.contains(where: { $0.origin == origin }) else { return }
    if bystanders.count == Self.maximumCandidates { bystanders.removeFirst() }
    bystanders.append((origin, now))
  }

  /// Whether `origin` already sent while the accepted source did: a second camera behind the same
  /// NAT is no restart of the first.
  private func isBystander(_ origin: SocketAddress) -> Bool {
    guard let lastMedia else { return false }
    return bystanders.contains { $0.origin == origin && $0.first < lastMedia }
  }

  /// Whether the session description's filter, if any, permits `origin`.
  private func isPermitted(_ origin: SocketAddress) -> Bool {
    switch expectation {
    case .peer: true
    case .hosts(let hosts): hosts.contains { origin.isSameHost(as: $0) }
    case .others(let hosts): !hosts.contains { origin.isSameHost(as: $0) }
    }
  }

  private mutating func consider(_ datagram: Datagram, from origin: SocketAddress) -> Verdict {
    // Only what looks like RTP or RTCP is kept in memory.
    guard let packet = datagram.mediaHeader else { return holdReport(datagram) }
    guard mayBegin(packet, from: origin, now: datagram.arrival) else { return .foreign }

    var candidate = Candidate(origin: origin, ssrc: packet.ssrc)
    dropStale(of: origin, besides: packet.ssrc, now: datagram.arrival)
    if let index = candidates.firstIndex(where: { $0.origin == origin && $0.ssrc == packet.ssrc }) {
      candidate = candidates.remove(at: index)
    }
    discarded += candidate.hold(datagram)
    guard candidate.proof.note(packet.sequenceNumber) else {
      if candidates.count == Self.maximumCandidates {
        discarded += UInt64(candidates.removeFirst().held.count)
      }
      candidates.append(candidate)
      return .held
    }
    if lastMedia != nil { rebindings += 1 }
    source = origin
    noteMedia(packet, at: datagram.arrival)
    let reports = earlyReports.filter { $0.origin?.isSameHost(as: origin) ?? false }
    earlyReports.removeAll { $0.origin?.isSameHost(as: origin) ?? false }
    // Sound and pictures of one sender prove it together.
    let others = candidates.filter { $0.origin == origin }
    candidates.removeAll { $0.origin == origin }
    discardHeld()
    let held = (others.flatMap(\.held) + candidate.held).enumerated().sorted {
      ($0.element.arrival, $0.offset) < ($1.element.arrival, $1.offset)
    }
    return .latched(reports + held.map(\.element))
  }

  /// Drops the outdated candidates of `origin`, and the older one if it has two others.
  private mutating func dropStale(of origin: SocketAddress, besides ssrc: UInt32, now: Instant) {
    var others = candidates.filter { $0.origin == origin && $0.ssrc != ssrc }.count
    candidates.removeAll { candidate in
      guard candidate.origin == origin else { return false }
      let isStale = candidate.lastHeard.nanoseconds(to: now) > Self.candidateLifetime
      let isExcess = candidate.ssrc != ssrc && others >= Self.maximumSourcesPerOrigin
      if isStale || isExcess { discarded += UInt64(candidate.held.count) }
      if isExcess { others -= 1 }
      return isStale || isExcess
    }
  }

  /// Holds RTCP that comes before any source is accepted: it proves nothing, but FFmpeg sends its
  /// first report before its first packet, and the next one only seconds later.
  private mutating func holdReport(_ datagram: Datagram) -> Verdict {
    // Not `isControl`, because on a port of RTCP that is true of garbage too.
    guard lastMedia == nil, RTCPPacket.recognizes(datagram.bytes) else { return .foreign }
    if earlyReports.count == Self.maximumEarlyReports {
      earlyReports.removeFirst()
      reportsAlone += 1
    }
    earlyReports.append(datagram.detached)
    return .held
  }

  /// Whether `packet` may be the first one of a source that takes over.
  private func mayBegin(
    _ packet: RTPHeader, from origin: SocketAddress, now: Instant
  ) -> Bool {
    guard let lastMedia else { return true }
    let silence = lastMedia.nanoseconds(to: now)
    if silence >= Self.replacementSilence, expectation.allowsReplacement { return true }
    guard let former = [last, other].compactMap(\.self).first(where: { $0.ssrc == packet.ssrc })
    else {
      // Only a sender of the same host is eligible by now.
      return expectation.allowsReplacement && !isBystander(origin)
    }
    guard silence >= Self.rebindingSilence else { return false }
    // The sender continued while the path was down, so the gap grows with the silence.
    let seconds = Int(clamping: silence / 1_000_000_000)
    let ahead = Int(SourceProof.greatestDropout).multipliedReportingOverflow(by: seconds)
    let distance = former.number.distance(to: packet.sequenceNumber)
    return ahead.overflow || ahead.partialValue > Int(Int16.max)
      || (-SourceProof.usualReach...ahead.partialValue).contains(distance)
  }

  /// Nanoseconds without media after which the same host may continue from another port.
  static let rebindingSilence: Int64 = 2_000_000_000
  /// Nanoseconds without media after which a listener accepts an entirely new sender of the same
  /// host.
  ///
  /// Networks pause for half of that, and what the new sender sends meanwhile is lost.
  static let restartSilence: Int64 = 1_000_000_000
  /// The same for one of another host.
  static let replacementSilence: Int64 = 5_000_000_000
  /// The most sources on probation; the least recently active one makes room.
  static let maximumCandidates = 8
  static let maximumEarlyReports = 8
  /// Audio and video.
  static let maximumSourcesPerOrigin = 2
  /// How far apart the numbers of two packets that prove a source may be: less than for ordering,
  /// because an accepted source excludes all others.
  static let nearby = 3
  /// Nanoseconds for which a candidate's packets are kept: a sender of single pictures may pause
  /// for seconds between packets.
  static let candidateLifetime: Int64 = 5_000_000_000
}

extension SourcePin.Expectation {
  fileprivate var allowsReplacement: Bool {
    if case .peer = self { return false }
    return true
  }
}

/// A source on probation, with its datagrams.
private struct Candidate: Sendable {
  let origin: SocketAddress
  let ssrc: UInt32
  var proof = SourceProof(reach: SourcePin.nearby)
  private(set) var held: [Datagram] = []
  private(set) var lastHeard = Instant(nanoseconds: 0)

  init(origin: SocketAddress, ssrc: UInt32) {
    self.origin = origin
    self.ssrc = ssrc
  }

  /// Keeps a copy of `datagram`, and says how many older ones had to go for it.
  mutating func hold(_ datagram: Datagram) -> UInt64 {
    let isFull = held.count == Self.maximumHeld
    if isFull { held.removeFirst() }
    held.append(datagram.detached)
    lastHeard = datagram.arrival
    return isFull ? 1 : 0
  }

  /// Datagrams held per candidate: with 8 candidates of 65,507 bytes each, 8 MiB at most.
  static let maximumHeld = 16
}

extension Datagram {
  /// The header of the RTP packet that it is; `nil` if it is RTCP or not RTP at all.
  var mediaHeader: RTPHeader? {
    if let header { return header }
    guard !isControl else { return nil }
    return try? RTPHeader(parsing: bytes)
  }
}

extension SocketAddress {
  /// Whether both have the same IP address, whatever the port.
  func isSameHost(as other: SocketAddress) -> Bool {
    if let own = ipv4, let others = other.ipv4 { return own == others }
    var left = self
    var right = other
    left.port = 0
    right.port = 0
    return left == right
  }

  /// The address of IPv4, also where a socket for both families shows it mapped
  /// (RFC 4291 §2.5.5.2).
  private var ipv4: UInt32? {
    switch self {
    case .v4(let address):
      // Behind the family and the port.
      return unsafe withUnsafeBytes(of: address.address) { bytes in
        unsafe bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
      }
    case .v6(let address):
      // Behind the family, the port and the flow.
      return unsafe withUnsafeBytes(of: address.address) { bytes in
        let prefix = unsafe bytes[8..<20]
        guard unsafe prefix.elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) else {
          return nil
        }
        return unsafe bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
      }
    case .unixDomainSocket: return nil
    }
  }
}
