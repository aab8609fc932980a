import Decode
import RTPWire

/// What a frame says of itself, to compare runs.
struct FrameSummary: Sendable, Hashable {
  let time: MediaTime
  let captureTime: WallClockTime?
  let condition: RawFrame.Condition
  let byteCount: Int

  init(of frame: RawFrame) {
    time = frame.time
    captureTime = frame.captureTime
    condition = frame.condition
    byteCount = frame.codedByteCount
  }
}
