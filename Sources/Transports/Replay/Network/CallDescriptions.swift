internal import NIOCore
internal import RTPWire

/// What the calls in a recording say of their media: SIP over UDP, one message in each datagram
/// (RFC 3261 §18), with a description of what its sender is ready to receive (RFC 3264 §5.1).
struct CallDescriptions: Sendable {
  /// The most sections kept, as many as the flows that are told apart; the oldest makes room.
  static let maximumSections = FlowSurvey.maximumFlows
  /// Bytes of a message; over UDP they should not be longer than 1300 (RFC 3261 §18.1.1).
  static let maximumMessage = 16 << 10

  /// In the order in which they were said.
  private var sections: [Section] = []

  private struct Section: Sendable {
    /// Where its media goes to.
    let place: IPEndpoint
    let time: Int64
    let media: SessionDescription.Media
  }

  /// Takes what a datagram describes, if it is such a message.
  mutating func observe(_ datagram: ByteBuffer, at time: Int64) {
    guard datagram.readableBytes <= Self.maximumMessage,
      let first = datagram.getInteger(at: datagram.readerIndex, as: UInt8.self),
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first),
      let body = Self.description(in: datagram),
      let session = try? SessionDescription(parsing: body)
    else { return }
    for var media in session.media where media.port > 0 {
      guard let address = media.connection?.address,
        let place = (try? SocketAddress(ipAddress: address, port: media.port))
          .flatMap({ IPEndpoint($0) })
      else { continue }
      // It is kept without the other sections.
      media.retransmission = nil
      // Each message may be sent several times.
      guard sections.last(where: { $0.place == place })?.media != media else { continue }
      if sections.count >= Self.maximumSections { sections.removeFirst() }
      sections.append(Section(place: place, time: time, media: media))
    }
  }

  /// The section that held when `flow` began: the latest one before, or else the first one behind
  /// it, because media may come before the answer (RFC 3264 §5.1).
  func media(of flow: Flow) -> SessionDescription.Media? {
    guard case .port(let place) = flow.place else { return nil }
    let fitting = sections.filter {
      $0.place == place && $0.media.payloadTypes.contains(flow.payloadType)
    }
    return (fitting.last { $0.time <= flow.reception.firstTime } ?? fitting.first)?.media
  }

  private static func description(in datagram: ByteBuffer) -> [UInt8]? {
    var (bytes, reader) = (datagram, RTSPMessageReader(.sip))
    guard case .message(let message)? = try? reader.read(from: &bytes) else { return nil }
    let (headers, body): (RTSPHeaders, [UInt8])
    switch message {
    case .request(let request): (headers, body) = (request.headers, request.body)
    case .response(let response):
      guard response.status < 300 else { return nil }
      (headers, body) = (response.headers, response.body)
    case .frame: return nil
    }
    // The short names are those of RFC 3261 §7.3.3.
    let type = headers["Content-Type"] ?? headers["c"]
    guard type?.lowercased().hasPrefix("application/sdp") ?? false else { return nil }
    // Without a length, the body goes on to the end of the datagram (§18.3).
    return body.isEmpty ? bytes.readBytes(length: bytes.readableBytes) : body
  }
}
