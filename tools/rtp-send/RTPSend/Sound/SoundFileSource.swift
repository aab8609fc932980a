import CAVFormat
import CFFmpeg
import NIOCore

/// The best sound of a file that libavformat reads, coded as it is there.
@safe final class SoundFileSource: SoundSource {
  private let sound: PacketSound
  private let input: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let streamIndex: Int32

  var format: SoundFormat { sound.format }
  var frameLength: Int? { sound.frameLength }
  var configuration: [UInt8] { sound.configuration }

  init(path: String, clockDeviation: Double) throws(SendError) {
    Libav.silence
    var input: UnsafeMutablePointer<AVFormatContext>?
    var code = unsafe avformat_open_input(&input, MediaFile.url(ofPath: path), nil, nil)
    guard code >= 0, let opened = unsafe input else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
    var isOpen = false
    defer { if !isOpen { unsafe avformat_close_input(&input) } }
    code = unsafe avformat_find_stream_info(opened, nil)
    guard code >= 0 else { throw .cannotOpen(path: path, reason: Libav.reason(code)) }
    streamIndex = unsafe av_find_best_stream(opened, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)
    guard streamIndex >= 0, let stream = unsafe opened.pointee.streams[Int(streamIndex)] else {
      throw .noSound(path: path)
    }
    sound = try unsafe PacketSound(stream, path: path, clockDeviation: clockDeviation)
    guard let packet = unsafe av_packet_alloc() else {
      throw .cannotOpen(path: path, reason: "out of memory")
    }
    unsafe self.packet = packet
    unsafe self.input = opened
    isOpen = true
  }

  deinit {
    var (packet, input) = unsafe (Optional(packet), Optional(input))
    unsafe av_packet_free(&packet)
    unsafe avformat_close_input(&input)
  }

  func next() throws -> Supply<SourceAccessUnit> {
    while unsafe av_read_frame(input, packet) >= 0 {
      defer { unsafe av_packet_unref(packet) }
      guard unsafe packet.pointee.stream_index == streamIndex,
        let unit = unsafe sound.unit(of: packet.pointee)
      else { continue }
      return .next(unit)
    }
    return .end
  }

  func seek(to ticks: Int64, in survey: FileSurvey) throws {
    unsafe sound.seek(to: ticks, in: input, streamIndex)
  }
}
