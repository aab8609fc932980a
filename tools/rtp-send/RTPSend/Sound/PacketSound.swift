import CAVFormat
import CFFmpeg
import NIOCore

/// The packets of a stream of sound that libavformat reads, coded as they are there, as access
/// units.
@safe final class PacketSound {
  let format: SoundFormat
  let frameLength: Int?
  let configuration: [UInt8]

  /// How far times may be off the samples before them: as much as formats round that count in
  /// milliseconds.
  private static let roundingNanoseconds: Int64 = 2_000_000

  private let clock: MediaClock
  private let conversion: Conversion
  private let timeBase: AVRational
  /// The tick behind the last unit.
  private var end: Int64?

  /// What is done to the bytes of the file.
  private enum Conversion {
    case none
    /// Samples of this many bytes are turned: the network has their highest byte first.
    case swap(Int)
    case removeADTS
  }

  /// Whether the format of `stream` is told by its packets alone.
  ///
  /// ADTS describes itself, and what libavformat says of it is what comes out of a decoder: with
  /// HE-AAC another rate, and other channels.
  static func needsPacket(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    guard let parameters = unsafe stream.pointee.codecpar else { return false }
    return unsafe parameters.pointee.codec_id == AV_CODEC_ID_AAC
      && parameters.pointee.extradata_size == 0
  }

  /// Reads `stream` of what people know as `path`; `first` is its first packet, if it needs one.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, first: UnsafeMutablePointer<AVPacket>?, path: String,
    clockDeviation: Double
  ) throws(SendError) {
    guard let parameters = unsafe stream.pointee.codecpar else { throw .noSound(path: path) }
    timeBase = unsafe stream.pointee.time_base
    let identifier = unsafe parameters.pointee.codec_id
    var (rate, channels) = unsafe (
      Int(parameters.pointee.sample_rate), Int(parameters.pointee.ch_layout.nb_channels)
    )
    let extradata = unsafe UnsafeBufferPointer(
      start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size))
    var configuration = unsafe Array(extradata)
    var conversion = Conversion.none
    let coding: SoundFormat.Coding
    switch identifier {
    case AV_CODEC_ID_AAC:
      coding = .aac
      if configuration.isEmpty {
        conversion = .removeADTS
        let described = AudioSpecificConfig(
          describing: unsafe first.map { unsafe Self.bytes(of: $0.pointee) }, rate: rate,
          channels: channels)
        (rate, channels) = (described.rate, described.channelCount)
        configuration = described.bytes
      }
    case AV_CODEC_ID_OPUS: coding = .opus
    case AV_CODEC_ID_PCM_MULAW: coding = .pcmu
    case AV_CODEC_ID_PCM_ALAW: coding = .pcma
    case AV_CODEC_ID_ADPCM_G722: coding = .g722
    case AV_CODEC_ID_PCM_U8: coding = .l8
    case AV_CODEC_ID_PCM_S16BE: coding = .l16
    case AV_CODEC_ID_PCM_S24BE: coding = .l24
    case AV_CODEC_ID_PCM_S16LE: (coding, conversion) = (.l16, .swap(2))
    case AV_CODEC_ID_PCM_S24LE: (coding, conversion) = (.l24, .swap(3))
    default:
      let name = unsafe String(cString: avcodec_get_name(identifier))
      throw .unsupportedSound(path: path, codec: name)
    }
    let clockRate = coding == .g722 ? 8000 : coding == .opus ? 48_000 : rate
    format = SoundFormat(coding: coding, clockRate: clockRate, channels: channels)
    self.conversion = conversion
    self.configuration = coding == .aac ? configuration : []
    let isSelfDescribed = if case .removeADTS = conversion { true } else { false }
    let frameSize = unsafe isSelfDescribed ? 0 : Int(parameters.pointee.frame_size)
    frameLength =
      format.sampleGroup != nil ? nil : frameSize > 0 ? frameSize : coding == .aac ? 1024 : 960
    clock = MediaClock(rate: clockRate, deviation: clockDeviation)
  }

  /// What a packet of the stream has, if it has anything.
  func unit(of packet: AVPacket) -> SourceAccessUnit? {
    let unit = unsafe converted(Self.bytes(of: packet))
    guard unit.readableBytes > 0 else { return nil }
    let nanoseconds = AVRational(num: 1, den: 1_000_000_000)
    let time = unsafe packet.pts
    let ticks = ticks(
      at: time == cffmpeg_no_timestamp() ? nil : av_rescale_q(time, timeBase, nanoseconds))
    end =
      ticks + (unsafe duration(of: unit, av_rescale_q(packet.duration, timeBase, nanoseconds)))
    return SourceAccessUnit(
      units: [unit], presentationTicks: ticks, decodingTicks: ticks, isRandomAccess: true)
  }

  private static func bytes(of packet: AVPacket) -> ByteBuffer {
    let bytes = unsafe UnsafeRawBufferPointer(start: packet.data, count: max(0, Int(packet.size)))
    return unsafe ByteBuffer(bytes: bytes)
  }

  /// Has `input`, whose stream of this index it reads, go on at `ticks`.
  func seek(
    to ticks: Int64, in input: UnsafeMutablePointer<AVFormatContext>?, _ index: Int32
  ) {
    let nanoseconds = AVRational(num: 1, den: 1_000_000_000)
    let time = av_rescale_q(clock.nanoseconds(of: ticks), nanoseconds, timeBase)
    if unsafe av_seek_frame(input, index, time, AVSEEK_FLAG_BACKWARD) < 0 {
      _ = unsafe av_seek_frame(input, index, 0, AVSEEK_FLAG_BACKWARD | AVSEEK_FLAG_BYTE)
    }
    end = nil
  }

  /// The tick of a unit that the file has at `nanoseconds`.
  private func ticks(at nanoseconds: Int64?) -> Int64 {
    guard let nanoseconds else { return end ?? 0 }
    let ticks = clock.ticks(of: nanoseconds)
    guard let end, abs(ticks - end) <= clock.ticks(of: Self.roundingNanoseconds) else {
      return max(ticks, end ?? ticks)
    }
    return end
  }

  private func duration(of unit: ByteBuffer, _ nanoseconds: Int64) -> Int64 {
    if let group = format.sampleGroup {
      return Int64(unit.readableBytes / group.bytes * group.ticks)
    }
    if format.coding == .opus, nanoseconds > 0 { return clock.ticks(of: nanoseconds) }
    return Int64(frameLength ?? 0)
  }

  private func converted(_ unit: ByteBuffer) -> ByteBuffer {
    switch conversion {
    case .none: return unit
    case .swap(let length):
      var bytes = Array(unit.readableBytesView)
      for start in stride(from: 0, through: bytes.count - length, by: length) {
        bytes.swapAt(start, start + length - 1)
      }
      return ByteBuffer(bytes: bytes)
    case .removeADTS:
      guard AudioSpecificConfig(adts: unit) != nil else { return unit }
      // A header with a checksum is two bytes longer (ISO/IEC 14496-3 §1.A.2.2.1).
      let flags = unit.getInteger(at: unit.readerIndex + 1, as: UInt8.self) ?? 0
      let length = flags & 1 == 0 ? 9 : 7
      return unit.getSlice(
        at: unit.readerIndex + length, length: max(0, unit.readableBytes - length)) ?? ByteBuffer()
    }
  }
}
