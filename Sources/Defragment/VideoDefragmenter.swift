public import Bitstream
import NIOCore
public import RTPProcessor
public import RTPWire

/// Assembles the payloads of ordered packets into access units.
///
/// After each ``push(_:)`` and after ``flush(isLeft:)``, call ``next()`` until it returns `nil`. An
/// access unit comes out with its last packet; but one whose marker may be wrong, as the first of a
/// stream, waits for the next packet or for ``release()``.
public struct VideoDefragmenter: Sendable {
  /// Bounds on the memory of one access unit.
  public struct Limits: Sendable, Hashable {
    /// The most bytes of an access unit: a key picture of 8192x8192 stays far below.
    public var accessUnitBytes = 8 << 20
    /// The most NAL units of one, beside as many slices as pictures of its size can have; level 6.2
    /// allows 600.
    public var unitsPerAccessUnit = 1024

    public init() {}
  }

  /// The codec of the stream.
  public let codec: VideoCodec
  private let format: any PayloadFormat
  private var units: NALUnitCollector
  private var hasBegun = false

  /// Makes a defragmenter for the described media.
  ///
  /// - Parameters:
  ///   - media: the encoding name and its parameters.
  ///   - formats: where the encoding name is looked up.
  ///   - limits: what one access unit may take.
  ///   - totals: counters of a preceding stream, to continue from.
  /// - Throws: ``UnsupportedFormat`` when no payload format here has that encoding name.
  public init(
    media: MediaDescription, formats: FormatCatalogue = .standard, limits: Limits = Limits(),
    continuing totals: DefragmentStatistics = DefragmentStatistics()
  ) throws(UnsupportedFormat) {
    let name = media.encodingName ?? ""
    guard let type = formats.format(encodingName: name) else {
      throw UnsupportedFormat(
        encodingName: media.encodingNames ?? name, known: formats.codecs.map(\.encodingName))
    }
    codec = type.codec
    format = type.init(parameters: media.formatParameters)
    units = NALUnitCollector(format: type, limits: limits)
    units.statistics = totals
    if let bounds = format.interleaving { units.expectInterleaving(bounds) }
    for text in type.signalledParameterSets(in: media.formatParameters) {
      // Revotech cameras put start codes into sprop sets, GW4089IP both sets into one.
      for set in AnnexB.units(of: Base64.decode(text)) where !units.learn(set) {
        units.statistics.malformedParameterSets += 1
      }
    }
  }

  /// The totals so far.
  public var statistics: DefragmentStatistics { units.statistics }

  /// The parameter sets known by now.
  public var parameterSets: ParameterSets { units.assembler.parameterSets }

  /// The format of the pictures, by the parameter sets that the last key picture refers to.
  public var formatDescription: FormatDescription? { units.assembler.description }

  /// Takes in the next packet of the stream.
  ///
  /// - Returns: whether an access unit is complete.
  @discardableResult
  public mutating func push(_ packet: OrderedPacket) -> Bool {
    if packet.isDiscontinuity {
      flush()
      units.restart()
      // After a restart of the numbering, nobody knows how much is missing.
      if hasBegun { units.noteLoss(of: nil) }
      if hasBegun, packet.beginsOtherSource { units.noteOtherSource() }
    }
    hasBegun = true
    if packet.lostBefore > 0 {
      units.end(isWhole: false)
      units.noteLoss(of: packet.lostBefore)
    }
    units.statistics.packets += 1
    units.begin(packet)
    var payload = packet.packet.payload
    payload.skipStartCode()
    if payload.readableBytes > 0 {
      format.unpack(payload, into: &units)
    } else {
      units.statistics.emptyPayloads += 1
    }
    units.endOfPacket(marker: packet.packet.marker)
    return units.hasUnit
  }

  /// Whether an access unit waits, because a marker has ended it and nothing has shown yet that
  /// this sender's markers are right.
  public var isWaiting: Bool { units.isWaiting }

  /// Has the access unit that waits come out; if its picture goes on, the rest is damaged.
  public mutating func release() { units.release() }

  /// The next access unit that is complete.
  public mutating func next() -> AccessUnit? { units.next() }

  /// Ends the stream: what there is becomes an access unit.
  ///
  /// - Parameter isLeft: whether the sender goes on, so that the picture it is sending is not
  ///   damaged, but left out and counted.
  public mutating func flush(isLeft: Bool = false) { units.flush(isLeft: isLeft) }
}

/// No payload format here has this encoding name.
public struct UnsupportedFormat: Error, Sendable, Hashable, CustomStringConvertible {
  public let encodingName: String
  /// The encoding names that are known.
  public let known: [String]

  public var description: String {
    "\(encodingName.isEmpty ? "no encoding name" : encodingName) is not a video format known here; "
      + "there are \(known.joined(separator: ", "))"
  }
}
