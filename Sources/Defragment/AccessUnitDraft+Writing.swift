import Bitstream
import NIOCore

/// NAL units are written into the access unit piece by piece, as they arrive.
extension AccessUnitDraft {
  /// The unit being written.
  struct Writing: Sendable {
    var start: Int
    var isCut = false
    /// Found after a start code inside another unit.
    var isEmbedded = false
  }

  /// What an access unit can hold.
  struct Bounds: Sendable {
    var units: Int
    var bytes: Int
  }

  /// What was noticed during writing.
  struct Findings: Sendable {
    /// Units after start codes inside another one.
    var embeddedUnits = 0
    /// There was no room for another unit.
    var isExcess = false
    /// There was no room for all bytes.
    var isOversized = false
  }

  /// Begins a unit; `false` at the limit.
  mutating func beginUnit(
    within bounds: Bounds, format: any PayloadFormat.Type
  ) -> Bool {
    writing = nil
    guard unitCount < bounds.units else {
      noteDamage(.overLimit)
      return false
    }
    bytes.writeBytes(format.startCode)
    writing = Writing(start: bytes.writerIndex)
    return true
  }

  /// Appends `piece` to the current unit; what follows a start code in it becomes a unit of its
  /// own.
  mutating func append(
    _ piece: ByteBuffer, within bounds: Bounds, format: any PayloadFormat.Type
  ) -> Findings {
    var findings = Findings()
    guard makesRoom(for: piece.readableBytes, within: bounds, &findings) else { return findings }
    bytes.writeImmutableBuffer(piece)
    if hasStartCode(in: piece, format: format) {
      splitAtStartCodes(in: piece.readableBytes, within: bounds, format: format, &findings)
    }
    return findings
  }

  /// Appends the header of the current unit.
  mutating func append(header: [UInt8], within bounds: Bounds) -> Findings {
    var findings = Findings()
    if makesRoom(for: header.count, within: bounds, &findings) { bytes.writeBytes(header) }
    return findings
  }

  /// Ends the current unit.
  mutating func endUnit(isWhole: Bool, format: any PayloadFormat.Type) {
    guard let unit = writing else { return }
    writing = nil
    if unit.isEmbedded { trimZeros(of: unit) }
    if !enter(unit, isWhole: isWhole && !unit.isCut, format: format) {
      bytes.moveWriterIndex(to: unit.start - format.startCode.count)
    }
  }

  private mutating func makesRoom(
    for count: Int, within bounds: Bounds, _ findings: inout Findings
  ) -> Bool {
    guard writing?.isCut == false else { return false }
    guard bytes.readableBytes + strayBytes + count <= bounds.bytes else {
      findings.isOversized = true
      writing?.isCut = true
      noteDamage(.overLimit)
      isFull = true
      return false
    }
    return true
  }

  /// Adds the written unit to the list; `false` if it is empty.
  private mutating func enter(
    _ unit: Writing, isWhole: Bool, format: any PayloadFormat.Type
  ) -> Bool {
    guard bytes.writerIndex > unit.start,
      let content = bytes.getSlice(at: unit.start, length: bytes.writerIndex - unit.start)
    else { return false }
    units.append(
      NALUnit(
        offset: unit.start - bytes.readerIndex, length: content.readableBytes,
        type: format.type(of: NALUnitHead(of: content)), isWhole: isWhole))
    if !isWhole { noteDamage(.cutUnit) }
    return true
  }

  // MARK: - Start codes inside units

  /// Splits the last `count` bytes at start codes into units of their own.
  ///
  /// V380 ("macro-video") and Amatek AR-N3222F cameras send several NAL units with start codes
  /// between them as one, and a start code may lie across two fragments.
  private mutating func splitAtStartCodes(
    in count: Int, within bounds: Bounds, format: any PayloadFormat.Type,
    _ findings: inout Findings
  ) {
    guard !format.startCode.isEmpty, let unit = writing,
      let code = bytes.indexOfStartCode(
        from: max(unit.start, bytes.writerIndex - count - 2), to: bytes.writerIndex)
    else { return }
    // Written again from here, so that every unit follows a four-byte start code.
    let rest = takeBack(from: code)
    var start = rest.readerIndex + 3
    while true {
      beginEmbedded(within: bounds, format: format, &findings)
      guard writing != nil else { return }
      let next = rest.indexOfStartCode(from: start, to: rest.writerIndex)
      if let piece = rest.getSlice(at: start, length: (next ?? rest.writerIndex) - start) {
        bytes.writeImmutableBuffer(piece)
      }
      guard let next else { return }
      start = next + 3
    }
  }

  /// Whether a start code ends in `piece`, which was just appended.
  ///
  /// The packet's bytes are still in the processor's cache, those of the access unit often not.
  /// Inlined, because a call would copy the draft for each packet.
  @inline(__always)
  private func hasStartCode(in piece: ByteBuffer, format: any PayloadFormat.Type) -> Bool {
    guard !format.startCode.isEmpty, let unit = writing else { return false }
    let seam = bytes.writerIndex - piece.readableBytes
    return piece.indexOfStartCode(from: piece.readerIndex, to: piece.writerIndex) != nil
      || bytes.indexOfStartCode(from: max(unit.start, seam - 2), to: seam + 2) != nil
  }

  /// Removes and returns what was written from `index` on, as a copy, so that the access unit's
  /// buffer stays uniquely referenced.
  private mutating func takeBack(from index: Int) -> ByteBuffer {
    let rest = bytes.getSlice(at: index, length: bytes.writerIndex - index)
      .map { ByteBuffer(buffer: $0) }
    bytes.moveWriterIndex(to: index)
    return rest ?? ByteBuffer()
  }

  /// Ends the current unit at a start code and begins the next one.
  private mutating func beginEmbedded(
    within bounds: Bounds, format: any PayloadFormat.Type, _ findings: inout Findings
  ) {
    guard let unit = writing else { return }
    trimZeros(of: unit)
    if enter(unit, isWhole: true, format: format) {
      findings.embeddedUnits += 1
      guard beginUnit(within: bounds, format: format) else {
        findings.isExcess = true
        return
      }
    }
    writing?.isEmbedded = true
  }

  /// Removes trailing zeros, which belong to a start code (`trailing_zero_8bits`).
  private mutating func trimZeros(of unit: Writing) {
    bytes.moveWriterIndex(to: bytes.endWithoutZeros(from: unit.start, to: bytes.writerIndex))
  }
}
