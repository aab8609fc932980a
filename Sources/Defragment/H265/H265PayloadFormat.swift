import Bitstream
import NIOCore

/// H.265 in RTP (RFC 7798): single NAL units, aggregation, fragmentation and PACI packets.
struct H265PayloadFormat: PayloadFormat {
  static let codec = H265.codec
  static let headerLength = 2
  /// The payload structures beside single NAL units (§4.4).
  private enum Structure: UInt8 {
    case aggregation = 48
    case fragmentation = 49
    case contentInformation = 50
  }

  let interleaving: InterleavingBounds?

  init(parameters: [String: String]) {
    let units = parameters["sprop-depack-buf-nalus"].flatMap { Int($0) } ?? 0
    let distance = parameters["sprop-max-don-diff"].flatMap { Int($0) } ?? 0
    guard distance > 0 else {
      interleaving = nil
      return
    }
    interleaving = InterleavingBounds(
      units: units > 0 ? units : 64,
      distance: min(distance, 32_767))
  }

  /// Whether payloads carry decoding order numbers (§4.4), which only the SDP says.
  private var isNumbered: Bool { interleaving != nil }

  func unpack(_ payload: ByteBuffer, into units: inout NALUnitCollector) {
    guard
      let (first, second) = payload.getMultipleIntegers(
        at: payload.readerIndex, as: (UInt8, UInt8).self)
    else {
      units.end(isWhole: false)
      return units.noteMalformed()
    }
    let type = first >> 1 & 0x3F
    var rest = payload.dropping(bytes: 2)
    let structure = Structure(rawValue: type)
    if structure != .fragmentation, structure != .contentInformation { units.endUnmarked() }
    switch structure {
    case .aggregation:
      unpackEntries(&rest, into: &units)
    case .fragmentation:
      unpackFragment(&rest, header: (first, second), into: &units)
    case .contentInformation:
      unpackContentInformation(&rest, header: (first, second), into: &units)
    case nil:
      // 51 … 63 are reserved or unspecified.
      guard type < 48 else {
        units.statistics.reservedTypes += 1
        return
      }
      if isNumbered {
        guard let number = rest.readInteger(as: UInt16.self) else { return units.noteMalformed() }
        units.begin(header: [first, second], piece: rest, number: number)
        units.end(isWhole: true)
      } else {
        units.add(payload)
      }
    }
  }

  /// Aggregation packets (§4.4.2): DONL before the first entry, a DOND before each later one.
  private func unpackEntries(_ rest: inout ByteBuffer, into units: inout NALUnitCollector) {
    guard isNumbered else {
      return units.unpackEntries(&rest) { add($0, number: nil, into: &$1) }
    }
    guard var number = rest.readInteger(as: UInt16.self) else { return units.noteMalformed() }
    while rest.readableBytes >= 2 {
      guard let length = rest.readInteger(as: UInt16.self),
        let entry = rest.readSlice(length: Int(length))
      else { return units.noteMalformed() }
      add(entry, number: number, into: &units)
      guard let difference = rest.readInteger(as: UInt8.self) else { return }
      number &+= UInt16(difference) &+ 1
    }
  }

  /// Adds an entry of an aggregation packet, which must be a plain NAL unit; before it may be a
  /// start code.
  private func add(_ entry: ByteBuffer, number: UInt16?, into units: inout NALUnitCollector) {
    let entry = entry.behindStartCode
    guard entry.readableBytes != 1 else { return units.noteMalformed() }
    guard Self.type(of: NALUnitHead(of: entry)) < 48 else {
      units.statistics.reservedTypes += 1
      return
    }
    units.add(entry, number: number)
  }

  /// Fragmentation units (§4.4.3); only the first fragment has a DONL.
  private func unpackFragment(
    _ rest: inout ByteBuffer, header: (UInt8, UInt8), into units: inout NALUnitCollector
  ) {
    guard let fragment = rest.readInteger(as: UInt8.self) else {
      units.end(isWhole: false)
      return units.noteMalformed()
    }
    let isStart = fragment & 0x80 != 0
    let isEnd = fragment & 0x40 != 0
    let type = fragment & 0x3F
    if isStart { units.endUnmarked() }
    if type > Structure.contentInformation.rawValue, isStart || !units.isInUnit {
      // Every fragment has the type, so that none of an unspecified unit is taken for a piece of
      // another: those of Dolby Vision (types 62 and 63) are long.
      if isStart { units.statistics.reservedTypes += 1 }
      return
    }
    if isStart {
      guard type < 48 else { return units.noteMalformed() }
      var number: UInt16?
      if isNumbered {
        number = rest.readInteger(as: UInt16.self)
        if number == nil { return units.noteMalformed() }
      }
      units.begin(
        header: [header.0 & 0x81 | type << 1, header.1], piece: rest, number: number)
    } else if units.isInUnit {
      if rest.readableBytes == 0 { units.statistics.emptyPayloads += 1 }
      units.append(rest)
    } else {
      return units.noteOrphan()
    }
    if isEnd {
      // OpenIPC cameras set both bits on a unit that fits into one packet.
      units.end(isWhole: true)
    }
  }

  /// Payload content information (§4.4.4): a payload header extension, then the payload itself.
  private func unpackContentInformation(
    _ rest: inout ByteBuffer, header: (UInt8, UInt8), into units: inout NALUnitCollector
  ) {
    guard let fields = rest.readInteger(as: UInt16.self) else {
      units.end(isWhole: false)
      return units.noteMalformed()
    }
    let type = UInt8(truncatingIfNeeded: fields >> 9 & 0x3F)
    let extensionLength = Int(fields >> 4 & 0x1F)
    guard rest.readableBytes > extensionLength, type != Structure.contentInformation.rawValue else {
      units.end(isWhole: false)
      return units.noteMalformed()
    }
    rest.moveReaderIndex(forwardBy: extensionLength)
    // The A bit replaces the F bit of the omitted header; layer and temporal ID are the outer ones.
    let forbidden = UInt8(truncatingIfNeeded: fields >> 15) << 7
    var inner = ByteBufferAllocator().buffer(capacity: 2 + rest.readableBytes)
    inner.writeInteger(forbidden | type << 1 | header.0 & 0x01)
    inner.writeInteger(header.1)
    inner.writeImmutableBuffer(rest)
    unpack(inner, into: &units)
  }

  // MARK: - NAL units

  static func type(of head: NALUnitHead) -> UInt8 { H265.type(of: head) }

  static func role(of head: NALUnitHead) -> NALUnitRole {
    H265.role(
      ofType: type(of: head), layer: H265.layer(of: head), firstByteOfSlice: head[2])
  }

  /// `MaxSliceSegmentsPerPicture` of level 6.2 (table A.8).
  static func maximumSlices(of format: FormatDescription) -> Int { 600 }

  static func dependency(of head: NALUnitHead) -> PictureDependency {
    let type = type(of: head)
    // nuh_temporal_id_plus1; 0 is forbidden.
    let level = max(head[1] & 0x07, 1) - 1
    return PictureDependency(
      references: H265.references(ofType: type), temporalLevel: level,
      // Types below 16 come in pairs; the even one is not a reference in its sub-layer.
      isReference: type >= 16 || type & 1 == 1)
  }

  static func recoveryPoint(in unit: ByteBuffer) -> RecoveryPoint? {
    guard
      var message = SupplementalInformation.recoveryPoint(in: unit.dropping(bytes: headerLength))
    else { return nil }
    // recovery_poc_cnt; a negative one has already passed.
    let distance = (try? message.signed()).map { min(max($0, 0), 65_535) } ?? 65_535
    return RecoveryPoint(distance: Int(distance), isExact: (try? message.bit()) == true)
  }

  static func signalledParameterSets(in parameters: [String: String]) -> [String] {
    ["sprop-vps", "sprop-sps", "sprop-pps"].flatMap { name in
      parameters[name].map { $0.split(separator: ",").map(String.init) } ?? []
    }
  }

  static let sequenceParameterSetType: UInt8? = H265.NALUnitType.sequenceParameterSet.rawValue

  static func content(ofParameterSet unit: ByteBuffer, type: UInt8) -> ParameterSetContent? {
    switch H265.NALUnitType(rawValue: type) {
    case .videoParameterSet:
      guard unit.readableBytes > 4 else { return nil }
      return ParameterSetContent(identifier: Int(NALUnitHead(of: unit)[2] >> 4))
    case .sequenceParameterSet:
      let set = try? H265.SequenceParameterSet(parsing: unit)
      return set.map { ParameterSetContent(identifier: $0.identifier, format: $0.format) }
    default:
      return H265.PictureParameterSet.identifier(of: unit)
        .map { ParameterSetContent(identifier: $0) }
    }
  }

  static func sequenceParameterSetIdentifier(
    for slice: ByteBuffer, with sets: ParameterSets
  ) -> Int? {
    guard let picture = H265.SliceHeader.pictureSet(of: slice),
      let unit = sets.set(
        ofType: H265.NALUnitType.pictureParameterSet.rawValue, identifier: picture)
    else { return nil }
    return H265.PictureParameterSet.sequenceIdentifier(of: unit)
  }

  // MARK: - Recognition

  static func recognize(_ payload: ByteBuffer) -> Recognition {
    let head = NALUnitHead(of: payload)
    // forbidden_zero_bit, base layer, a valid temporal ID (§7.4.2.2).
    guard head.count >= 2, head[0] & 0x81 == 0, head[1] & 0xF8 == 0, head[1] & 7 != 0 else {
      return .no
    }
    // The ends of a sequence and of the bitstream are nothing but a header.
    if 36...37 ~= type(of: head) { return .possible }
    guard head.count >= 3 else { return .no }
    switch type(of: head) {
    case 32, 33: return head[1] == 1 ? .certain : .no
    // These may be of a higher sub-layer.
    case 34, 35: return head[1] == 1 ? .certain : .possible
    case 48:
      let entries = heads(ofEntries: payload.dropping(bytes: 2))
      return entries?.allSatisfy { $0.count > 1 && type(of: $0) < 48 } == true
        ? .certain : .possible
    case 49:
      let inner = head[2] & 0x3F
      let isPlausible =
        inner < 10 || (16...21).contains(inner)
        // Amatek AR-N3222F cameras fragment whole byte streams, which begin with these.
        || (32...35).contains(inner) && head[1] == 1 && head[2] & 0x80 != 0
      return isPlausible && head[2] & 0xC0 != 0xC0 ? .certain : .possible
    case 19, 20, 21: return head[1] == 1 && head[2] & 0x80 != 0 ? .certain : .possible
    case 0...9, 16...18, 38...40, 50: return .possible
    default: return .no
    }
  }

  static func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    let head = NALUnitHead(of: payload)
    guard head[0] & 0x81 == 0, head[1] & 0xF8 == 0, head[1] & 7 != 0 else { return false }
    switch type(of: head) {
    case 48:
      return heads(ofEntries: payload.dropping(bytes: 2))?.contains {
        isEntryPoint($0, parameterSetsKnown: parameterSetsKnown)
      } == true
    case 49:
      return parameterSetsKnown && head[2] & 0x80 != 0 && (16...21).contains(head[2] & 0x3F)
        && head[3] & 0x80 != 0
    default: return isEntryPoint(head, parameterSetsKnown: parameterSetsKnown)
    }
  }

  private static func isEntryPoint(_ unit: NALUnitHead, parameterSetsKnown: Bool) -> Bool {
    switch type(of: unit) {
    case 32: true
    case 16...21: parameterSetsKnown && unit[2] & 0x80 != 0
    default: false
    }
  }
}
