public import Bitstream
public import NIOCore
public import RTPWire

/// One access unit as it arrived: the NAL units of one picture in decoding order.
public struct AccessUnit: Sendable {
  /// How completely the unit arrived.
  public enum Integrity: Sendable, Hashable, CaseIterable {
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

  /// What does not change.
  ///
  /// Units pass through many hands, so a copy of one has to be cheap: one reference.
  private final class Content: Sendable {
    let codec: VideoCodec
    let bytes: ByteBuffer
    let units: [NALUnit]
    let time: MediaTime
    let firstArrival: Instant
    let lastArrival: Instant
    let integrity: Integrity
    let damage: PictureDamage?
    let packets: UnitPackets?
    let gaps: [Gap]
    let isRandomAccess: Bool
    let dependency: PictureDependency?
    let recoveryPoint: RecoveryPoint?
    let format: FormatDescription?

    init(
      codec: VideoCodec, bytes: ByteBuffer, units: [NALUnit], time: MediaTime,
      firstArrival: Instant, lastArrival: Instant, integrity: Integrity, damage: PictureDamage?,
      gaps: [Gap], packets: UnitPackets?, isRandomAccess: Bool, dependency: PictureDependency?,
      recoveryPoint: RecoveryPoint?, format: FormatDescription?
    ) {
      self.codec = codec
      self.bytes = bytes
      self.units = units
      self.time = time
      self.firstArrival = firstArrival
      self.lastArrival = lastArrival
      self.integrity = integrity
      self.damage = damage
      self.gaps = gaps
      self.packets = packets
      self.isRandomAccess = isRandomAccess
      self.dependency = dependency
      self.recoveryPoint = recoveryPoint
      self.format = format
    }
  }

  private var content: Content
  /// When the picture was taken, by the sender's clock and its RTCP sender reports (RFC 3550
  /// §6.4.1); `nil` before the first report.
  public var captureTime: WallClockTime?
  /// Whether it is the first of a source that took the place of another one: what came before it is
  /// nothing that it, or any later one, refers to.
  public var beginsOtherSource = false
  /// Unanswered requests for a key picture by the time it was complete; 0 without feedback.
  public var unansweredKeyPictureRequests = 0
  /// Which field of a frame it is; `nil` where its picture is a frame or cannot be told.
  public var fields: Fields?

  public init(
    codec: VideoCodec, bytes: ByteBuffer, units: [NALUnit], time: MediaTime, firstArrival: Instant,
    lastArrival: Instant, integrity: Integrity = .whole, damage: PictureDamage? = nil,
    gaps: [Gap] = [], packets: UnitPackets? = nil,
    isRandomAccess: Bool = false, dependency: PictureDependency? = nil,
    recoveryPoint: RecoveryPoint? = nil, format: FormatDescription? = nil
  ) {
    content = Content(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, integrity: integrity,
      damage: damage ?? (integrity == .damaged ? .lostPackets : nil), gaps: gaps,
      packets: packets, isRandomAccess: isRandomAccess, dependency: dependency,
      recoveryPoint: recoveryPoint, format: format)
  }

  /// The same unit at another time.
  package func placed(at time: MediaTime) -> AccessUnit {
    var unit = self
    unit.content = Content(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, integrity: integrity, damage: damage, gaps: gaps,
      packets: packets, isRandomAccess: isRandomAccess, dependency: dependency,
      recoveryPoint: recoveryPoint, format: format)
    return unit
  }

  public var codec: VideoCodec { content.codec }
  /// The NAL units with four-byte start codes (Annex B), ready for a decoder or a file.
  public var bytes: ByteBuffer { content.bytes }
  public var units: [NALUnit] { content.units }
  public var time: MediaTime { content.time }
  public var firstArrival: Instant { content.firstArrival }
  /// When the packet that completed it arrived.
  public var lastArrival: Instant { content.lastArrival }
  public var integrity: Integrity { content.integrity }
  /// Why part of the picture is missing; `nil` if nothing is.
  public var damage: PictureDamage? { content.damage }
  /// The packets in which it came; `nil` for a unit that came otherwise.
  public var packets: UnitPackets? { content.packets }
  /// Where packets are known to be missing, inside the unit or directly before it.
  public var gaps: [Gap] { content.gaps }
  /// Whether decoding can begin here: an IDR or IRAP picture, or a recovery point.
  public var isRandomAccess: Bool { content.isRandomAccess }
  /// What its picture refers to; `nil` without a picture.
  public var dependency: PictureDependency? { content.dependency }
  /// The message that pictures are correct from some distance on, wherever decoding began.
  public var recoveryPoint: RecoveryPoint? { content.recoveryPoint }
  /// The format of the pictures from here on, by the active parameter sets; `nil` before any came.
  public var format: FormatDescription? { content.format }
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
