import Decode
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// The counters that are also reported for each interval between two lines of statistics.
struct IntervalCounters: Sendable {
  private var elapsed = 0.0
  var reception: ReceptionStatistics?
  private var transport = TransportCounters()
  private var delivery: DeliveryStatistics?
  private var events: [Int] = []

  /// The state before the first packet.
  init() {}

  init(_ status: Receiver.Status, at elapsed: Duration) {
    self.elapsed = elapsed.seconds
    reception = status.stream?.reception
    transport = status.transport
    delivery = status.delivery
    events = status.outputs.map(\.events.count)
  }

  /// How much had happened to the files of the output at `place`.
  func events(ofOutput place: Int) -> Int { events.indices.contains(place) ? events[place] : 0 }

  /// The differences from `former` to this; 0 where a counter has fallen.
  ///
  /// Packets of an earlier interval may have come themselves after all, and what a sender has left
  /// out is an estimate.
  func json(since former: IntervalCounters) -> JSONLine {
    let seconds = elapsed - former.elapsed
    func growth(_ now: UInt64?, since former: UInt64?) -> UInt64 {
      let now = now ?? 0
      return now - min(former ?? 0, now)
    }
    func received(_ counter: KeyPath<ReceptionStatistics, UInt64>) -> UInt64 {
      growth(reception?[keyPath: counter], since: former.reception?[keyPath: counter])
    }
    let (delivered, lost) = (received(\.delivered), received(\.lost))
    var object = JSONLine()
    object.add("duration_s", seconds)
    object.add(
      "bits_per_s", seconds > 0 ? Double(received(\.receivedBytes)) * 8 / seconds : nil, digits: 0)
    object.add("delivered", delivered)
    object.add("repaired", received(\.repaired))
    object.add("lost", lost)
    object.add("loss_percent", lost == 0 ? 0 : 100 * Double(lost) / Double(lost + delivered))
    object.add("left_out_by_sender", received(\.leftOut))
    object.add("reordered", received(\.reordered))
    object.add("duplicate", received(\.duplicate))
    object.add("overtaken", received(\.overtaken))
    object.add("late", received(\.late))
    for counter in CommandLineTool.current.transports.counters where counter.isLocalLoss {
      object.add(counter.name, growth(transport[counter], since: former.transport[counter]))
    }
    object.add("repair_requested", received(\.repair.requested))
    object.add("repair_arrived", received(\.repair.arrived))
    object.add("repair_late", received(\.repair.late))
    object.add("rebuilt", received(\.errorCorrection.rebuilt))
    object.add("bursts", received(\.lossPattern.bursts))
    object.add("burst_lost", received(\.lossPattern.burstLost))
    object.add("gap_lost", received(\.lossPattern.gapLost))
    object.add("frames", growth(delivery?.frames, since: former.delivery?.frames))
    for condition in RawFrame.Condition.allCases {
      let (now, before) = (delivery?.conditions[condition], former.delivery?.conditions[condition])
      object.add("\(condition)", growth(now, since: before))
    }
    let (freezes, before) = (delivery?.freezes, former.delivery?.freezes)
    object.add("freezes", growth(freezes?.count, since: before?.count))
    object.add("frozen_s", max(0, (freezes?.seconds ?? 0) - (before?.seconds ?? 0)))
    return object
  }
}
