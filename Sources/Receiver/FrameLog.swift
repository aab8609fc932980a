import Bitstream
public import Decode
import Defragment
import NIOCore
import Outputs
public import RTPWire

/// The report on one frame, or on one access unit when nothing is decoded.
public struct FrameRecord: Sendable, Hashable {
  /// Counted from 1 over the whole run.
  public let number: UInt64
  /// The RTP timestamp without wrap.
  public let time: MediaTime
  /// When the picture was taken, by the sender's clock and its RTCP sender reports.
  public let captureTime: WallClockTime?
  /// How far the frame is what was sent; `nil` for an access unit.
  public let condition: RawFrame.Condition?
  /// Size as received, in bytes, with four-byte start codes.
  public let byteCount: Int

  init(number: UInt64, frame: RawFrame) {
    self.number = number
    time = frame.time
    captureTime = frame.captureTime
    condition = frame.condition
    byteCount = frame.codedByteCount
  }

  init(number: UInt64, unit: AccessUnit) {
    self.number = number
    time = unit.time
    captureTime = unit.captureTime
    condition = nil
    byteCount = unit.bytes.readableBytes
  }
}

/// The frames since the last query.
public struct FrameLog: Sendable, Hashable {
  /// How many frames are kept: eight seconds of a fast camera.
  public static let maximumRecords = 1024

  public private(set) var records: [FrameRecord] = []
  /// Later frames, which did not fit.
  public private(set) var leftOut: UInt64 = 0

  mutating func append(_ record: FrameRecord) {
    guard records.count < Self.maximumRecords else {
      leftOut += 1
      return
    }
    records.append(record)
  }
}
