public import Bitstream
import NIOCore
public import RTPProcessor
public import RTPWire

/// Takes the units of sound out of ordered packets.
///
/// After each ``push(_:)`` and after ``flush()``, call ``next()`` until it returns `nil`. A unit
/// comes out with its last packet.
public struct SoundDefragmenter: Sendable {
  /// Comfort noise (RFC 3389 §6).
  private static let comfortNoiseType: UInt8 = 13

  private let payloadType: UInt8?
  private var unpacker: any SoundPayloadFormat
  private var units = SoundUnitCollector()
  /// The format that decoders have to know, as the last unit has it.
  public private(set) var format: SoundFormat?

  /// Makes a defragmenter for the described media; `nil` when `formats` does not know its coding.
  ///
  /// - Parameters:
  ///   - media: the encoding name, the clock rate, the channels and the parameters. Packets of
  ///     other payload types than the one it names are counted and left out.
  ///   - formats: where the encoding name is looked up.
  ///   - totals: counters of a preceding stream, to continue from.
  public init?(
    media: MediaDescription, formats: FormatCatalogue = .standard,
    continuing totals: SoundStatistics = SoundStatistics()
  ) {
    guard let unpacker = formats.soundFormat(of: media) else { return nil }
    self.unpacker = unpacker
    payloadType = media.payloadType
    format = unpacker.format
    units.statistics = totals
  }

  /// The totals so far.
  public var statistics: SoundStatistics { units.statistics }

  /// Takes in the next packet of the stream.
  public mutating func push(_ packet: OrderedPacket) {
    units.statistics.packets += 1
    if packet.isDiscontinuity { units.restart() }
    if packet.lostBefore > 0 { units.noteLoss(of: packet.lostBefore) }
    if let payloadType, packet.packet.payloadType != payloadType {
      if packet.packet.payloadType == Self.comfortNoiseType {
        units.statistics.comfortNoise += 1
      } else {
        units.statistics.otherTypes += 1
      }
      return
    }
    let payload = packet.packet.payload
    guard payload.readableBytes > 0 else {
      units.statistics.emptyPayloads += 1
      return
    }
    units.begin(packet)
    unpacker.unpack(payload, marker: packet.packet.marker, into: &units)
    switch units.endPacket() {
    case .unpacked: units.statistics.unpacked += 1
    case .malformed: units.statistics.malformedPayloads += 1
    case .orphan: units.statistics.orphanFragments += 1
    }
    format = unpacker.format ?? format
  }

  /// The next unit that is complete.
  public mutating func next() -> SoundUnit? { units.next() }

  /// Ends the stream: units that wait for earlier ones come out, and what is incomplete is dropped.
  public mutating func flush() {
    units.dropKept()
    units.flush()
  }
}
