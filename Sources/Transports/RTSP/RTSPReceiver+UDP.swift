import BlockingIO
internal import NIOCore
internal import RTPWire

/// Media over UDP.
extension RTSPReceiver: DatagramMerger {
  func open(_ wanted: RTSPSession.Ports, forMedia media: Int) {
    do {
      guard let local = connection?.addresses?.local else { throw TransportError.closed }
      switch wanted {
      case .pair:
        pairsAsked += 1
        ports[media] = try RTSPMediaPorts(
          pairOn: local, place: pairsAsked - 1, sockets, on: eventLoop)
      case .multicast(let group, let port, let sources):
        ports[media] = try RTSPMediaPorts(
          group: SocketAddress(ipAddress: group, port: port),
          sources: sources.map { try SocketAddress(ipAddress: $0, port: 0) }, local: local, sockets,
          on: eventLoop)
        // A group has no server ports to wait for, so packets can come from now on.
        startDelivery(ofMedia: media)
      }
    } catch {
      failure = error
      return session.portsFailed(forMedia: media, at: Instant.now)
    }
    guard let local = ports[media]?.local else { return }
    session.portsOpened(local, forMedia: media, at: Instant.now)
  }

  func expect(_ server: RTSPSession.ServerPorts, forMedia media: Int) {
    guard let host = connection?.addresses?.remote else { return }
    ports[media]?.expect(server, on: host)
    ports[media]?.punch()
    startDelivery(ofMedia: media)
  }

  /// Delivers a stream if it is wanted; a retransmission stream is set up after its media.
  private func startDelivery(ofMedia media: Int) {
    var started: EventLoopFuture<Void>?
    if let track = tracks.firstIndex(of: media) {
      let relay = NumberedSink(self, number: track, on: eventLoop)
      started = ports[media]?.deliver(to: relay)
      ports[media]?.receiver?.onDiagnostic = { [weak self] in self?.count.note($0) }
    } else if let original = tracks.first(where: {
      description?.media[$0].retransmission == media
    }), let repair = ports[media]?.repair {
      started = ports[original]?.deliver(repair)
    }
    started?.assumeIsolated().whenFailure { self.mediaFailed($0) }
  }

  /// Whether the sink can tell which datagrams are genuine.
  var authenticates: Bool { sink?.authenticates ?? false }

  func admit(_ datagram: Datagram, from track: Int) -> Bool {
    let (channel, arrival) = (datagram.channel, datagram.arrival)
    var datagram = datagram
    datagram.track = track
    let isGenuine = deliver(datagram)
    let isSelected = tracks.indices.contains(track) && tracks[track] == selected
    if isGenuine, isSelected, channel == .media { session.mediaArrived(at: arrival) }
    return isGenuine
  }

  func readCompleted(at now: Instant, of track: Int) { readCompleted(at: now) }

  func ended(_ track: Int, _ end: TransportEnd) {
    if case .failed(let error) = end { mediaFailed(error) }
  }

  func mediaFailed(_ error: any Error) {
    end(.failed(error))
    session.teardown(at: Instant.now)
    act()
  }

  func closePorts() {
    let closing = ports
    ports.removeAll()
    pairsAsked = 0
    for (media, ports) in closing {
      ports.close()
      if let receiver = ports.receiver { count.add(receiver.counters, isFirst: media == selected) }
    }
  }
}

extension TransportCounters {
  /// Adds the counters and diagnostics of sockets, except for their deliveries; the address is the
  /// first track's.
  mutating func add(_ sockets: TransportCounters, isFirst: Bool) {
    if isFirst { localAddress = sockets.localAddress ?? localAddress }
    empty += sockets.empty
    for counter in TransportCounter.ofSockets {
      self[counter] = counter.joined(sockets[counter], after: self[counter])
    }
    for diagnostic in sockets.diagnostics { note(diagnostic) }
  }
}
