import RTPWire

/// What a receiver needs to know of a track of sound before its first packet.
public struct SoundDescription: Sendable {
  public let format: SoundFormat
  public var payloadType: UInt8
  public let packetization: SoundPacketization
  /// How far above the port of the session it goes.
  public var portOffset: Int

  private let frameLength: Int
  private let configuration: [UInt8]

  /// Opens the source and describes it.
  ///
  /// - Throws: ``SendError`` when the source cannot be opened.
  public init(
    of recipe: SoundRecipe, payloadType: UInt8, packetization: SoundPacketization,
    portOffset: Int = 0
  ) throws(SendError) {
    let source = try recipe.make(packetTime: packetization.packetTime)
    format = source.format
    frameLength = source.frameLength ?? 1
    configuration = source.configuration
    self.payloadType = payloadType
    self.packetization = packetization
    self.portOffset = portOffset
  }

  /// The lines behind the one that begins the section, without their ends.
  var attributes: [String] {
    var lines = ["a=rtpmap:\(payloadType) \(format.map)"]
    let parameters = formatParameters
    if !parameters.isEmpty {
      lines.append("a=fmtp:\(payloadType) " + parameters.joined(separator: ";"))
    }
    if format.sampleGroup != nil { lines.append("a=ptime:\(packetization.packetTime)") }
    return lines
  }

  private var formatParameters: [String] {
    switch format.coding {
    case .opus:
      // RFC 7587 §6.1.
      let isStereo = format.channels > 1 ? 1 : 0
      return ["sprop-stereo=\(isStereo)", "stereo=\(isStereo)"]
    case .aac, .adts, .aacLowRate: return genericParameters
    case .latm, .latmInBand: return muxParameters
    default: return []
    }
  }

  /// RFC 3640 §4.1: profile level 41 is AAC LC with two channels at up to 48 kHz.
  private var genericParameters: [String] {
    let isLowRate = format.coding == .aacLowRate
    var parameters = [
      "streamtype=5", "profile-level-id=41", "mode=\(isLowRate ? "AAC-lbr" : "AAC-hbr")",
      "sizelength=\(isLowRate ? 6 : 13)", "indexlength=\(isLowRate ? 2 : 3)",
      "indexdeltalength=\(isLowRate ? 2 : 3)",
      "config=\(SessionDescription.hexadecimal(configuration))",
    ]
    if packetization.interleaving > 1 {
      parameters += [
        "constantDuration=\(frameLength)",
        "maxDisplacement=\(packetization.displacement(frameLength, format) * frameLength)",
      ]
    }
    return parameters
  }

  /// RFC 6416 §7.3.
  private var muxParameters: [String] {
    let isInBand = format.coding == .latmInBand
    var parameters = ["profile-level-id=41", "object=2", "cpresent=\(isInBand ? 1 : 0)"]
    if !isInBand {
      let configuration = LATMPacketizer.streamMuxConfig(
        AudioSpecificConfig(rate: format.samplingRate, channels: format.channels),
        frames: packetization.frames(of: frameLength, format))
      parameters.append("config=\(SessionDescription.hexadecimal(configuration))")
    }
    return parameters
  }
}
