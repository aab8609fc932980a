public import Bitstream
public import Defragment

/// What a picture came from: its access unit, or those of both its fields.
public struct PictureOrigin: Sendable, Hashable {
  public let codec: VideoCodec
  /// The packets in which it came; `nil` if it came otherwise.
  public private(set) var packets: UnitPackets?
  /// Packets known to be missing in it or directly before it; `nil` where nobody knows how many.
  public private(set) var lostPackets: Int?
  /// How long the decoder's thread took for it, in nanoseconds.
  package var decodingTime: Int64 = 0
  private var units: [NALUnit]

  /// The types of its NAL units, in decoding order, as they were given to the decoder.
  public var unitTypes: [UInt8] { units.map(\.type) }

  init(_ unit: AccessUnit) {
    codec = unit.codec
    packets = unit.packets
    lostPackets = unit.gaps.contains { $0.packets == nil } ? nil : unit.lostPackets
    units = unit.units
  }

  /// Adds the access unit of the second field.
  mutating func add(_ second: PictureOrigin) {
    if let more = second.packets { packets?.add(more) }
    lostPackets = lostPackets.flatMap { lost in second.lostPackets.map { lost + $0 } }
    decodingTime += second.decodingTime
    units += second.units
  }
}
