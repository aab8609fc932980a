import Decode
import RTPProcessor
import Receiver
import Transports

/// Frames and bits a second over the last seconds, for the live line.
struct Rates {
  private(set) var frames = 0.0
  private(set) var bits = 0.0
  private var samples: [(at: Double, frames: UInt64, bytes: UInt64)] = []

  mutating func note(_ status: Receiver.Status, at elapsed: Duration) {
    let now = elapsed.seconds
    samples.append((now, status.delivery.frames, status.stream?.reception.receivedBytes ?? 0))
    while let first = samples.first, now - first.at > 2 { samples.removeFirst() }
    guard let first = samples.first, now > first.at, let last = samples.last else { return }
    frames = Double(last.frames &- first.frames) / (now - first.at)
    bits = Double(last.bytes &- first.bytes) * 8 / (now - first.at)
  }
}

/// The counters that are of interest for one interval by itself, from a line of statistics to the next.
struct IntervalCounters: Sendable {
  private var elapsed = 0.0
  private var receivedBytes: UInt64 = 0
  private var delivered: UInt64 = 0
  private var recovered: UInt64 = 0
  private var lost: UInt64 = 0
  private var kernelDropped: UInt64 = 0
  private var frames: UInt64 = 0
  private var conditions: [RawFrame.Condition: UInt64] = [:]
  private var freezes: UInt64 = 0

  /// Before anything came.
  init() {}

  init(_ status: Receiver.Status, at elapsed: Duration) {
    self.elapsed = elapsed.seconds
    if let reception = status.stream?.reception {
      receivedBytes = reception.receivedBytes
      delivered = reception.delivered
      recovered = reception.recovered
      lost = reception.lost
    }
    kernelDropped = status.transport.kernelDropped
    frames = status.delivery.frames
    conditions = status.delivery.conditions
    freezes = status.delivery.freezes.count
  }

  /// What came between `former` and this.
  func json(since former: IntervalCounters) -> JSONLine {
    let seconds = elapsed - former.elapsed
    let (delivered, lost) = (delivered &- former.delivered, lost &- former.lost)
    var object = JSONLine()
    object.add("duration_s", seconds)
    object.add(
      "bits_per_s",
      seconds > 0 ? Double(receivedBytes &- former.receivedBytes) * 8 / seconds : nil, digits: 0)
    object.add("delivered", delivered)
    object.add("recovered", recovered &- former.recovered)
    object.add("lost", lost)
    object.add("loss_percent", lost == 0 ? 0 : 100 * Double(lost) / Double(lost + delivered))
    object.add("kernel_dropped", kernelDropped &- former.kernelDropped)
    object.add("frames", frames &- former.frames)
    for condition in RawFrame.Condition.allCases {
      object.add(
        "\(condition)", (conditions[condition] ?? 0) &- (former.conditions[condition] ?? 0))
    }
    object.add("freezes", freezes &- former.freezes)
    return object
  }
}
