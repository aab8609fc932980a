import Bitstream
import NIOCore

/// The headers before the access units of a packet (RFC 3640 §3.2.1), as the parameters lay them
/// out.
struct AccessUnitHeaders: Sendable, Hashable {
  /// The header of one access unit, or of a part of one.
  struct Entry: Sendable, Hashable {
    /// Bytes of the whole unit, of which the packet may hold a part; `nil` where it is not coded.
    var size: Int?
    /// How many units lie between the previous one of the packet and this one; 0 unless they are
    /// interleaved.
    var skipped: Int
    /// Ticks from the packet's timestamp to its own, where it says that.
    var offset: Int64?
  }

  enum Invalid: Error, Sendable { case inconsistent }

  /// The most units of a packet.
  static let maximumEntries = SoundUnitCollector.maximumUnitsPerPacket

  private var sizeLength = 0
  private var indexLength = 0
  private var indexDeltaLength = 0
  /// Whether the description leaves the length of the index out.
  private let isIndexAssumed: Bool
  private var compositionLength = 0
  private var decodingLength = 0
  private var streamStateLength = 0
  private var hasRandomAccess = false
  private var auxiliaryLength = 0

  /// Reads the parameters of `a=fmtp` (§4.1); `nil` if a field would be longer than 32 bits.
  init?(parameters: [String: String]) {
    // Sony and AVOID cameras write 'aac_hbr'; some senders leave the lengths of the mode out.
    let mode = parameters["mode"].map {
      $0.lowercased().map { $0 == "_" ? "-" : String($0) }.joined()
    }
    let usual: (size: Int, index: Int)? =
      switch mode {
      case "aac-hbr": (13, 3)
      case "aac-lbr": (6, 2)
      // Without any parameters, it is what everybody sends.
      case nil where parameters["sizelength"] == nil && parameters["constantsize"] == nil: (13, 3)
      default: nil
      }
    var isValid = true
    func length(_ name: String, _ usual: Int? = nil) -> Int {
      let length = parameters[name].flatMap { Int($0) } ?? usual ?? 0
      if !(0...32).contains(length) { isValid = false }
      return length
    }
    isIndexAssumed = parameters["indexlength"] == nil && usual != nil
    sizeLength = length("sizelength", usual?.size)
    indexLength = length("indexlength", usual?.index)
    indexDeltaLength = length("indexdeltalength", usual?.index)
    compositionLength = length("ctsdeltalength")
    decodingLength = length("dtsdeltalength")
    streamStateLength = length("streamstateindication")
    hasRandomAccess = length("randomaccessindication") == 1
    auxiliaryLength = length("auxiliarydatasizelength")
    guard isValid else { return nil }
  }

  /// Whether packets have no headers at all.
  var isEmpty: Bool {
    sizeLength + indexLength + indexDeltaLength + compositionLength + decodingLength
      + streamStateLength == 0 && !hasRandomAccess
  }

  /// Removes the headers and the auxiliary section from the front of `payload`, which begins with
  /// the units afterwards.
  func read(_ payload: inout ByteBuffer) throws(Invalid) -> [Entry] {
    do {
      let entries = isEmpty ? [] : try readEntries(&payload)
      if auxiliaryLength > 0 { try skipAuxiliary(&payload) }
      return entries
    } catch {
      throw .inconsistent
    }
  }

  private func readEntries(_ payload: inout ByteBuffer) throws -> [Entry] {
    guard let bits = payload.readInteger(as: UInt16.self),
      let section = payload.readSlice(length: (Int(bits) + 7) / 8)
    else { throw Invalid.inconsistent }
    var reader = BitReader(plain: section)
    var entries: [Entry] = []
    var layout = self
    if lacksIndices(in: Int(bits)) { (layout.indexLength, layout.indexDeltaLength) = (0, 0) }
    while reader.position < Int(bits) {
      guard entries.count < Self.maximumEntries else { throw Invalid.inconsistent }
      let start = reader.position
      entries.append(try layout.readEntry(&reader, isFirst: entries.isEmpty))
      guard reader.position <= Int(bits), reader.position > start else {
        throw Invalid.inconsistent
      }
    }
    guard !entries.isEmpty else { throw Invalid.inconsistent }
    return entries
  }

  /// Whether headers of `bits` in all have no index, where the description does not say its length.
  ///
  /// The AMS server sends such.
  private func lacksIndices(in bits: Int) -> Bool {
    isIndexAssumed && sizeLength > 0 && bits.isMultiple(of: sizeLength)
      && !bits.isMultiple(of: sizeLength + indexLength)
  }

  private func readEntry(_ reader: inout BitReader, isFirst: Bool) throws -> Entry {
    let size = sizeLength > 0 ? Int(try reader.bits(sizeLength)) : nil
    let index = Int(try reader.bits(isFirst ? indexLength : indexDeltaLength))
    var offset: Int64?
    if compositionLength > 0, try reader.bit() {
      let value = Int64(try reader.bits(compositionLength))
      // In two's complement.
      offset = value >> (compositionLength - 1) == 1 ? value - (1 << compositionLength) : value
    }
    if decodingLength > 0, try reader.bit() { try reader.skip(decodingLength) }
    if hasRandomAccess { try reader.skip(1) }
    try reader.skip(streamStateLength)
    return Entry(size: size, skipped: isFirst ? 0 : index, offset: offset)
  }

  private func skipAuxiliary(_ payload: inout ByteBuffer) throws {
    var reader = BitReader(plain: payload)
    let length = Int(try reader.bits(auxiliaryLength))
    guard length <= reader.remaining else { throw Invalid.inconsistent }
    try reader.skip(length)
    reader.alignToByte()
    payload.moveReaderIndex(forwardBy: reader.position / 8)
  }
}
