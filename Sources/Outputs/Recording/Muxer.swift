import Bitstream
import CFFmpeg
import Decode
import NIOCore
import RTPWire

/// libavformat's muxer of one file, whose bytes stay in memory until they are taken.
///
/// Used by one thread at a time.
@safe final class Muxer: @unchecked Sendable {
  /// One coded picture or piece of sound, with times of its track's clock.
  struct Sample {
    var track = 0
    var bytes: ByteBuffer
    var presentation: Int64
    var decoding: Int64
    var duration: Int64
    var isKey: Bool
  }

  private final class Sink {
    var bytes = MuxedBytes()
  }

  /// Of the buffer between the muxer and its bytes.
  private static let bufferSize = 64 << 10
  /// How far players of transport streams run behind the clock reference, in microseconds: room for
  /// decoding times before the first picture.
  private static let transportDelay: Int32 = 700_000

  private let container: Container
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let sink = Sink()
  private let tracks: [RecordedTrack]

  /// Begins a file with `tracks`.
  ///
  /// - Parameters:
  ///   - container: the format of the file.
  ///   - tracks: at least one.
  ///   - start: when its first picture or sound came.
  ///   - canSeek: whether earlier bytes of the file can be replaced.
  /// - Throws: ``RecordingError``.
  init(
    _ container: Container, tracks: [RecordedTrack], start: WallClockTime, canSeek: Bool
  ) throws(RecordingError) {
    if let fault = unsafe cffmpeg_load_recording() {
      throw unsafe .noLibrary(reason: String(cString: fault))
    }
    self.container = container
    self.tracks = tracks
    var context: UnsafeMutablePointer<AVFormatContext>?
    _ = unsafe avformat_alloc_output_context2(&context, nil, container.muxerName, nil)
    guard let context = unsafe context else {
      throw .noMuxer(container: container.name)
    }
    guard let packet = unsafe av_packet_alloc() else {
      unsafe avformat_free_context(context)
      throw .outOfMemory
    }
    unsafe (self.context, self.packet) = (context, packet)
    try begin(tracks, start: start, canSeek: canSeek)
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = unsafe packet
    unsafe av_packet_free(&packet)
    var io = unsafe context.pointee.pb
    unsafe avformat_free_context(context)
    guard let buffer = unsafe io?.pointee.buffer else { return }
    unsafe av_free(buffer)
    unsafe avio_context_free(&io)
  }

  private func begin(
    _ tracks: [RecordedTrack], start: WallClockTime, canSeek: Bool
  ) throws(RecordingError) {
    try connect(canSeek: canSeek)
    for track in tracks {
      guard let stream = unsafe avformat_new_stream(context, nil) else { throw .outOfMemory }
      try unsafe track.describe(in: stream, for: container)
    }
    unsafe context.pointee.max_delay = Self.transportDelay
    // Times begin where this program says; decoding times may be before 0.
    unsafe context.pointee.avoid_negative_ts = 0
    // Each whole fragment leaves the muxer's buffer at once.
    unsafe context.pointee.flush_packets = 1
    _ = unsafe av_dict_set(
      &context.pointee.metadata, "creation_time", start.description, 0)
    var options: OpaquePointer?
    for (name, value) in container.options(canSeek: canSeek) {
      _ = unsafe av_dict_set(&options, name, value, 0)
    }
    let result = unsafe avformat_write_header(context, &options)
    unsafe av_dict_free(&options)
    try check(result)
  }

  /// Has libavformat write into the sink.
  private func connect(canSeek: Bool) throws(RecordingError) {
    guard let buffer = unsafe av_malloc(Self.bufferSize) else { throw .outOfMemory }
    let bytes = unsafe buffer.assumingMemoryBound(to: UInt8.self)
    let io = unsafe avio_alloc_context(
      bytes, Int32(Self.bufferSize), 1, Unmanaged.passUnretained(sink).toOpaque(), nil,
      { opaque, bytes, count in
        guard let opaque = unsafe opaque, let bytes = unsafe bytes, count > 0 else { return 0 }
        unsafe Unmanaged<Sink>.fromOpaque(opaque).takeUnretainedValue().bytes.write(
          UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        return count
      },
      { opaque, offset, whence in
        guard let opaque = unsafe opaque else { return -1 }
        let sink = unsafe Unmanaged<Sink>.fromOpaque(opaque).takeUnretainedValue()
        if whence & AVSEEK_SIZE != 0 { return Int64(sink.bytes.length) }
        guard whence == SEEK_SET, let place = Int(exactly: offset) else { return -1 }
        return sink.bytes.seek(to: place) ? offset : -1
      })
    guard let io = unsafe io else {
      unsafe av_free(buffer)
      throw .outOfMemory
    }
    unsafe io.pointee.seekable = canSeek ? AVIO_SEEKABLE_NORMAL : 0
    // A whole fragment is copied once, not by way of the buffer; small writes go there.
    if !container.isImmediate { unsafe io.pointee.direct = 1 }
    unsafe context.pointee.pb = io
    unsafe context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
  }

  /// Adds `sample`; what the container completes with it can be taken.
  ///
  /// - Throws: ``RecordingError/cannotMux(container:reason:)``.
  func write(_ sample: Sample) throws(RecordingError) {
    guard tracks.indices.contains(sample.track) else { return }
    let track = tracks[sample.track]
    if sample.isKey, track.isOfPictures, let flags = container.keyPictureFlags {
      _ = unsafe av_opt_set(context.pointee.priv_data, flags.name, flags.value, 0)
    }
    let result = unsafe sample.bytes.withUnsafeReadableBytes { bytes -> Int32 in
      guard let start = bytes.baseAddress,
        let stream = unsafe context.pointee.streams[sample.track]
      else { return 0 }
      unsafe packet.pointee.data = UnsafeMutablePointer(
        mutating: start.assumingMemoryBound(to: UInt8.self))
      unsafe packet.pointee.size = Int32(clamping: bytes.count)
      unsafe packet.pointee.stream_index = Int32(sample.track)
      unsafe packet.pointee.pts = sample.presentation
      unsafe packet.pointee.dts = sample.decoding
      unsafe packet.pointee.duration = sample.duration
      unsafe packet.pointee.flags = sample.isKey ? AV_PKT_FLAG_KEY : 0
      let clock = AVRational(num: 1, den: Int32(clamping: track.timescale))
      unsafe av_packet_rescale_ts(packet, clock, stream.pointee.time_base)
      defer { unsafe av_packet_unref(packet) }
      return unsafe av_write_frame(context, packet)
    }
    try check(result)
  }

  /// Has what is added next of each track begin at its own time where it begins a fragment.
  ///
  /// Otherwise libavformat adds up the lengths before it: what comes after a gap begins early, what
  /// overlaps loses its times, and a track that begins behind the header begins at 0.
  func keepTimesOfFragment() {
    _ = unsafe av_opt_set(context.pointee.priv_data, "movflags", "+frag_discont", 0)
  }

  /// Completes the fragment that is being made.
  func flush() throws(RecordingError) { try check(unsafe av_write_frame(context, nil)) }

  /// Completes the file; nothing can be added afterwards.
  func finish() throws(RecordingError) { try check(unsafe av_write_trailer(context)) }

  /// What was written since the last time; `nil` if nothing was.
  func take() -> OutputRecord? { sink.bytes.take() }

  private func check(_ result: Int32) throws(RecordingError) {
    guard result < 0 else { return }
    throw .cannotMux(container: container.name, reason: libavErrorText(result))
  }
}
