internal import NIOCore
internal import RTPWire

/// Decides which protected packets pass, which wait for their keys, and which keys are requested.
///
/// Datagrams and times go in; plain datagrams and actions come out.
struct SRTPReception {
  enum Action: Sendable, Hashable {
    /// Ask the supplier.
    case request(SRTPKeyRequest)
    /// The answer is of no interest any more.
    case withdraw(SRTPKeyRequest)
  }

  enum Outcome {
    /// Authentic; the plain datagram.
    case passed(Datagram)
    case refused
    case keyUnknown(SRTPKeyRequest)
  }

  private struct Sessions {
    var media: SRTPSession
    /// The session of retransmissions.
    var retransmissions: SRTPSession?

    init(_ configuration: SRTPConfiguration) throws(SRTPError) {
      media = try configuration.makeSession()
      retransmissions = try configuration.makeRetransmissionSession()
    }
  }

  /// A key that was requested.
  private struct Inquiry {
    let request: SRTPKeyRequest
    let origin: SocketAddress?
    /// When to give up; `nil` once it is answered, even if there is no key.
    var due: Instant?
  }

  /// One for each track, `nil` where the key is unknown; or a single one for all tracks.
  private var sessions: [Sessions?]
  private let isShared: Bool
  private let requestsKeys: Bool
  /// The counters that belong to no session.
  private var counted = SRTPCounters()
  private var inquiries: [Inquiry] = []
  private var actions: [Action] = []
  private var held = HeldDatagrams()
  private var expiry: Instant?
  private(set) var arrivals = MonotonicArrivals()
  /// Where authentic media last came from.
  private var authenticOrigin: SocketAddress?
  private var allowance = SRTPInquiryAllowance()

  /// - Throws: ``SRTPError``.
  init(_ protection: SRTPProtection) throws(SRTPError) {
    switch protection {
    case .everyTrack(let configuration):
      sessions = [try Sessions(configuration)]
      isShared = true
      requestsKeys = if case .asked = configuration.keys { true } else { false }
    case .tracks(let configurations):
      var sessions: [Sessions?] = []
      for configuration in configurations {
        if let configuration {
          sessions.append(try Sessions(configuration))
        } else {
          sessions.append(nil)
        }
      }
      self.sessions = sessions
      isShared = false
      requestsKeys = false
    }
  }

  var counters: SRTPCounters {
    var sum = counted
    for case let sessions? in sessions {
      sum = sessions.media.counters.added(to: sum)
      if let others = sessions.retransmissions?.counters { sum = others.added(to: sum) }
    }
    sum.held = UInt64(held.count)
    return sum
  }

  /// When ``wake(at:)`` has something to do.
  var deadline: Instant? { (inquiries.compactMap(\.due) + [expiry].compactMap(\.self)).min() }

  /// Removes and returns the next action.
  mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

  /// Encrypts RTCP about a track for the far end; `nil` before anything authentic has come.
  mutating func protect(_ compound: ByteBuffer, track: Int) -> ByteBuffer? {
    place(ofTrack: track).flatMap { sessions[$0]?.media.protect(compound) }
  }

  /// Decrypts a datagram, if it is authentic and its key is known.
  mutating func receive(_ datagram: Datagram) -> Outcome {
    guard let place = place(ofTrack: datagram.track) else {
      counted.noKey += 1
      return .refused
    }
    let isControl = datagram.isControl
    guard datagram.channel != .retransmission else {
      return receiveRetransmission(datagram, isControl: isControl, place)
    }
    switch sessions[place]?.media.unprotect(
      datagram.bytes, isControl: isControl, from: datagram.origin, at: datagram.arrival)
    {
    case .passed(let clear):
      if !isControl, authenticOrigin != datagram.origin { authenticOrigin = datagram.origin }
      return .passed(plain(clear, of: datagram))
    case .keyUnknown(let request): return .keyUnknown(request)
    case .authenticationFailed, .replayed, .malformed, nil: return .refused
    }
  }

  private mutating func receiveRetransmission(
    _ datagram: Datagram, isControl: Bool, _ place: Int
  ) -> Outcome {
    switch sessions[place]?.retransmissions?.unprotect(
      datagram.bytes, isControl: isControl, from: datagram.origin, at: datagram.arrival)
    {
    case .passed(let clear): return .passed(plain(clear, of: datagram))
    case .keyUnknown, nil:
      counted.noKey += 1
      return .refused
    case .authenticationFailed, .replayed, .malformed: return .refused
    }
  }

  /// Drops what waits and withdraws all requests.
  mutating func end() {
    for inquiry in inquiries { withdraw(inquiry) }
    inquiries.removeAll()
    expiry = nil
    drop(held.dropAll())
  }

  /// The index of a track's sessions, if it has any.
  private func place(ofTrack track: Int) -> Int? {
    let place = isShared ? 0 : track
    return sessions.indices.contains(place) && sessions[place] != nil ? place : nil
  }

  private mutating func plain(_ clear: ByteBuffer, of datagram: Datagram) -> Datagram {
    var datagram = datagram
    datagram.bytes = clear
    datagram.arrival = arrivals.order(datagram.arrival)
    return datagram
  }

  private mutating func drop(_ count: Int) { counted.heldTooLong += UInt64(clamping: count) }

  private mutating func countWithoutKey(_ packets: Int = 1) {
    counted.noKey += UInt64(clamping: packets)
  }

  // MARK: Requested keys

  /// Holds a datagram until its key is known, and requests the key if that is allowed.
  mutating func hold(_ datagram: Datagram, for request: SRTPKeyRequest, at now: Instant) {
    guard requestsKeys else { return countWithoutKey() }
    if let inquiry = inquiries.first(where: { $0.request == request }) {
      guard inquiry.due != nil else { return countWithoutKey() }
      return keep(datagram, for: request, at: now)
    }
    let origin = datagram.origin
    let isKnown = origin.map { isAuthentic($0) } ?? false
    guard makeRoom(isKnown: isKnown),
      allowance.take(for: origin, isKnown: isKnown, at: datagram.arrival)
    else { return countWithoutKey() }
    counted.keyRequests += 1
    keep(datagram, for: request, at: now)
    inquiries.append(
      Inquiry(
        request: request, origin: origin, due: now.advanced(by: Self.supplierPatience)))
    actions.append(.request(request))
  }

  /// Takes in the supplier's answer.
  ///
  /// - Returns: the datagrams that waited for it, to be received again; none if there is no key.
  mutating func take(_ key: SRTPKeyMaterial?, for request: SRTPKeyRequest) -> [Datagram] {
    guard let index = inquiries.firstIndex(where: { $0.request == request }) else { return [] }
    let waiting = held.take(for: request)
    do throws(SRTPError) {
      guard let key, key.identifier == request.identifier else { throw .keyMissing(profile: "") }
      // A key with an identifier is valid for every source that names it.
      try sessions[0]?.media.add(key, for: request.identifier.isEmpty ? request.ssrc : nil)
      withdraw(inquiries.remove(at: index))
      return waiting
    } catch {
      inquiries[index].due = nil
      counted.keyFailures += 1
      countWithoutKey(waiting.count)
      return []
    }
  }

  /// Gives up what has waited too long: packets, and requests without an answer.
  ///
  /// If the source keeps sending, its key is requested again.
  mutating func wake(at now: Instant) {
    for inquiry in inquiries where inquiry.due.map({ $0 <= now }) ?? false {
      inquiries.removeAll { $0.request == inquiry.request }
      withdraw(inquiry)
      counted.keyFailures += 1
      drop(held.take(for: inquiry.request).count)
    }
    guard let expiry, expiry <= now else { return }
    drop(held.dropStale(at: now))
    self.expiry = held.count > 0 ? Self.nextExpiry(after: now) : nil
  }

  private mutating func keep(_ datagram: Datagram, for request: SRTPKeyRequest, at now: Instant) {
    drop(held.hold(datagram, for: request))
    if expiry == nil { expiry = Self.nextExpiry(after: now) }
  }

  private mutating func withdraw(_ inquiry: Inquiry) {
    if inquiry.due != nil { actions.append(.withdraw(inquiry.request)) }
  }

  /// Makes room for another inquiry; returns whether there is any.
  ///
  /// If necessary an answered inquiry is forgotten. For a sender with authentic media, an inquiry
  /// about another one may be given up.
  private mutating func makeRoom(isKnown: Bool) -> Bool {
    guard inquiries.count == Self.maximumInquiries else { return true }
    let answered = inquiries.firstIndex { $0.due == nil }
    let foreign = inquiries.firstIndex { $0.origin.map { !isAuthentic($0) } ?? false }
    guard let index = answered ?? (isKnown ? foreign : nil) else { return false }
    let inquiry = inquiries.remove(at: index)
    withdraw(inquiry)
    drop(held.take(for: inquiry.request).count)
    return true
  }

  private func isAuthentic(_ origin: SocketAddress) -> Bool {
    authenticOrigin?.isSameHost(as: origin) ?? false
  }

  private static func nextExpiry(after now: Instant) -> Instant {
    now.advanced(by: .nanoseconds(HeldDatagrams.longestWait))
  }

  /// The most open requests and remembered refusals: as many as there can be sources.
  static let maximumInquiries = SRTPSession.maximumSources
  /// How long an answer may take: longer than packets are held, so that later packets benefit.
  private static let supplierPatience = Duration.seconds(10)
}
