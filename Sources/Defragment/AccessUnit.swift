public import Bitstream
public import NIOCore
public import RTPWire

/// One access unit as it arrived: the NAL units of one picture in decoding order.
public struct AccessUnit: Sendable {
  /// How completely the unit arrived.
  public enum Integrity: Sendable, Hashable {
    /// Nothing is missing.
    case whole
    /// The picture is complete, but packets directly before it are missing: other pictures, or this
    /// one's supplemental data and parameter sets.
    case afterLoss
    /// Part of the picture is missing: ``AccessUnit/gaps`` says where, and the NAL units say which
    /// of them are cut.
    case damaged
  }

  /// Consecutive missing packets.
  public struct Gap: Sendable, Hashable {
    /// How many NAL units precede the gap; units that are missing entirely belong here.
    public let unitIndex: Int
    /// `nil` where the numbering restarted, so that the count is unknown.
    public let packets: Int?

    public init(unitIndex: Int, packets: Int?) {
      self.unitIndex = unitIndex
      self.packets = packets
    }
  }

  public let codec: VideoCodec
  /// The NAL units with four-byte start codes (Annex B), ready for a decoder or a file.
  public let bytes: ByteBuffer
  public let units: [NALUnit]
  public let time: MediaTime
  public let firstArrival: Instant
  /// When the packet that completed it arrived.
  public let lastArrival: Instant
  public let integrity: Integrity
  /// Why part of the picture is missing; `nil` if nothing is.
  public let damage: PictureDamage?
  /// The packets in which it came; `nil` for a unit that came otherwise.
  public let packets: UnitPackets?
  /// Where packets are known to be missing, inside the unit or directly before it.
  public let gaps: [Gap]
  /// Whether decoding can begin here: an IDR or IRAP picture, or a recovery point.
  public let isRandomAccess: Bool
  /// What its picture refers to; `nil` without a picture.
  public let dependency: PictureDependency?
  /// The message that pictures are correct from some distance on, wherever decoding began.
  public let recoveryPoint: RecoveryPoint?
  /// The format of the pictures from here on, by the active parameter sets; `nil` before any came.
  public let format: FormatDescription?
  /// When the picture was taken, by the sender's clock and its RTCP sender reports (RFC 3550
  /// §6.4.1); `nil` before the first report.
  public var captureTime: WallClockTime?
  /// Unanswered requests for a key picture by the time it was complete; 0 without feedback.
  public var unansweredKeyPictureRequests = 0

  public init(
    codec: VideoCodec, bytes: ByteBuffer, units: [NALUnit], time: MediaTime, firstArrival: Instant,
    lastArrival: Instant, integrity: Integrity = .whole, damage: PictureDamage? = nil,
    gaps: [Gap] = [], packets: UnitPackets? = nil,
    isRandomAccess: Bool = false, dependency: PictureDependency? = nil,
    recoveryPoint: RecoveryPoint? = nil, format: FormatDescription? = nil
  ) {
    self.codec = codec
    self.bytes = bytes
    self.units = units
    self.time = time
    self.firstArrival = firstArrival
    self.lastArrival = lastArrival
    self.integrity = integrity
    self.damage = damage ?? (integrity == .damaged ? .lostPackets : nil)
    self.gaps = gaps
    self.packets = packets
    self.isRandomAccess = isRandomAccess
    self.dependency = dependency
    self.recoveryPoint = recoveryPoint
    self.format = format
  }
}

/// One NAL unit inside an access unit's bytes.
public struct NALUnit: Sendable, Hashable {
  /// The offset of the unit in the access unit in bytes, after its start code.
  public let offset: Int
  /// Bytes from the NAL unit header to the end, emulation prevention included.
  public let length: Int
  /// `nal_unit_type` as the standard numbers it; `H264.NALUnitType` and `H265.NALUnitType` name it.
  public let type: UInt8
  /// `false` when the end is missing: the bytes present are the intact beginning.
  public let isWhole: Bool

  public init(offset: Int, length: Int, type: UInt8, isWhole: Bool = true) {
    self.offset = offset
    self.length = length
    self.type = type
    self.isWhole = isWhole
  }
}

extension AccessUnit {
  /// Packets known to be missing inside the unit or directly before it.
  public var lostPackets: Int { gaps.reduce(0) { $0 + ($1.packets ?? 0) } }

  /// The NAL units as slices, without start codes.
  public var nalUnits: [ByteBuffer] { units.map { bytes(of: $0) } }

  /// The bytes of `unit`, header first, as a slice of this access unit.
  public func bytes(of unit: NALUnit) -> ByteBuffer {
    bytes.getSlice(at: bytes.readerIndex + unit.offset, length: unit.length) ?? ByteBuffer()
  }
}
