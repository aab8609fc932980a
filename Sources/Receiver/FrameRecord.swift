import Decode
import Defragment
public import RTPWire

/// What is known of one frame of the output, or of one access unit when nothing is decoded.
public struct FrameRecord: Sendable, Hashable {
  /// Counted from 1 over the whole run.
  public let number: UInt64
  /// Ticks of the media clock since the stream began, wraps undone.
  public let time: MediaTime
  /// When it was taken by the sender's clock; `nil` when the sender has not said.
  public let captureTime: NTPTime?
  /// Whether something of it is missing, or had to be made up.
  public let isDamaged: Bool

  init(_ frame: RawFrame, number: UInt64) {
    self.number = number
    time = frame.time
    captureTime = frame.captureTime
    isDamaged = frame.isCorrupt
  }

  init(_ unit: AccessUnit, number: UInt64) {
    self.number = number
    time = unit.time
    captureTime = unit.captureTime
    isDamaged = unit.integrity == .damaged
  }
}

/// The records of the latest frames, as many as are kept.
public struct FrameRecords: Sendable, Hashable {
  /// Records kept until they are taken: some ten seconds of a fast camera.
  public static let maximumCount = 1024

  public private(set) var records: [FrameRecord] = []
  /// Frames of which the record was let go because more came than are kept.
  public private(set) var omitted: UInt64 = 0

  init() {}

  mutating func add(_ record: FrameRecord) {
    guard records.count < Self.maximumCount else {
      omitted += 1
      return
    }
    records.append(record)
  }
}
