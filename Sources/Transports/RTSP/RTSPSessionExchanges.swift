internal import RTPWire

/// The requests that wait for a response, and which response belongs to which (RFC 2326 §12.17).
///
/// At most one request at a time is one that the session waits for; keep-alives go out beside it,
/// and nobody waits for their answers.
struct RTSPExchanges: Sendable {
  /// What a request is sent for.
  enum Purpose: Sendable, Hashable {
    case options
    case describe
    case setUp(media: Int)
    case play
    case pause
    case teardown
    case keepAlive
  }

  /// A request under way.
  struct Exchange: Sendable, Hashable {
    let purpose: Purpose
    /// Without what changes each time it is sent: CSeq and Authorization.
    let request: RTSPRequest
    var attempts = Authenticator.Attempts()
    fileprivate(set) var sequence = 0
    fileprivate(set) var deadline: Instant?
  }

  /// What a response turned out to be.
  enum Match: Sendable {
    case answer(Exchange)
    /// Its CSeq is missing, or not that of the request that it must be meant for.
    case guess(Exchange)
    case unrelated
  }

  /// The request that the session waits for.
  var awaited: Exchange? { outstanding.last { $0.purpose != .keepAlive } }

  /// When the awaited response is late.
  var deadline: Instant? { awaited?.deadline }

  private var outstanding: [Exchange] = []
  /// GStreamer's and other servers do not repeat a CSeq below 1.
  private var nextSequence = 1

  /// Notes that a request is about to be sent, and returns its CSeq.
  mutating func begin(_ exchange: Exchange, deadline: Instant?) -> Int {
    var exchange = exchange
    exchange.sequence = nextSequence
    exchange.deadline = deadline
    nextSequence &+= 1
    if outstanding.count == Self.maximumOutstanding,
      let oldest = outstanding.firstIndex(where: { $0.purpose == .keepAlive })
    {
      outstanding.remove(at: oldest)
    }
    outstanding.append(exchange)
    return exchange.sequence
  }

  /// Takes out the request that a response with this CSeq answers.
  mutating func take(answeredBy sequence: Int?) -> Match {
    if let index = outstanding.firstIndex(where: { $0.sequence == sequence }) {
      return .answer(outstanding.remove(at: index))
    }
    // TP-Link's C520WS answers a keep-alive with the CSeq before; what other senders get wrong they
    // get wrong from the first response on, when nothing else is under way.
    let isKeepAlive = { (exchange: Exchange) in exchange.purpose == .keepAlive }
    let keepAlive = outstanding.firstIndex(where: isKeepAlive)
    let awaited = outstanding.lastIndex { !isKeepAlive($0) }
    guard let index = sequence == nil ? awaited ?? keepAlive : keepAlive ?? awaited else {
      return .unrelated
    }
    return .guess(outstanding.remove(at: index))
  }

  /// Forgets all: their connection is gone, or nothing that they ask for matters any more.
  mutating func abandon() { outstanding.removeAll() }

  /// Requests under way: some cameras never answer a keep-alive.
  private static let maximumOutstanding = 8
}
