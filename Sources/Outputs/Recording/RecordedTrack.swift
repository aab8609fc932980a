import Bitstream
import CFFmpeg
import NIOCore

/// Sound as the header of a file describes it.
struct SoundDescription: Sendable, Hashable {
  var format: SoundFormat
  /// Samples at the start that are not meant to be heard.
  var padding = 0
}

/// A track as the header of a file describes it.
struct RecordedTrack {
  enum Medium {
    case pictures(FormatDescription)
    case sound(SoundDescription)
  }

  enum SampleForm: Hashable {
    /// As they came; libavformat converts them where its container wants that.
    case startCodes
    /// Behind their lengths; the parameter sets that are given are in the header alone.
    case lengths(without: StreamSets?)
  }

  /// libavcodec's name of the decoder.
  var decoderName: String
  /// Ticks of its clock in a second.
  var timescale: Int
  /// What a decoder needs before the first sample: a record of the parameter sets or these with
  /// start codes, or AudioSpecificConfig.
  var configuration: ByteBuffer
  /// How the units of pictures are told apart.
  var form = SampleForm.startCodes
  var medium: Medium
  /// What stands for the codec instead of libavformat's four characters.
  var tag: String?
  /// Pictures a second, where it is known.
  var rate: Rational?

  var isOfPictures: Bool { if case .pictures = medium { true } else { false } }

  /// The pictures of `codec`, whose first one is decoded with `sets`, as `container` has them.
  init(
    _ codec: VideoCodec, sets: StreamSets, format: FormatDescription, timescale: UInt32,
    rate: Rational?, in container: Container
  ) {
    self.rate = rate
    tag = container.tags[codec]
    decoderName = codec.decoderName
    self.timescale = Int(timescale)
    if container.hasLengths, let record = codec.configurationRecord(of: sets.sets) {
      configuration = record
      form = .lengths(without: container.takesSetsFromHeader(of: codec) ? sets : nil)
    } else {
      configuration = sets.withStartCodes
    }
    medium = .pictures(format)
  }

  /// Sound, whose clock counts samples.
  init(_ sound: SoundDescription) {
    decoderName = sound.format.codec.decoderName
    timescale = sound.format.sampleRate
    configuration = ByteBuffer(bytes: sound.format.configuration)
    medium = .sound(sound)
  }

  /// Describes the track in `stream`.
  func describe(
    in stream: UnsafeMutablePointer<AVStream>, for container: Container
  ) throws(RecordingError) {
    guard let decoder = unsafe avcodec_find_decoder_by_name(decoderName) else {
      throw .unknownCodec(name: decoderName, container: container.name)
    }
    unsafe stream.pointee.time_base = AVRational(num: 1, den: Int32(clamping: timescale))
    guard let parameters = unsafe stream.pointee.codecpar,
      let bytes = unsafe av_mallocz(
        configuration.readableBytes + Int(AV_INPUT_BUFFER_PADDING_SIZE))
    else { throw .outOfMemory }
    unsafe parameters.pointee.codec_id = decoder.pointee.id
    unsafe configuration.withUnsafeReadableBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe bytes.copyMemory(from: start, byteCount: source.count)
    }
    unsafe parameters.pointee.extradata = bytes.assumingMemoryBound(to: UInt8.self)
    unsafe parameters.pointee.extradata_size = Int32(clamping: configuration.readableBytes)
    switch medium {
    case .pictures(let format):
      if let tag {
        unsafe parameters.pointee.codec_tag = tag.utf8.reversed().reduce(0) {
          $0 << 8 | UInt32($1)
        }
      }
      if let rate, let numerator = Int32(exactly: rate.numerator),
        let denominator = Int32(exactly: rate.denominator)
      {
        unsafe stream.pointee.avg_frame_rate = AVRational(num: numerator, den: denominator)
      }
      unsafe Self.describe(format, in: parameters, of: stream)
    case .sound(let sound):
      unsafe Self.describe(sound, in: parameters)
    }
  }

  private static func describe(
    _ format: FormatDescription, in parameters: UnsafeMutablePointer<AVCodecParameters>,
    of stream: UnsafeMutablePointer<AVStream>
  ) {
    unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
    unsafe parameters.pointee.width = Int32(clamping: format.width)
    unsafe parameters.pointee.height = Int32(clamping: format.height)
    unsafe parameters.pointee.profile = Int32(format.profile)
    unsafe parameters.pointee.level = Int32(format.level)
    if let shape = format.sampleAspectRatio, let width = Int32(exactly: shape.numerator),
      let height = Int32(exactly: shape.denominator)
    {
      let ratio = AVRational(num: width, den: height)
      unsafe parameters.pointee.sample_aspect_ratio = ratio
      unsafe stream.pointee.sample_aspect_ratio = ratio
    }
    let colour = format.colour
    guard colour != FormatDescription.Colour() else { return }
    unsafe parameters.pointee.color_primaries = AVColorPrimaries(UInt32(colour.primaries))
    unsafe parameters.pointee.color_trc = AVColorTransferCharacteristic(UInt32(colour.transfer))
    unsafe parameters.pointee.color_space = AVColorSpace(UInt32(colour.matrix))
    unsafe parameters.pointee.color_range =
      colour.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
  }

  private static func describe(
    _ sound: SoundDescription, in parameters: UnsafeMutablePointer<AVCodecParameters>
  ) {
    let format = sound.format
    unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    unsafe parameters.pointee.sample_rate = Int32(clamping: format.sampleRate)
    unsafe av_channel_layout_default(&parameters.pointee.ch_layout, Int32(format.channels))
    unsafe parameters.pointee.initial_padding = Int32(clamping: sound.padding)
    let bits = unsafe av_get_bits_per_sample(parameters.pointee.codec_id)
    unsafe parameters.pointee.bits_per_coded_sample = bits
    unsafe parameters.pointee.block_align = max(1, bits * Int32(format.channels) / 8)
    // The length of each unit comes with it. From this number libavformat only learns that the
    // sound is coded, and how far apart the clock references of a transport stream without pictures
    // are. So it is that of nearly all senders, although a unit of AAC may have 480, 512, 960 or
    // 2048 samples, and one of Opus 120 to 5760.
    switch format.codec {
    case AAC.codec: unsafe parameters.pointee.frame_size = 1024
    case Opus.codec: unsafe parameters.pointee.frame_size = 960
    default: break
    }
  }
}
