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
  private var reception: ReceptionStatistics?
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

  /// The differences from `former` to this.
  func json(since former: IntervalCounters) -> JSONLine {
    let seconds = elapsed - former.elapsed
    func received(_ counter: KeyPath<ReceptionStatistics, UInt64>) -> UInt64 {
      (reception?[keyPath: counter] ?? 0) &- (former.reception?[keyPath: counter] ?? 0)
    }
    let (delivered, lost) = (received(\.delivered), received(\.lost))
    var object = JSONLine()
    object.add("duration_s", seconds)
    object.add(
      "bits_per_s", seconds > 0 ? Double(received(\.receivedBytes)) * 8 / seconds : nil, digits: 0)
    object.add("delivered", delivered)
    // Packets of an earlier interval may have come themselves after all.
    let repaired = reception?.repaired ?? 0
    object.add("repaired", repaired - min(former.reception?.repaired ?? 0, repaired))
    object.add("lost", lost)
    object.add("loss_percent", lost == 0 ? 0 : 100 * Double(lost) / Double(lost + delivered))
    object.add("left_out_by_sender", received(\.leftOut))
    object.add("reordered", received(\.reordered))
    object.add("duplicate", received(\.duplicate))
    object.add("overtaken", received(\.overtaken))
    object.add("late", received(\.late))
    for counter in CommandLineTool.current.transports.counters where counter.isLocalLoss {
      object.add(counter.name, transport[counter] &- former.transport[counter])
    }
    object.add("repair_requested", received(\.repair.requested))
    object.add("repair_arrived", received(\.repair.arrived))
    object.add("repair_late", received(\.repair.late))
    object.add("rebuilt", received(\.errorCorrection.rebuilt))
    object.add("bursts", received(\.lossPattern.bursts))
    object.add("burst_lost", received(\.lossPattern.burstLost))
    object.add("gap_lost", received(\.lossPattern.gapLost))
    object.add("frames", (delivery?.frames ?? 0) &- (former.delivery?.frames ?? 0))
    for condition in RawFrame.Condition.allCases {
      func count(_ delivery: DeliveryStatistics?) -> UInt64 { delivery?.conditions[condition] ?? 0 }
      object.add("\(condition)", count(delivery) &- count(former.delivery))
    }
    let (freezes, before) = (delivery?.freezes, former.delivery?.freezes)
    object.add("freezes", (freezes?.count ?? 0) &- (before?.count ?? 0))
    object.add("frozen_s", max(0, (freezes?.seconds ?? 0) - (before?.seconds ?? 0)))
    return object
  }
}
