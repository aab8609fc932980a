internal import NIOCore
internal import RTPWire

extension StreamListing {
  /// The flows of a recording that fit `wish`, the largest first.
  init(_ survey: FlowSurvey, in dissection: Dissection, for wish: FlowSurvey.Wish) {
    let flows = survey.confirmed(atMost: .max).filter { wish.isOpen || wish.admits($0) }
    let chosen = FlowChoice(from: survey, for: wish, in: dissection)?.flow
    streams = flows.map { flow in
      let said = dissection.section(of: flow)?.media.description
      var stream = ListedStream(
        said?.payloadType == flow.payloadType
          ? said ?? flow.ownDescription : flow.ownDescription)
      stream.flow = FlowFigures(flow, clockRate: stream.description.clockRate)
      stream.isPlayed =
        flows.count > 1 && flow.ssrc == chosen?.ssrc && flow.place == chosen?.place
      return stream
    }
  }
}

extension Flow {
  /// What the packets alone show; every video format has one clock rate, so only that of other
  /// media is estimated.
  fileprivate var ownDescription: MediaDescription {
    if let assignment { return assignment }
    return MediaDescription(
      kind: looksLikeVideo ? .video : .application, payloadType: payloadType,
      clockRate: looksLikeVideo ? nil : reception.clockRate)
  }
}

extension FlowFigures {
  fileprivate init(_ flow: Flow, clockRate: UInt32) {
    let reception = flow.reception
    switch flow.place {
    case .port(let destination):
      self.init(flow, from: flow.source, to: destination, on: nil)
    case .channel(let source, let destination, let channel):
      self.init(flow, from: source, to: destination, on: channel)
    case .file:
      self.init(flow, from: flow.source, to: nil, on: nil)
    }
    for rate in FlowReception.clockRates {
      jitters[rate] = reception.jitter(clockRate: rate).map {
        Duration.nanoseconds(Int64(min($0, 1e18)))
      }
    }
    jitter = jitters[clockRate]
  }

  private init(
    _ flow: Flow, from source: IPEndpoint?, to destination: IPEndpoint?, on channel: UInt8?
  ) {
    let reception = flow.reception
    self.init(
      source: source.map { "\($0)" }, destination: destination.map { "\($0)" }, channel: channel,
      ssrc: flow.ssrc, packets: flow.packets, bytes: flow.bytes, repeated: flow.repeated,
      lost: reception.lost,
      duration: .nanoseconds(reception.lastTime.subtractingSaturating(reception.firstTime)),
      samples: flow.samples, jitters: [:])
  }
}
