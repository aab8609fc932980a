import Decode
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// What had come of a stream at one moment, or came between two: what all rates that are shown are
/// made of.
struct StreamTotals: Sendable, Hashable {
  /// In seconds since the run began, or between the two moments.
  var seconds = 0.0
  /// Of the RTP packets of all tracks, as are the next two.
  var bytes: UInt64 = 0
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
  var frames: UInt64 = 0
  var accessUnits: UInt64 = 0
  var soundUnits: UInt64 = 0
  /// Frames that are not as they were sent, and access units that are not whole.
  var damaged: UInt64 = 0
  /// Access units that the decoder, and whatever an output, was too slow for.
  var dropped: UInt64 = 0

  /// Of a run that has just begun.
  init() {}

  init(_ status: Receiver.Status, at elapsed: Duration) {
    seconds = elapsed.seconds
    for reception in [status.stream?.reception, status.stream?.sound?.reception].compactMap(\.self)
    {
      bytes &+= reception.receivedBytes
      delivered &+= reception.delivered
      lost &+= reception.lost
    }
    let delivery = status.delivery
    frames = delivery.frames
    accessUnits = delivery.accessUnits
    soundUnits = delivery.soundUnits
    damaged = delivery.notAsSent &+ delivery.damagedAccessUnits
    dropped = status.outputs.reduce(delivery.droppedBeforeDecoder &+ delivery.undecodedAtEnd) {
      $0 &+ $1.counters.dropped
    }
  }

  /// What came from `former` to this; nothing of what counts less than it did, because another run
  /// began in between.
  func since(_ former: StreamTotals) -> StreamTotals {
    var change = StreamTotals()
    change.seconds = max(0, seconds - former.seconds)
    for count in Self.counts where self[keyPath: count] > former[keyPath: count] {
      change[keyPath: count] = self[keyPath: count] - former[keyPath: count]
    }
    return change
  }

  /// How many bits came in a second; 0 if no time has passed.
  var bitsPerSecond: Double { perSecond(\.bytes) * 8 }

  /// How many packets in a hundred of those that were sent did not come.
  var lossPercentage: Double {
    lost == 0 ? 0 : 100 * Double(lost) / (Double(lost) + Double(delivered))
  }

  /// How many came in a second; 0 if no time has passed.
  func perSecond(_ count: KeyPath<StreamTotals, UInt64>) -> Double {
    seconds > 0 ? Double(self[keyPath: count]) / seconds : 0
  }

  private static var counts: [WritableKeyPath<StreamTotals, UInt64>] {
    [
      \.bytes, \.delivered, \.lost, \.frames, \.accessUnits, \.soundUnits, \.damaged, \.dropped,
    ]
  }
}

extension DeliveryStatistics {
  /// Frames that are not as they were sent.
  var notAsSent: UInt64 {
    [.concealed, .damaged, .repeated].reduce(0) { $0 + (conditions[$1] ?? 0) }
  }
}
