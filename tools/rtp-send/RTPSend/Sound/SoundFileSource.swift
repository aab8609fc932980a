import CAVFormat
import CFFmpeg
import NIOCore

/// The best sound of a file that libavformat reads, coded as it is there.
@safe final class SoundFileSource: SoundSource {
  private let sound: PacketSound
  private let input: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let streamIndex: Int32
  private var breaks: TimeBreaks
  /// Whether ``packet`` has the first packet, which told the format.
  private var holdsFirst: Bool

  var format: SoundFormat { sound.format }
  var frameLength: Int? { sound.frameLength }
  var configuration: [UInt8] { sound.configuration }

  init(path: String, clockDeviation: Double) throws(SendError) {
    let opened = try unsafe Libav.open(path: path)
    var isOpen = false
    defer { if !isOpen { unsafe Libav.close(opened) } }
    streamIndex = unsafe av_find_best_stream(opened, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)
    guard streamIndex >= 0, let stream = unsafe opened.pointee.streams[Int(streamIndex)] else {
      throw .noSound(path: path)
    }
    guard let packet = unsafe av_packet_alloc() else {
      throw .cannotOpen(path: path, reason: "out of memory")
    }
    defer {
      var packet = unsafe isOpen ? nil : Optional(packet)
      unsafe av_packet_free(&packet)
    }
    var breaks = unsafe TimeBreaks(of: opened)
    holdsFirst = false
    while unsafe PacketSound.needsPacket(stream), !holdsFirst,
      unsafe av_read_frame(opened, packet) >= 0
    {
      unsafe breaks.close(packet, of: opened)
      holdsFirst = unsafe packet.pointee.stream_index == streamIndex
      if !holdsFirst { unsafe av_packet_unref(packet) }
    }
    sound = try unsafe PacketSound(
      stream, first: holdsFirst ? packet : nil, path: path, clockDeviation: clockDeviation)
    unsafe self.packet = packet
    unsafe self.input = opened
    self.breaks = breaks
    isOpen = true
  }

  deinit {
    var packet = unsafe Optional(packet)
    unsafe av_packet_free(&packet)
    unsafe Libav.close(input)
  }

  func next() throws -> Supply<SourceAccessUnit> {
    while read() {
      defer { unsafe av_packet_unref(packet) }
      guard unsafe packet.pointee.stream_index == streamIndex,
        let unit = unsafe sound.unit(of: packet.pointee)
      else { continue }
      return .next(unit)
    }
    return .end
  }

  /// Takes the next packet of the file, or the first, which has been read.
  private func read() -> Bool {
    if holdsFirst {
      holdsFirst = false
      return true
    }
    guard unsafe av_read_frame(input, packet) >= 0 else { return false }
    unsafe breaks.close(packet, of: input)
    return true
  }

  func seek(to ticks: Int64, in survey: FileSurvey) throws {
    unsafe sound.seek(to: ticks, in: input, streamIndex)
    if holdsFirst { unsafe av_packet_unref(packet) }
    holdsFirst = false
    breaks = unsafe TimeBreaks(of: input)
  }
}
