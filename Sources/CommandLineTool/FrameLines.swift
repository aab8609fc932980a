import RTPWire
import Receiver

extension FrameRecord {
  /// The frame as an object in the statistics.
  var json: JSONLine {
    var object = JSONLine()
    object.add("number", number)
    object.add("rtp_time", time.ticks)
    object.add("capture_time", captureTime.map { "\($0)" })
    object.add("condition", condition.map { "\($0)" })
    object.add("bytes", byteCount)
    return object
  }
}
