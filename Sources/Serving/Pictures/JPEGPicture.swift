import Decode
import NIOCore
import Outputs
import RTPWire

/// A frame as JPEG, with its times.
struct JPEGPicture: Sendable {
  let bytes: ByteBuffer
  let time: MediaTime
  let captureTime: WallClockTime?
  let lastArrival: Instant
  let isIntact: Bool

  init(_ frame: RawFrame, encodedBy encoder: JPEGEncoder) throws(OutputError) {
    bytes = try encoder.encode(frame)
    time = frame.time
    captureTime = frame.captureTime
    lastArrival = frame.lastArrival
    isIntact = frame.condition == .intact
  }
}
