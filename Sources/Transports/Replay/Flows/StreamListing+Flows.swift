internal import NIOCore
internal import RTPWire

extension StreamListing {
  /// The flows of a recording, the largest first.
  init(_ survey: FlowSurvey, in dissection: Dissection) {
    let descriptions = dissection.descriptions
    streams = survey.confirmed(atMost: .max).map { flow in
      let said = descriptions.section(of: flow)?.media.description
      var stream = ListedStream(
        said?.payloadType == flow.payloadType
          ? said ?? flow.ownDescription : flow.ownDescription)
      stream.flow = FlowFigures(flow, clockRate: stream.description.clockRate)
      return stream
    }
  }
}

extension Flow {
  /// What the packets alone show.
  fileprivate var ownDescription: MediaDescription {
    if let assignment { return assignment }
    return MediaDescription(
      kind: looksLikeVideo ? .video : .application, payloadType: payloadType,
      clockRate: reception.clockRate ?? MediaDescription.videoClockRate)
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
    jitter = reception.jitter(clockRate: clockRate).map { .nanoseconds(Int64(min($0, 1e18))) }
  }

  private init(
    _ flow: Flow, from source: IPEndpoint?, to destination: IPEndpoint?, on channel: UInt8?
  ) {
    let reception = flow.reception
    self.init(
      source: source.map { "\($0)" }, destination: destination.map { "\($0)" }, channel: channel,
      ssrc: flow.ssrc, packets: flow.packets, bytes: flow.bytes, lost: reception.lost,
      duration: .nanoseconds(reception.lastTime.subtractingSaturating(reception.firstTime)),
      samples: flow.samples)
  }
}
