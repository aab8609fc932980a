import NIOCore

/// The syntax, field by field.
extension AudioSpecificConfig {
  /// Reads a configuration and leaves `reader` behind it.
  ///
  /// - Parameters:
  ///   - reader: at its first bit, anywhere in a byte.
  ///   - isWhole: whether it reaches to the end of the reader's bytes, so that an extension may
  ///     follow it (§1.6.6.1).
  /// - Throws: what is wrong with it.
  init(reading reader: inout BitReader, isWhole: Bool) throws(Invalid) {
    var copy = reader
    let start = reader.position
    self.init()
    do {
      try read(&reader, from: start)
      if isWhole { try readExtension(&reader) }
    } catch let error as Invalid {
      throw error
    } catch {
      throw .cut
    }
    guard (1...8).contains(channels) else { throw .channels }
    if hasParametricStereo, channels == 1 { channels = 2 }
    var writer = BitWriter()
    for _ in start..<reader.position {
      guard let bit = try? copy.bit() else { break }
      writer.append(bit)
    }
    bytes = writer.plain
  }

  private init() {
    objectType = 0
    (coreSampleRate, sampleRate) = (1, 1)
    (channelConfiguration, channels, coreSamples) = (0, 0, 1024)
    (hasBandReplication, hasParametricStereo) = (false, false)
    bytes = []
  }

  private mutating func read(_ reader: inout BitReader, from start: Int) throws {
    objectType = try Self.objectType(&reader)
    coreSampleRate = try Self.rate(&reader)
    sampleRate = coreSampleRate
    channelConfiguration = Int(try reader.bits(4))
    if objectType == AAC.ObjectType.spectralBandReplication
      || objectType == AAC.ObjectType.parametricStereo
    {
      hasBandReplication = true
      hasParametricStereo = objectType == AAC.ObjectType.parametricStereo
      sampleRate = try Self.rate(&reader)
      objectType = try Self.objectType(&reader)
      if objectType == AAC.ObjectType.errorResilientBSAC { try reader.skip(4) }
    }
    if channelConfiguration > 0 {
      guard AAC.channels.indices.contains(channelConfiguration),
        AAC.channels[channelConfiguration] > 0
      else { throw Invalid.channels }
      channels = AAC.channels[channelConfiguration]
    }
    if AAC.ObjectType.generalAudio.contains(objectType) {
      try readGeneralAudio(&reader, from: start)
    } else if objectType == AAC.ObjectType.enhancedLowDelay {
      try readEnhancedLowDelay(&reader)
    } else {
      throw Invalid.objectType(objectType)
    }
    if AAC.ObjectType.errorResilient.contains(objectType) {
      // Error protection classes (epConfig 2 and 3) are split by a layer that RTP does not carry.
      guard try reader.bits(2) < 2 else { throw Invalid.objectType(objectType) }
    }
  }

  /// `GASpecificConfig` (§4.4.1).
  private mutating func readGeneralAudio(_ reader: inout BitReader, from start: Int) throws {
    let isShort = try reader.bit()
    coreSamples =
      objectType == AAC.ObjectType.errorResilientLowDelay
      ? (isShort ? 480 : 512) : (isShort ? 960 : 1024)
    if try reader.bit() { try reader.skip(14) }
    let hasExtension = try reader.bit()
    if channelConfiguration == 0 {
      channels = try ProgramConfigElement(reading: &reader, from: start).channels
    }
    if objectType == AAC.ObjectType.scalable
      || objectType == AAC.ObjectType.errorResilientScalable
    {
      try reader.skip(3)
    }
    guard hasExtension else { return }
    if objectType == AAC.ObjectType.errorResilientBSAC { try reader.skip(5 + 11) }
    if AAC.ObjectType.withResilienceFlags.contains(objectType) { try reader.skip(3) }
    try reader.skip(1)
  }

  /// `ELDSpecificConfig` (§4.6.20.3).
  private mutating func readEnhancedLowDelay(_ reader: inout BitReader) throws {
    coreSamples = try reader.bit() ? 480 : 512
    try reader.skip(3)
    if try reader.bit() {
      hasBandReplication = true
      if try reader.bit() { sampleRate = coreSampleRate * 2 }
      try reader.skip(1)
      // One header for each element that replicates bands (`ld_sbr_header`).
      let headers = [0, 1, 1, 2, 3, 3, 3, 4]
      for _
        in 0..<(headers.indices.contains(channelConfiguration) ? headers[channelConfiguration] : 0)
      {
        try Self.skipBandReplicationHeader(&reader)
      }
    }
    while try reader.bits(4) != 0 {
      var length = Int(try reader.bits(4))
      if length == 15 {
        let more = Int(try reader.bits(8))
        length += more
        if more == 255 { length += Int(try reader.bits(16)) }
      }
      try reader.skip(8 * length)
    }
  }

  /// `sbr_header` (§4.4.2.8).
  private static func skipBandReplicationHeader(_ reader: inout BitReader) throws {
    try reader.skip(1 + 4 + 4 + 3 + 2)
    let (hasFirst, hasSecond) = (try reader.bit(), try reader.bit())
    if hasFirst { try reader.skip(2 + 1 + 2) }
    if hasSecond { try reader.skip(2 + 2 + 1 + 1) }
  }

  /// The extension that decoders without band replication do not see (§1.6.6.1).
  private mutating func readExtension(_ reader: inout BitReader) throws {
    guard !hasBandReplication, reader.remaining >= 16, try reader.bits(11) == 0x2B7,
      try Self.objectType(&reader) == AAC.ObjectType.spectralBandReplication, try reader.bit()
    else { return }
    hasBandReplication = true
    sampleRate = try Self.rate(&reader)
    guard reader.remaining >= 12, try reader.bits(11) == 0x548 else { return }
    hasParametricStereo = try reader.bit()
  }

  private static func objectType(_ reader: inout BitReader) throws -> Int {
    let type = Int(try reader.bits(5))
    return type == AAC.ObjectType.escape ? 32 + Int(try reader.bits(6)) : type
  }

  private static func rate(_ reader: inout BitReader) throws -> Int {
    let index = try reader.bits(4)
    if index == AAC.explicitRate {
      let rate = Int(try reader.bits(24))
      guard (AAC.leastSampleRate...AAC.greatestSampleRate).contains(rate) else {
        throw Invalid.sampleRate
      }
      return rate
    }
    guard AAC.sampleRates.indices.contains(Int(index)) else { throw Invalid.sampleRate }
    return AAC.sampleRates[Int(index)]
  }
}
