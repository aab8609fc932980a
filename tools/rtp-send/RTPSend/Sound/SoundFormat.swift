/// A coding of sound with its rate and channels, under the names of SDP.
public struct SoundFormat: Sendable, Hashable {
  public enum Coding: String, Sendable, CaseIterable {
    case pcmu
    case pcma
    case g722
    /// The first sample in the lowest bits (RFC 3551 §4.5.4).
    case g726At16 = "g726-16"
    case g726At24 = "g726-24"
    case g726At32 = "g726-32"
    case g726At40 = "g726-40"
    /// The first sample in the highest bits.
    case aal2G726At16 = "aal2-g726-16"
    case aal2G726At24 = "aal2-g726-24"
    case aal2G726At32 = "aal2-g726-32"
    case aal2G726At40 = "aal2-g726-40"
    case l8
    case l16
    case l24
    case opus
    /// RFC 3640, AAC-hbr.
    case aac
    /// RFC 3640, AAC-lbr: frames of at most 63 bytes.
    case aacLowRate = "aac-lbr"
    /// RFC 3640, with an ADTS header before each frame, as some cameras send it.
    case adts
    /// RFC 6416, with the configuration in the session description.
    case latm
    /// RFC 6416, with the configuration in the stream.
    case latmInBand = "latm-inband"
  }

  public let coding: Coding
  /// The rate of RTP timestamps.
  public let clockRate: Int
  public let channels: Int

  /// The rates that an AudioSpecificConfig numbers (ISO/IEC 14496-3 §1.6.3.4).
  static let aacRates = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
  ]

  /// Puts together what a file says of its sound.
  init(coding: Coding, clockRate: Int, channels: Int) {
    self.coding = coding
    self.clockRate = clockRate
    self.channels = channels
  }

  /// Reads `FORMAT[/RATE[/CHANNELS]]`, in letters of any case.
  ///
  /// - Throws: ``SendError/invalid(option:reason:)`` if there is no such format, or if the rate or
  ///   the channels do not fit it.
  public init(_ text: String) throws(SendError) {
    let words = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    let aliases: [String: Coding] = ["mpeg4-generic": .aac, "mp4a-latm": .latm]
    let name = words.first.map(String.init) ?? ""
    guard let coding = Coding(rawValue: name) ?? aliases[name], words.count <= 3 else {
      let names = Coding.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalid(option: "--audio", reason: "takes copy, or FORMAT[/RATE[/CHANNELS]]: \(names)")
    }
    self.coding = coding
    let numbers = words.dropFirst().map { Int($0) ?? 0 }
    clockRate = numbers.first ?? coding.usualRate
    channels = numbers.dropFirst().first ?? coding.usualChannels
    guard coding.takes(rate: clockRate) else {
      throw .invalid(option: "--audio", reason: "\(name) does not have a rate of \(words[1])")
    }
    guard coding.channelLimits.contains(channels) else {
      let most = coding.channelLimits.upperBound
      throw .invalid(option: "--audio", reason: "\(name) has 1 to \(most) channels")
    }
  }

  /// Samples a second in each channel.
  public var samplingRate: Int { coding == .g722 ? 16_000 : clockRate }

  /// The value of `a=rtpmap` behind the payload type.
  public var map: String {
    // Opus says 2 channels always (RFC 7587 §7).
    let channels = coding == .opus ? 2 : channels
    return "\(coding.encodingName)/\(clockRate)" + (channels > 1 ? "/\(channels)" : "")
  }

  /// The payload type that RFC 3551 §6 assigns to this format.
  public var staticPayloadType: UInt8? {
    switch (coding, clockRate, channels) {
    case (.pcmu, 8000, 1): 0
    case (.pcma, 8000, 1): 8
    case (.g722, 8000, 1): 9
    case (.l16, 44_100, 2): 10
    case (.l16, 44_100, 1): 11
    default: nil
    }
  }

  /// Where any number of samples is a frame: how many ticks the smallest whole number of bytes
  /// lasts.
  var sampleGroup: (ticks: Int, bytes: Int)? {
    switch coding {
    case .pcmu, .pcma, .l8: (1, channels)
    case .l16: (1, 2 * channels)
    case .l24: (1, 3 * channels)
    // A byte holds two samples at 16 kHz.
    case .g722: (clockRate / 8000, 1)
    case .g726At16, .aal2G726At16: (8, 2)
    case .g726At24, .aal2G726At24: (8, 3)
    case .g726At32, .aal2G726At32: (8, 4)
    case .g726At40, .aal2G726At40: (8, 5)
    case .opus, .aac, .aacLowRate, .adts, .latm, .latmInBand: nil
    }
  }
}

extension SoundFormat.Coding {
  /// The encoding name in SDP.
  var encodingName: String {
    switch self {
    case .opus: "opus"
    case .aac, .aacLowRate, .adts: "mpeg4-generic"
    case .latm, .latmInBand: "MP4A-LATM"
    default: rawValue.uppercased()
    }
  }

  public var isAAC: Bool {
    switch self {
    case .aac, .aacLowRate, .adts, .latm, .latmInBand: true
    default: false
    }
  }

  fileprivate var usualRate: Int {
    switch self {
    case .l8, .l16, .l24, .opus: 48_000
    default: isAAC ? 48_000 : 8000
    }
  }

  fileprivate var usualChannels: Int {
    switch self {
    case .l8, .l16, .l24, .opus, .aac, .adts, .latm, .latmInBand: 2
    default: 1
    }
  }

  fileprivate func takes(rate: Int) -> Bool {
    switch self {
    case .pcmu, .pcma, .l8, .l16, .l24: (4000...192_000).contains(rate)
    // Some senders say 16000, the rate of the samples, although RFC 3551 §4.5.2 says 8000.
    case .g722: rate == 8000 || rate == 16_000
    case .opus: rate == 48_000
    // At lower rates a frame is longer, and does not fit in 63 bytes.
    case .aacLowRate: (32_000...48_000).contains(rate) && SoundFormat.aacRates.contains(rate)
    case .aac, .adts, .latm, .latmInBand: SoundFormat.aacRates.contains(rate)
    default: rate == 8000
    }
  }

  fileprivate var channelLimits: ClosedRange<Int> {
    switch self {
    case .pcmu, .pcma, .l8, .l16, .l24: 1...8
    case .opus, .aac, .adts, .latm, .latmInBand: 1...2
    default: 1...1
    }
  }
}
