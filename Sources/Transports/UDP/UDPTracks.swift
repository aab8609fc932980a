internal import NIOCore
internal import RTPWire

/// A UDP transport's receivers, one per track, on its event loop; the sink sees them as one.
final class UDPTracks: DatagramMerger {
  /// `nil` for a track whose ports are taken.
  private var receivers: [(any TrackReceiver)?] = []
  private let eventLoop: any EventLoop
  /// `nil` also where there is one track, whose receiver has the sink itself.
  private var sink: (any DatagramSink)?
  private var arrivals = MonotonicArrivals()
  /// What was said of the tracks, in the order in which it arose.
  private var noted = TransportCounters()
  private let required: Int

  /// Opens the sockets; if a track that is not `required` cannot be opened, that is only reported.
  init(
    _ plans: [UDPPlan], required: Int, on eventLoop: any EventLoop,
    delivering sink: any DatagramSink
  ) throws(TransportError) {
    self.eventLoop = eventLoop
    self.sink = plans.count > 1 ? sink : nil
    self.required = required
    guard plans.count > 1 else {
      for plan in plans { add(try plan.makeReceiver(on: eventLoop, delivering: sink)) }
      return
    }
    for (track, plan) in plans.enumerated() {
      let relay = NumberedSink(self, number: track, on: eventLoop)
      do throws(TransportError) {
        add(try plan.makeReceiver(on: eventLoop, delivering: relay))
      } catch {
        guard track != required else {
          stop()
          throw error
        }
        receivers.append(nil)
        noted.note("stream \(track) is not received: \(error)")
      }
    }
  }

  private func add(_ receiver: any TrackReceiver) {
    receiver.onDiagnostic = { [weak self] in self?.noted.note($0) }
    receivers.append(receiver)
  }

  func gather(for time: Duration) {
    for receiver in receivers { receiver?.gather(for: time) }
  }

  func start() -> EventLoopFuture<Void> {
    .andAllSucceed(receivers.compactMap { $0?.start() }, on: eventLoop)
  }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    // A track beyond them shares the port of the required one.
    receivers[receivers.indices.contains(track) ? track : required]?.sendFeedback(bytes)
  }

  var counters: TransportCounters {
    let all = receivers.indices.compactMap { $0 == required ? nil : receivers[$0]?.counters }
    var sum = all.reduce(receivers[required]?.counters ?? TransportCounters()) {
      var sum = $0.added(to: $1)
      sum.localAddress = $0.localAddress ?? $1.localAddress
      return sum
    }
    // Whatever track they are of, and whoever asks.
    sum.diagnostics = noted.diagnostics
    return sum
  }

  func end(_ end: TransportEnd) {
    let own = stop().first
    let sink = self.sink ?? own
    self.sink = nil
    sink?.transportEnded(end)
  }

  /// Stops silently; returns the sinks of the receivers that were still open.
  @discardableResult
  func stop() -> [any DatagramSink] { receivers.compactMap { $0?.stop() } }

  // MARK: - Several tracks

  var authenticates: Bool { sink?.authenticates ?? false }

  func admit(_ datagram: Datagram, from track: Int) -> Bool {
    guard let sink else { return false }
    var datagram = datagram
    datagram.track = track
    datagram.arrival = arrivals.order(datagram.arrival)
    return sink.admit(datagram)
  }

  func readCompleted(at now: Instant, of track: Int) { sink?.readCompleted(at: now) }

  /// A receiver has ended by itself, which ends all of them.
  func ended(_ track: Int, _ end: TransportEnd) {
    stop()
    let sink = self.sink
    self.sink = nil
    sink?.transportEnded(end)
  }
}
