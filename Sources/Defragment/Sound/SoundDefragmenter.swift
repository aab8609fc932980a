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

  /// A format that the packets may have.
  private struct Listed: Sendable {
    /// Of its packets; `nil` if each packet is one.
    let payloadType: UInt8?
    let clockRate: UInt32
    var unpacker: any SoundPayloadFormat

    init(_ media: MediaDescription, _ unpacker: any SoundPayloadFormat) {
      (payloadType, clockRate) = (media.payloadType, media.clockRate)
      self.unpacker = unpacker
    }
  }

  /// First the one that was described, then those beside it.
  private var listed: [Listed]
  /// The index of the one that the last packet had.
  private var current = 0
  private var units = SoundUnitCollector()
  /// The format that decoders have to know, as the last unit has it.
  public private(set) var format: SoundFormat?

  /// Makes a defragmenter for the described media; `nil` when `formats` does not know its coding.
  ///
  /// - Parameters:
  ///   - media: the encoding name, the clock rate, the channels and the parameters. Packets of
  ///     other payload types than it names, for itself and in its other formats, are counted and
  ///     left out.
  ///   - formats: where the encoding name is looked up.
  ///   - totals: counters of a preceding stream, to continue from.
  public init?(
    media: MediaDescription, formats: FormatCatalogue = .standard,
    continuing totals: SoundStatistics = SoundStatistics()
  ) {
    guard let unpacker = formats.soundFormat(of: media) else { return nil }
    listed =
      [Listed(media, unpacker)]
      + media.otherFormats.compactMap { other in
        formats.soundFormat(of: other).map { Listed(other, $0) }
      }
    format = unpacker.format
    units.statistics = totals
  }

  /// The payload type of the format that is unpacked; `nil` where any packet is of it.
  public var payloadType: UInt8? { listed[current].payloadType }

  /// The totals so far.
  public var statistics: SoundStatistics { units.statistics }

  /// Takes in the next packet of the stream.
  public mutating func push(_ packet: OrderedPacket) {
    units.statistics.packets += 1
    if packet.isDiscontinuity { units.restart() }
    if packet.lostBefore > 0 { units.noteLoss(of: packet.lostBefore) }
    let type = packet.packet.payloadType
    // Times by another clock would be wrong.
    let place = listed.firstIndex {
      ($0.payloadType ?? type) == type && $0.clockRate == packet.time.timescale
    }
    guard let index = place else {
      if type == Self.comfortNoiseType {
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
    if index != current {
      // What the former format has begun ends with it.
      units.dropKept()
      units.flush()
      current = index
    }
    units.begin(packet)
    listed[index].unpacker.unpack(payload, marker: packet.packet.marker, into: &units)
    switch units.endPacket() {
    case .unpacked: units.statistics.unpacked += 1
    case .malformed: units.statistics.malformedPayloads += 1
    case .orphan: units.statistics.orphanFragments += 1
    }
    format = listed[index].unpacker.format ?? format
  }

  /// The next unit that is complete.
  public mutating func next() -> SoundUnit? { units.next() }

  /// Ends the stream: units that wait for earlier ones come out, and what is incomplete is dropped.
  public mutating func flush() {
    units.dropKept()
    units.flush()
  }
}
