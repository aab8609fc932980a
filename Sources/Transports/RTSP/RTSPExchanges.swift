internal import RTPWire

/// The requests without a response yet; matches responses to them (RFC 2326 §12.17).
///
/// The session waits for at most one request at a time. Keep-alives go out beside it, and nobody
/// waits for their answers.
struct RTSPExchanges: Sendable {
  /// The purpose of a request.
  enum Purpose: Sendable, Hashable {
    case options
    case describe
    case setUp(media: Int)
    case play
    case teardown
    case keepAlive
  }

  /// A request under way.
  struct Exchange: Sendable, Hashable {
    let purpose: Purpose
    /// The request without the fields that change with each attempt: CSeq and Authorization.
    let request: RTSPRequest
    var attempts = Authenticator.Attempts()
    /// When it was sent, the last time.
    var sent: Instant?
    fileprivate(set) var sequence = 0
    fileprivate(set) var deadline: Instant?
  }

  /// Which request a response belongs to.
  enum Match: Sendable {
    case answer(Exchange)
    /// Its CSeq is missing or wrong, but it can only be meant for this request.
    case guess(Exchange)
    case unrelated
  }

  /// The request that the session waits for.
  var awaited: Exchange? { outstanding.last { $0.purpose != .keepAlive } }

  /// When the awaited response is overdue.
  var deadline: Instant? { awaited?.deadline }

  /// The latest keep-alive without an answer.
  var keepAlive: Exchange? { outstanding.last { $0.purpose == .keepAlive } }

  /// The method of the first request without an answer that has to have one before media comes;
  /// `nil` if there is none.
  var unanswered: String? {
    outstanding.first { $0.purpose != .keepAlive && $0.purpose != .teardown }?.request.method
  }

  private var outstanding: [Exchange] = []
  /// The latest response, if it had the CSeq of its request.
  private var latest: RTSPResponse?
  /// GStreamer's and other servers do not repeat a CSeq below 1.
  private var nextSequence = 1

  /// Records a request that is about to be sent, and returns its CSeq.
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

  /// Removes and returns the request that a response answers.
  mutating func take(answeredBy response: RTSPResponse) -> Match {
    // A copy of an answer is none to the request that followed it.
    guard response != latest else { return .unrelated }
    let sequence = response.headers["CSeq"].flatMap { Int($0) }
    latest = nil
    if let index = outstanding.firstIndex(where: { $0.sequence == sequence }) {
      latest = response
      return .answer(outstanding.remove(at: index))
    }
    // TP-Link's C520WS answers a keep-alive with the previous CSeq. Other senders with a wrong CSeq
    // have it wrong from the first response on, when no other request is open.
    let isKeepAlive = { (exchange: Exchange) in exchange.purpose == .keepAlive }
    let keepAlive = outstanding.firstIndex(where: isKeepAlive)
    let awaited = outstanding.lastIndex { !isKeepAlive($0) }
    guard let index = sequence == nil ? awaited ?? keepAlive : keepAlive ?? awaited else {
      return .unrelated
    }
    return .guess(outstanding.remove(at: index))
  }

  /// Forgets all requests: their connection is gone, or their answers no longer matter.
  mutating func abandon() { outstanding.removeAll() }

  /// The most open requests: some cameras never answer a keep-alive.
  private static let maximumOutstanding = 8
}
