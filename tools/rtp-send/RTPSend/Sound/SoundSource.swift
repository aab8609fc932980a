import NIOCore

/// A source of coded sound, whose access units have one frame each, with times in ticks of the
/// track's clock.
public protocol SoundSource: AccessUnitSource {
  var format: SoundFormat { get }
  /// Ticks in a frame; `nil` where any number of samples is one.
  var frameLength: Int? { get }
  /// The AudioSpecificConfig of AAC; otherwise empty.
  var configuration: [UInt8] { get }
}

/// How to make a source of sound.
public enum SoundRecipe: Sendable, Hashable {
  /// What belongs to the test pattern, this long, or without end.
  case tone(SoundFormat, seconds: Double?)
  /// The best sound of a file, in the coding that it has there.
  case file(path: String)
  /// The sound of something that goes on, in the coding that it has there.
  case live(LiveStream)

  /// Opens the source at its beginning.
  ///
  /// The clock is faster than it should be by `clockDeviation` millionths. Where the length of a
  /// frame can be chosen, it is `packetTime` milliseconds.
  ///
  /// - Throws: ``SendError`` when the source cannot be opened.
  public func make(
    clockDeviation: Double = 0, packetTime: Int = 20
  ) throws(SendError) -> any SoundSource {
    switch self {
    case .tone(let format, let seconds):
      try ToneSource(
        format, seconds: seconds, clockDeviation: clockDeviation, packetTime: packetTime)
    case .file(let path): try SoundFileSource(path: path, clockDeviation: clockDeviation)
    case .live(let stream): try LiveSound(stream)
    }
  }
}

/// The tone with its clicks, encoded as it is asked for.
final class ToneSource: SoundSource {
  let format: SoundFormat
  let frameLength: Int?
  let configuration: [UInt8]

  private let header: AudioSpecificConfig
  private let tone: Tone
  private let encoder: SoundEncoder
  private var position: Int64 = 0
  private var isDrained = false

  init(
    _ format: SoundFormat, seconds: Double?, clockDeviation: Double, packetTime: Int
  ) throws(SendError) {
    self.format = format
    encoder = try SoundEncoder(format, packetTime: packetTime)
    tone = Tone(
      samplingRate: format.samplingRate, channels: format.channels, deviation: clockDeviation,
      seconds: seconds)
    frameLength = format.sampleGroup == nil ? encoder.frameLength : nil
    header = AudioSpecificConfig(rate: format.samplingRate, channels: format.channels)
    configuration = format.coding.isAAC ? header.bytes : []
  }

  var hasEnd: Bool { tone.end != nil }

  func next() throws -> Supply<SourceAccessUnit> {
    while true {
      if let output = try encoder.receive() {
        guard format.coding != .aacLowRate || output.bytes.readableBytes < 64 else {
          throw SendError.encoder(reason: "a frame is too long for aac-lbr; choose aac")
        }
        // One clock may count every second sample.
        let ticks = output.sample * Int64(format.clockRate) / Int64(format.samplingRate)
        var bytes = output.bytes
        if format.coding == .adts {
          bytes = ByteBuffer(bytes: header.adtsHeader(of: output.bytes.readableBytes))
          bytes.writeImmutableBuffer(output.bytes)
        }
        return .next(
          SourceAccessUnit(
            units: [bytes], presentationTicks: ticks, decodingTicks: ticks,
            isRandomAccess: true))
      }
      if isDrained { return .end }
      let end = min(position + Int64(encoder.frameLength), tone.end ?? .max)
      if position < end {
        try encoder.encode(tone.samples(position..<end), from: position)
        position = end
      } else {
        isDrained = true
        try encoder.encode(nil, from: position)
      }
    }
  }
}
