import Bitstream
import NIOCore

/// H.264 in RTP (RFC 6184): single NAL units, aggregation and fragmentation, interleaved or not.
struct H264PayloadFormat: PayloadFormat {
  static let codec = H264.codec
  static let headerLength = 1
  /// The payload structures beside single NAL units (§5.2, table 1).
  private enum Structure: UInt8 {
    case singleTimeAggregationA = 24
    case singleTimeAggregationB = 25
    case multiTimeAggregation16 = 26
    case multiTimeAggregation24 = 27
    case fragmentationA = 28
    case fragmentationB = 29
  }

  let interleaving: InterleavingBounds?

  init(parameters: [String: String]) {
    guard parameters["packetization-mode"] == "2" else {
      interleaving = nil
      return
    }
    let depth = parameters["sprop-interleaving-depth"].flatMap { Int($0) } ?? 64
    interleaving = InterleavingBounds(
      units: depth,
      distance: parameters["sprop-max-don-diff"].flatMap { Int($0) }.map { max($0, 0) },
      countsPicturesAlone: true)
  }

  func unpack(_ payload: ByteBuffer, into units: inout NALUnitCollector) {
    var rest = payload
    guard let header = payload.getInteger(at: payload.readerIndex, as: UInt8.self) else { return }
    let structure = Structure(rawValue: header & 0x1F)
    if structure != .fragmentationA { units.endUnmarked() }
    switch structure {
    case .singleTimeAggregationA:
      rest.moveReaderIndex(forwardBy: 1)
      unpackEntries(&rest, number: nil, into: &units)
    case .singleTimeAggregationB:
      rest.moveReaderIndex(forwardBy: 1)
      guard let number = rest.readInteger(as: UInt16.self) else { return units.noteMalformed() }
      unpackEntries(&rest, number: number, into: &units)
    case .multiTimeAggregation16:
      unpackTimedEntries(&rest, offsetLength: 2, into: &units)
    case .multiTimeAggregation24:
      unpackTimedEntries(&rest, offsetLength: 3, into: &units)
    case .fragmentationA, .fragmentationB:
      unpackFragment(&rest, isNumbered: structure == .fragmentationB, into: &units)
    case nil:
      // 0, 30 and 31 are reserved; 1 … 23 are plain NAL units.
      guard (1...23).contains(header & 0x1F) else {
        units.statistics.reservedTypes += 1
        return
      }
      units.add(payload)
    }
  }

  /// STAP-A and STAP-B (§5.7.1): a 16-bit length before each NAL unit.
  private func unpackEntries(
    _ rest: inout ByteBuffer, number: UInt16?, into units: inout NALUnitCollector
  ) {
    var number = number
    units.unpackEntries(&rest) { entry, units in
      add(entry, number: number, into: &units)
      number? &+= 1
    }
  }

  /// Adds an entry of an aggregation packet, which must be a plain NAL unit.
  ///
  /// V380 cameras put start codes into payloads of each kind, also before an entry.
  private func add(
    _ entry: ByteBuffer, number: UInt16?, ticksLater: UInt32 = 0,
    into units: inout NALUnitCollector
  ) {
    let entry = entry.behindStartCode
    let type = NALUnitHead(of: entry)[0] & 0x1F
    guard entry.readableBytes == 0 || (1...23).contains(type) else {
      units.statistics.reservedTypes += 1
      return
    }
    units.add(entry, number: number, ticksLater: ticksLater)
  }

  /// MTAP16 and MTAP24 (§5.7.2): length, DON difference and timestamp offset before each NAL unit.
  private func unpackTimedEntries(
    _ rest: inout ByteBuffer, offsetLength: Int, into units: inout NALUnitCollector
  ) {
    rest.moveReaderIndex(forwardBy: 1)
    guard let base = rest.readInteger(as: UInt16.self) else { return units.noteMalformed() }
    while rest.readableBytes > 0 {
      // The length covers the NAL unit alone, without the DON difference and the offset.
      guard let length = rest.readInteger(as: UInt16.self),
        let difference = rest.readInteger(as: UInt8.self),
        let offset = rest.readBytes(length: offsetLength),
        let unit = rest.readSlice(length: Int(length))
      else { return units.noteMalformed() }
      let ticks = offset.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      add(unit, number: base &+ UInt16(difference), ticksLater: ticks, into: &units)
    }
  }

  /// FU-A and FU-B (§5.8).
  private func unpackFragment(
    _ rest: inout ByteBuffer, isNumbered: Bool, into units: inout NALUnitCollector
  ) {
    guard let (indicator, header) = rest.readMultipleIntegers(as: (UInt8, UInt8).self) else {
      units.end(isWhole: false)
      return units.noteMalformed()
    }
    var number: UInt16?
    if isNumbered {
      number = rest.readInteger(as: UInt16.self)
      if number == nil { return units.noteMalformed() }
    }
    let isStart = header & 0x80 != 0
    let isEnd = header & 0x40 != 0
    if isStart {
      // Tiandy cameras change the type within a unit, so the first fragment's header counts; Longse
      // cameras set the reserved bit, which is ignored (§5.8). Type 0 is the first zero of a start
      // code: Amatek AR-N3222F cameras fragment whole byte streams.
      units.endUnmarked()
      guard (0...23).contains(header & 0x1F) else { return units.noteMalformed() }
      units.begin(header: [indicator & 0xE0 | header & 0x1F], piece: rest, number: number)
    } else if units.isInUnit {
      if rest.readableBytes == 0 { units.statistics.emptyPayloads += 1 }
      units.append(rest)
    } else {
      return units.noteOrphan()
    }
    if isEnd {
      // CostarHD cameras set both bits on a unit that fits into one packet.
      units.end(isWhole: true)
    }
  }

  // MARK: - NAL units

  static func type(of head: NALUnitHead) -> UInt8 { H264.type(of: head) }

  static func role(of head: NALUnitHead) -> NALUnitRole {
    H264.role(ofType: type(of: head), firstByteOfSlice: head[1])
  }

  /// A slice has at least one macroblock (§7.3.4).
  static func maximumSlices(of format: FormatDescription) -> Int {
    (format.width / 16 + 2) * (format.height / 16 + 2)
  }

  static func dependency(of head: NALUnitHead) -> PictureDependency {
    let isIDR = type(of: head) == H264.NALUnitType.codedSliceOfIDRPicture.rawValue
    // slice_type 1 or 6 after first_mb_in_slice 0, all Exp-Golomb codes.
    let isBidirectional = head[1] & 0xF0 == 0b1010_0000 || head[1] & 0xFC == 0b1001_1100
    return PictureDependency(
      references: isIDR ? .none : .earlier, isReference: head[0] & 0x60 != 0,
      isBidirectional: isBidirectional)
  }

  static func recoveryPoint(in unit: ByteBuffer) -> RecoveryPoint? {
    guard
      var message = SupplementalInformation.recoveryPoint(in: unit.dropping(bytes: headerLength))
    else { return nil }
    // recovery_frame_cnt, below MaxFrameNum.
    let distance = (try? message.unsigned()).map { Int(min($0, 65_535)) } ?? 65_535
    return RecoveryPoint(distance: distance, isExact: (try? message.bit()) == true)
  }

  static func signalledParameterSets(in parameters: [String: String]) -> [String] {
    parameters["sprop-parameter-sets"].map { $0.split(separator: ",").map(String.init) } ?? []
  }

  static let sequenceParameterSetType: UInt8? = H264.NALUnitType.sequenceParameterSet.rawValue

  static func content(ofParameterSet unit: ByteBuffer, type: UInt8) -> ParameterSetContent? {
    if type == sequenceParameterSetType {
      let set = try? H264.SequenceParameterSet(parsing: unit)
      return set.map { ParameterSetContent(identifier: $0.identifier, format: $0.format) }
    }
    return H264.PictureParameterSet.identifier(of: unit).map { ParameterSetContent(identifier: $0) }
  }

  static func sequenceParameterSetIdentifier(
    for slice: ByteBuffer, with sets: ParameterSets
  ) -> Int? {
    guard let picture = H264.SliceHeader.pictureSet(of: slice),
      let unit = sets.set(
        ofType: H264.NALUnitType.pictureParameterSet.rawValue, identifier: picture)
    else { return nil }
    return H264.PictureParameterSet.sequenceIdentifier(of: unit)
  }

  // MARK: - Recognition

  static func recognize(_ payload: ByteBuffer) -> Recognition {
    let head = NALUnitHead(of: payload)
    // forbidden_zero_bit (§7.4.1).
    guard head.count >= 1, head[0] & 0x80 == 0 else { return .no }
    // The ends of a sequence and of the stream are nothing but a header.
    if 10...11 ~= type(of: head) { return .possible }
    guard head.count >= 2 else { return .no }
    switch head[0] & 0x1F {
    case 7: return isSequenceParameterSet(head[0], profile: head[1]) ? .certain : .no
    case 9: return isFollowedDelimiter(payload.dropping(bytes: 1)) ? .certain : .possible
    case 1, 5, 6, 8, 10...15, 19, 20: return .possible
    case 24:
      let entries = heads(ofEntries: payload.dropping(bytes: 1))
      return entries?.allSatisfy { (1...23).contains(type(of: $0)) } == true ? .certain : .no
    case 28:
      // Not both start and end, no reserved bit, and a slice inside: nothing else looks like this.
      // Asked of each access unit, so without an array.
      let isFirst = head[1] & 0xE0 == 0x80
      let isPlausible =
        switch head[1] & 0x1F {
        case 1, 5: head[1] & 0xE0 != 0xC0
        // Amatek AR-N3222F cameras fragment whole byte streams, which begin with these.
        case 7: isFirst && isSequenceParameterSet(head[0], profile: head[2])
        case 9: isFirst && isFollowedDelimiter(payload.dropping(bytes: 2))
        default: false
        }
      return isPlausible ? .certain : .possible
    default: return .no
    }
  }

  /// Whether `profile` behind the type of a sequence parameter set is one that is in use, and
  /// `header` says that others need the unit (§7.4.1).
  private static func isSequenceParameterSet(_ header: UInt8, profile: UInt8) -> Bool {
    switch profile {
    case 66, 77, 88, 100, 110, 118, 122, 128, 244, 44: header & 0x60 != 0
    default: false
    }
  }

  /// Whether `body` is that of a delimiter (§7.3.2.4), and another unit follows behind a start
  /// code, as where V380 cameras put several units into one payload.
  private static func isFollowedDelimiter(_ body: ByteBuffer) -> Bool {
    guard let content = body.getInteger(at: body.readerIndex, as: UInt8.self),
      content & 0x1F == 0x10
    else { return false }
    let rest = body.dropping(bytes: 1)
    let unit = rest.behindStartCode
    let head = NALUnitHead(of: unit)
    return unit.readableBytes < rest.readableBytes && head[0] & 0x80 == 0
      && (1...23).contains(type(of: head))
  }

  static func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    let head = NALUnitHead(of: payload)
    switch head[0] & 0x9F {
    case 24:
      return heads(ofEntries: payload.dropping(bytes: 1))?.contains {
        isEntryPoint($0, parameterSetsKnown: parameterSetsKnown)
      } == true
    case 28:
      return parameterSetsKnown && head[1] & 0x9F == 0x85 && head[2] & 0x80 != 0
    default: return isEntryPoint(head, parameterSetsKnown: parameterSetsKnown)
    }
  }

  private static func isEntryPoint(_ unit: NALUnitHead, parameterSetsKnown: Bool) -> Bool {
    switch unit[0] & 0x9F {
    case 7: unit[0] & 0x60 != 0
    case 5: parameterSetsKnown && unit[1] & 0x80 != 0
    default: false
    }
  }
}
