public import Decode
import Defragment
public import RTPWire

/// What became of one picture: a frame, or the reason why there is none.
public struct PictureReport: Sendable {
  /// Its place among the frames of the run, from 1; `nil` without a frame.
  public let number: UInt64?
  public let time: MediaTime
  /// When the picture was taken by the sender's clock; `nil` before a sender report came.
  public let captureTime: WallClockTime?
  public let firstArrival: Instant
  public let lastArrival: Instant
  /// Bytes as received, with four-byte start codes.
  public let codedByteCount: Int
  /// What it came from; `nil` for a repetition where nothing came.
  public let origin: PictureOrigin?
  public let isKeyFrame: Bool?
  public let geometry: RawFrame.Geometry?
  /// How far the frame is what was sent; `nil` without a frame.
  public let condition: RawFrame.Condition?
  /// Why the frame is not intact, or there is none.
  public let reason: String?
  /// The frame itself, if its samples are asked for.
  let frame: RawFrame?

  /// Reports `frame`, the `number`th of the run.
  public init(of frame: RawFrame, number: UInt64, withSamples: Bool) {
    self.number = number
    time = frame.time
    captureTime = frame.captureTime
    firstArrival = frame.firstArrival
    lastArrival = frame.lastArrival
    codedByteCount = frame.codedByteCount
    origin = frame.origin
    isKeyFrame = frame.isKeyFrame
    geometry = frame.geometry
    condition = frame.condition
    reason = frame.damage?.rawValue
    self.frame = withSamples ? frame : nil
  }

  /// Reports an access unit that became no frame.
  public init(of failure: DecodeFailure) {
    number = nil
    time = failure.time
    captureTime = failure.captureTime
    firstArrival = failure.firstArrival
    lastArrival = failure.lastArrival
    codedByteCount = failure.codedByteCount
    origin = failure.origin
    isKeyFrame = nil
    geometry = nil
    condition = nil
    reason = failure.reason.kind.rawValue
    frame = nil
  }

  /// The size that counts towards the limits of the output's queue: that of a line, and of the
  /// samples that wait with it.
  var byteCount: Int { 512 + (frame?.byteCount ?? 0) }
}
