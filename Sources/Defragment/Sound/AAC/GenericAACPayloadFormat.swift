import Bitstream
import NIOCore
import RTPWire

/// AAC in RTP as `mpeg4-generic` (RFC 3640), in all modes.
///
/// A packet has several access units, or a part of one. Some cameras send ADTS frames instead, or
/// inside the units.
struct GenericAACPayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["MPEG4-GENERIC", "AAC", "MP4A-ADTS"]

  static func codecName(of encodingName: String) -> String { AAC.codec.name }

  private let headers: AccessUnitHeaders
  private let clockRate: Int64
  /// Bytes of every unit, where the description says that (§3.2.3).
  private let constantSize: Int?
  /// Ticks of every unit, where the description says that.
  private let constantDuration: Int64?
  private let isInterleaved: Bool
  private var configuration: AudioSpecificConfig
  /// Whether the configuration was said, and not assumed.
  private let isConfigured: Bool
  private(set) var format: SoundFormat?
  /// Bytes of the unit of which a part is kept; `nil` where each fragment says its own length.
  private var keptSize: Int?
  /// How many ticks after the timestamp of its packet the kept ADTS frame begins.
  private var keptTicks: Int64 = 0
  /// Whether the marker is set where a unit ends (§3.1).
  private var trustsMarkers = true
  /// The timestamp of the last packet.
  private var lastTime: MediaTime?
  /// Whether the current packet has the timestamp of the one before it.
  private var isBehindPart = false
  /// The lost packets before the next unit that the last marker knew.
  private var lossesBeforeMarker = 0

  init?(media: MediaDescription) {
    let parameters = media.formatParameters
    guard let headers = AccessUnitHeaders(parameters: parameters),
      Self.isAAC(mode: parameters["mode"]?.lowercased(), streamType: parameters["streamtype"])
    else { return nil }
    self.headers = headers
    clockRate = Int64(media.clockRate)
    func positive(_ name: String) -> Int? {
      parameters[name].flatMap { Int32($0) }.flatMap { $0 > 0 ? Int($0) : nil }
    }
    constantSize = positive("constantsize")
    constantDuration = positive("constantduration").map(Int64.init)
    isInterleaved = positive("maxdisplacement") != nil
    let assumed = AudioSpecificConfig(
      sampleRate: media.clockSampleRate, channels: media.soundChannels)
    do {
      let said = parameters["config"].map(Hexadecimal.decode) ?? ByteBuffer()
      configuration = try AudioSpecificConfig(parsing: said)
      isConfigured = true
    } catch .objectType {
      // MPEG-4 audio has other codings than AAC.
      return nil
    } catch {
      guard let assumed else { return nil }
      configuration = assumed
      isConfigured = false
    }
    format = configuration.format
  }

  /// Whether it can be AAC, by its mode or else by the type of its stream (5 is sound).
  ///
  /// The AMS server says another type.
  private static func isAAC(mode: String?, streamType: String?) -> Bool {
    if let mode, mode.hasPrefix("aac") { return true }
    return streamType ?? "5" == "5" && mode?.hasPrefix("celp") != true
  }

  mutating func unpack(
    _ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector
  ) {
    isBehindPart = lastTime == units.time
    lastTime = units.time
    endWithoutMarker(&units)
    if unpackADTS(payload, into: &units) { return }
    var rest = payload
    guard let entries = try? headers.read(&rest) else {
      units.dropKept()
      return units.noteMalformed()
    }
    if entries.count <= 1, constantSize == nil || !entries.isEmpty {
      unpackOne(
        rest, size: entries.first?.size ?? constantSize, offset: entries.first?.offset ?? 0,
        marker: marker, into: &units)
    } else if entries.isEmpty, let constantSize {
      let count = rest.readableBytes / constantSize
      guard count > 0 else {
        return unpackOne(rest, size: constantSize, marker: marker, into: &units)
      }
      unpackEach(
        Array(repeating: .init(size: constantSize, skipped: 0), count: count), rest, into: &units)
    } else {
      units.dropKept()
      unpackEach(entries, rest, into: &units)
    }
  }

  /// Unpacks several whole units.
  private func unpackEach(
    _ entries: [AccessUnitHeaders.Entry], _ payload: ByteBuffer,
    into units: inout SoundUnitCollector
  ) {
    var rest = payload
    var place: Int64 = 0
    let isInterleaved = isInterleaved || entries.contains { $0.skipped > 0 }
    for (number, entry) in entries.enumerated() {
      if number > 0 { place += Int64(entry.skipped) + 1 }
      guard let unit = (entry.size ?? constantSize).flatMap({ rest.readSlice(length: $0) }) else {
        return units.noteMalformed()
      }
      append(
        unit, at: entry.offset ?? place.multipliedSaturating(by: duration),
        isInterleaved: isInterleaved, into: &units)
    }
    // GStreamer and others leave nothing behind the last unit.
    if rest.readableBytes > 0 { units.noteMalformed() }
  }

  /// Unpacks a packet with a single unit, or with a part of one.
  private mutating func unpackOne(
    _ payload: ByteBuffer, size: Int?, offset: Int64 = 0, marker: Bool,
    into units: inout SoundUnitCollector
  ) {
    // Behind a marker a unit begins, whatever was lost before.
    defer { if marker { lossesBeforeMarker = units.lostPackets } }
    var rest = payload
    guard let size, size <= rest.readableBytes else {
      return unpackFragment(rest, of: size, marker: marker, into: &units)
    }
    guard let unit = rest.readSlice(length: size) else { return units.noteMalformed() }
    if rest.readableBytes > 0 { units.noteMalformed() }
    if let kept = units.keptByteCount, kept > 0, keptSize == nil {
      // mediamtx says the length of the fragment, not of the unit.
      guard units.keep(unit), marker, let whole = units.takeKept() else { return }
      return append(whole, at: 0, isInterleaved: isInterleaved, into: &units)
    }
    units.dropKept()
    let isFragment = !marker && trustsMarkers && rest.readableBytes == 0 && size > 0
    if units.lostPackets > lossesBeforeMarker, isFragment || isBehindPart {
      // Part of a unit whose other parts are missing.
      return units.noteOrphan()
    }
    if isFragment {
      keptSize = nil
      units.keep(unit)
    } else {
      append(unit, at: offset, isInterleaved: isInterleaved, into: &units)
    }
  }

  /// Unpacks a part of a unit of `size` bytes, or of one that ends at the marker.
  private mutating func unpackFragment(
    _ piece: ByteBuffer, of size: Int?, marker: Bool, into units: inout SoundUnitCollector
  ) {
    if units.keptByteCount != nil, keptSize != size { units.dropKept() }
    keptSize = size
    guard units.keep(piece) else { return units.noteMalformed() }
    let isWhole = size.map { $0 <= units.keptByteCount ?? 0 } ?? (marker || !trustsMarkers)
    if isWhole, let whole = units.takeKept() {
      let unit = size.flatMap { whole.getSlice(at: whole.readerIndex, length: $0) } ?? whole
      append(unit, at: 0, isInterleaved: isInterleaved, into: &units)
    } else if marker {
      // Its beginning was lost.
      units.dropKept()
      units.noteOrphan()
    }
  }

  /// Ends what is kept from a packet with another timestamp: it was a whole unit, of a sender that
  /// does not set the marker, or its end is missing.
  private mutating func endWithoutMarker(_ units: inout SoundUnitCollector) {
    guard let keptTime = units.keptTime, keptTime != units.time else { return }
    guard keptSize != Self.untilFrameEnds else { return }
    guard keptSize == nil, trustsMarkers, let unit = units.takeKept() else {
      return units.dropKept()
    }
    trustsMarkers = false
    append(unit, at: 0, isInterleaved: isInterleaved, into: &units)
    units.beginAtPacket()
  }

  // MARK: - Units

  private var duration: Int64 {
    constantDuration ?? Int64(configuration.samples) * clockRate / Int64(configuration.sampleRate)
  }

  private func append(
    _ unit: ByteBuffer, at ticks: Int64, isInterleaved: Bool,
    into units: inout SoundUnitCollector
  ) {
    guard let format else { return }
    // An AAC unit cannot begin with 12 ones, which mean that it has no element.
    guard let header = ADTSHeader(at: unit), header.frameLength == unit.readableBytes,
      let content = header.content(of: unit)
    else {
      return units.append(
        unit, format: format, at: ticks, samples: configuration.samples,
        isInterleaved: isInterleaved)
    }
    units.append(
      content, format: format, at: ticks, samples: configuration.samples,
      isInterleaved: isInterleaved)
  }

  /// Unpacks ADTS frames that stand in place of the headers (Sony's cameras); `false` if the
  /// payload is something else.
  private mutating func unpackADTS(
    _ payload: ByteBuffer, into units: inout SoundUnitCollector
  ) -> Bool {
    let isBeginning = ADTSHeader(at: payload)?.isPlausible(at: payload) == true
    let keptTime = keptSize == Self.untilFrameEnds ? units.keptTime : nil
    if let keptTime, keptTime == units.time || !isBeginning {
      guard units.keep(payload), let whole = units.takeKept() else { return true }
      unpackFrames(
        whole, at: keptTicks, behind: units.time.ticks.subtractingSaturating(keptTime.ticks),
        into: &units)
      return true
    }
    guard isBeginning else { return false }
    units.dropKept()
    unpackFrames(payload, at: 0, behind: 0, into: &units)
    return true
  }

  /// Unpacks ADTS frames, the first of which begins at `ticks`; `behind` is by how much the packet
  /// that they count from is earlier than the current one.
  private mutating func unpackFrames(
    _ payload: ByteBuffer, at ticks: Int64, behind: Int64, into units: inout SoundUnitCollector
  ) {
    var (rest, ticks, behind) = (payload, ticks, behind)
    while rest.readableBytes > 0 {
      let header = ADTSHeader(at: rest)
      guard header != nil || ADTSHeader.isCut(in: rest) else { return units.noteMalformed() }
      guard let header, let frame = rest.readSlice(length: header.frameLength) else {
        keptSize = Self.untilFrameEnds
        keptTicks = ticks.subtractingSaturating(behind)
        units.keep(rest)
        return
      }
      learn(from: header)
      if let content = header.content(of: frame), let format {
        units.append(content, format: format, at: ticks, samples: configuration.samples)
        ticks = ticks.addingSaturating(duration)
      } else {
        units.noteMalformed()
      }
      // The timestamp is that of the first frame that begins in the packet, unless the sender gives
      // it to the rest of a frame too.
      if behind > ticks {
        units.beginAtPacket()
        (ticks, behind) = (0, 0)
      }
    }
  }

  /// Stands for the length that the header of a kept frame says; no unit is that long.
  private static let untilFrameEnds = Int.max

  private mutating func learn(from header: ADTSHeader) {
    guard !isConfigured, let new = header.configuration, new != configuration else { return }
    configuration = new
    format = new.format
  }
}

extension ADTSHeader {
  /// The access unit in `frame`; `nil` where it has several, which only a decoder can separate.
  fileprivate func content(of frame: ByteBuffer) -> ByteBuffer? {
    units == 1
      ? frame.getSlice(at: frame.readerIndex + length, length: frameLength - length) : nil
  }

  /// Whether the payload that begins with it consists of such frames, or is the beginning of one.
  fileprivate func isPlausible(at payload: ByteBuffer) -> Bool {
    guard frameLength < payload.readableBytes,
      let rest = payload.getSlice(
        at: payload.readerIndex + frameLength, length: payload.readableBytes - frameLength)
    else { return true }
    return ADTSHeader(at: rest) != nil || Self.isCut(in: rest)
  }

  /// Whether `bytes` are the beginning of a header, and end before it does.
  fileprivate static func isCut(in bytes: ByteBuffer) -> Bool {
    guard bytes.readableBytes < shortestLength, bytes.readableBytesView.first == 0xFF else {
      return false
    }
    return bytes.readableBytesView.dropFirst().first.map { $0 & 0xF6 == 0xF0 } ?? true
  }
}
