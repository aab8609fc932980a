import BlockingIO
import CAVFormat
import CFFmpeg
import Glibc
import NIOCore
import RTPWire

/// What a camera is asked for, and how its pictures are encoded where it does not do that itself.
public struct CameraConfiguration: Sendable {
  /// The device: `/dev/video0`.
  public var path: String
  public var codec = Codec.h264
  /// What the camera is asked for; it chooses itself where nothing is said.
  public var width: Int?
  public var height: Int?
  public var framesPerSecond: Int?
  /// Bits a second.
  public var bitRate = 4_000_000
  /// Pictures from one key picture to the next; `nil` means one second.
  public var groupLength: Int?
  public var bidirectionalPictures = 0
  /// libavdevice's name of the input.
  var format = "v4l2"

  public init(path: String) { self.path = path }
}

/// The thread that reads a camera through libavdevice, and encodes what is not H.264 or H.265.
@safe final class CameraReader {
  private let configuration: CameraConfiguration
  private let output: LiveStream
  private var input: UnsafeMutablePointer<AVFormatContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?

  /// Reads on a thread of its own, until `output` is stopped.
  static func start(
    _ configuration: CameraConfiguration, into output: LiveStream
  ) throws(SendError) {
    do {
      _ = try WorkerThread {
        do throws(SendError) {
          try CameraReader(configuration, output).run()
          output.finish()
        } catch {
          output.finish(error)
        }
      }
    } catch {
      throw .cannotOpen(path: configuration.path, reason: "the system grants no thread")
    }
  }

  private init(_ configuration: CameraConfiguration, _ output: LiveStream) throws(SendError) {
    Libav.silence
    self.configuration = configuration
    self.output = output
    try Self.load(for: configuration.path)
    var options: OpaquePointer?
    defer { unsafe av_dict_free(&options) }
    if let width = configuration.width, let height = configuration.height {
      unsafe av_dict_set(&options, "video_size", "\(width)x\(height)", 0)
    }
    if let rate = configuration.framesPerSecond {
      unsafe av_dict_set(&options, "framerate", "\(rate)", 0)
    }
    let format = unsafe av_find_input_format(configuration.format)
    guard unsafe format != nil else {
      throw .cannotOpen(
        path: configuration.path, reason: "this libavdevice has no \(configuration.format)")
    }
    var code = unsafe avformat_open_input(&input, configuration.path, format, &options)
    guard code >= 0 else {
      throw .cannotOpen(path: configuration.path, reason: Libav.reason(code))
    }
    code = unsafe avformat_find_stream_info(input, nil)
    unsafe packet = av_packet_alloc()
    guard code >= 0, unsafe packet != nil else {
      throw .cannotOpen(path: configuration.path, reason: Libav.reason(code))
    }
  }

  deinit {
    unsafe av_packet_free(&packet)
    unsafe avformat_close_input(&input)
  }

  /// libavdevice is loaded for cameras alone: it needs more libraries than everything else.
  private static func load(for path: String) throws(SendError) {
    let name = "libavdevice.so.\(LIBAVFORMAT_VERSION_MAJOR)"
    guard let library = unsafe dlopen(name, RTLD_NOW),
      let symbol = unsafe dlsym(library, "avdevice_register_all")
    else { throw .cannotOpen(path: path, reason: "cameras need \(name), which is not there") }
    unsafe unsafeBitCast(symbol, to: (@convention(c) () -> Void).self)()
  }

  private func run() throws(SendError) {
    guard let input = unsafe input, let packet = unsafe packet,
      let stream = unsafe (0..<Int(input.pointee.nb_streams)).lazy
        .compactMap({ unsafe input.pointee.streams[$0] })
        .first(where: { unsafe $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO })
    else { throw .noVideo(path: configuration.path) }
    let identifier = unsafe stream.pointee.codecpar.pointee.codec_id
    let isCoded = identifier == AV_CODEC_ID_H264 || identifier == AV_CODEC_ID_HEVC
    let video =
      try isCoded
      ? unsafe PacketVideo(stream, of: input, path: output.name, isPaced: false) : nil
    let coder = try isCoded ? nil : unsafe CameraCoder(stream, of: input, configuration)
    var known = KnownVideo(video?.codec ?? configuration.codec)
    var isOpen = false
    func send(_ unit: SourceAccessUnit) {
      for unit in unit.units { known.take(unit) }
      if !isOpen, known.isDecodable {
        isOpen = true
        output.open(
          LiveStream.Contents(
            video: LiveStream.Contents.Video(
              codec: known.codec, parameterSets: known.byKind)))
      }
      if isOpen { _ = output.append(unit) }
    }
    var breaks = unsafe TimeBreaks(of: input)
    while !output.isStopped {
      let code = unsafe av_read_frame(input, packet)
      guard code >= 0 else {
        if code == cffmpeg_error_again() { continue }
        throw .unreadable(path: configuration.path, reason: Libav.reason(code))
      }
      defer { unsafe av_packet_unref(packet) }
      guard unsafe packet.pointee.stream_index == stream.pointee.index else { continue }
      unsafe breaks.close(packet, of: input)
      if let video {
        unsafe video.take(packet)
        while let unit = video.next().element { send(unit) }
      } else if let coder {
        let isKey = output.takeKeyPictureRequest()
        for unit in try unsafe coder.units(of: packet, isKey: isKey) { send(unit) }
      }
    }
  }
}

/// Decodes what a camera delivers, raw or as JPEG, and encodes it like the test pattern.
@safe private final class CameraCoder {
  private let path: String
  private let encoder: VideoEncoder
  private let rate: Int
  private let timeBase: AVRational
  private var decoder: UnsafeMutablePointer<AVCodecContext>?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private var firstTime: Int64?
  private var lastNumber: Int64 = -1

  init(
    _ stream: UnsafeMutablePointer<AVStream>, of input: UnsafeMutablePointer<AVFormatContext>,
    _ configuration: CameraConfiguration
  ) throws(SendError) {
    path = configuration.path
    timeBase = unsafe stream.pointee.time_base
    let guessed = unsafe av_guess_frame_rate(input, stream, nil)
    let said = guessed.den > 0 ? Int((Double(guessed.num) / Double(guessed.den)).rounded()) : 0
    rate = configuration.framesPerSecond ?? ((1...240).contains(said) ? said : 30)
    guard let parameters = unsafe stream.pointee.codecpar,
      let codec = unsafe avcodec_find_decoder(parameters.pointee.codec_id)
    else { throw .unsupportedCodec(path: path, codec: "of an unknown kind") }
    encoder = try unsafe VideoEncoder(
      VideoEncoder.Settings(
        codec: configuration.codec, width: Int(parameters.pointee.width) & ~1,
        height: Int(parameters.pointee.height) & ~1, framesPerSecond: rate,
        bitRate: configuration.bitRate, groupLength: configuration.groupLength ?? rate,
        bidirectionalPictures: configuration.bidirectionalPictures))
    unsafe decoder = avcodec_alloc_context3(codec)
    unsafe frame = av_frame_alloc()
    var code = unsafe avcodec_parameters_to_context(decoder, parameters)
    if code >= 0 { code = unsafe avcodec_open2(decoder, codec, nil) }
    guard code >= 0, unsafe frame != nil else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
  }

  deinit {
    unsafe av_frame_free(&frame)
    unsafe avcodec_free_context(&decoder)
  }

  /// The coded pictures that a packet completes; one that is damaged is left out.
  func units(
    of packet: UnsafeMutablePointer<AVPacket>, isKey: Bool
  ) throws(SendError) -> [SourceAccessUnit] {
    guard unsafe avcodec_send_packet(decoder, packet) >= 0 else { return [] }
    var units: [SourceAccessUnit] = []
    while let frame = unsafe frame, unsafe avcodec_receive_frame(decoder, frame) >= 0 {
      defer { unsafe av_frame_unref(frame) }
      try unsafe encoder.encode(
        converting: frame, number: number(at: frame.pointee.pts), isKey: isKey)
      while let output = try encoder.receive() {
        units.append(
          SourceAccessUnit(
            units: AnnexB.units(in: output.bytes), presentationTicks: ticks(output.presentation),
            decodingTicks: ticks(output.decoding), isRandomAccess: output.isKey))
      }
    }
    return units
  }

  /// The number of a picture of `time`, at the camera's rate; later than the one before.
  private func number(at time: Int64) -> Int64 {
    var number = lastNumber + 1
    if time != cffmpeg_no_timestamp() {
      let first = firstTime ?? time
      firstTime = first
      let step = AVRational(num: 1, den: Int32(clamping: rate))
      number = max(number, av_rescale_q(time.subtractingSaturating(first), timeBase, step))
    }
    lastNumber = number
    return number
  }

  private func ticks(_ number: Int64) -> Int64 {
    number.multipliedSaturating(by: 90_000) / Int64(rate)
  }
}

extension LiveStream {
  /// Reads a camera on a thread of its own, until ``stop()``.
  ///
  /// - Throws: ``SendError`` when no thread can be had; what is wrong with the camera ends the
  ///   stream.
  public static func camera(
    _ configuration: CameraConfiguration, for readership: Readership
  ) throws(SendError) -> LiveStream {
    let stream = LiveStream(
      name: configuration.path, for: readership, isLive: true, wanted: [.video])
    try CameraReader.start(configuration, into: stream)
    return stream
  }
}
