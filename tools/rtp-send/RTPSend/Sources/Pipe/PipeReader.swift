import BlockingIO
import CAVFormat
import CFFmpeg
import NIOCore
import RTPWire

/// The thread that reads a pipe: an elementary stream by itself, anything else with libavformat.
final class PipeReader {
  /// Bytes read at a time.
  private static let readLength = 64 << 10
  /// A pause after which the picture at the end is taken for whole, in milliseconds.
  private static let pause: Int32 = 2
  /// Units that are kept until the parameter sets come: some seconds.
  private static let mostWaiting = 1000

  private let input: PipeInput
  private let output: LiveStream
  private let wanted: Set<LiveStream.Track>
  private let framesPerSecond: Double?

  private var waiting: [(SourceAccessUnit, LiveStream.Track)] = []
  private var known: KnownVideo?
  private var sound: PacketSound?
  /// Whether the first packet of the sound has still to describe it.
  private var isSoundAwaited = false
  private var isOpen = false

  /// Reads `descriptor` on a thread of its own, until its end or until `output` is stopped.
  ///
  /// - Throws: ``SendError`` when no thread can be had.
  static func start(
    _ descriptor: Int32, into output: LiveStream, _ wanted: Set<LiveStream.Track>,
    framesPerSecond: Double?
  ) throws(SendError) {
    guard let waker = try? Waker() else {
      throw .cannotOpen(path: output.name, reason: "too many files are open")
    }
    output.onStop { waker.wake() }
    do {
      _ = try WorkerThread {
        let input = PipeInput(descriptor, for: output, waker)
        PipeReader(input, output, wanted, framesPerSecond).run()
      }
    } catch {
      throw .cannotOpen(path: output.name, reason: "the system grants no thread")
    }
  }

  private init(
    _ input: PipeInput, _ output: LiveStream, _ wanted: Set<LiveStream.Track>,
    _ framesPerSecond: Double?
  ) {
    self.input = input
    self.output = output
    self.wanted = wanted
    self.framesPerSecond = framesPerSecond
  }

  private func run() {
    do throws(SendError) {
      if Self.isElementaryStream(input.peek()) {
        guard !wanted.contains(.sound) else { throw .noSound(path: output.name) }
        try readElementaryStream()
      } else {
        try readContainer()
      }
      output.finish()
    } catch {
      output.finish(error)
    }
  }

  /// Whether a start code begins it, and a NAL unit follows: MPEG-2 has start codes too.
  private static func isElementaryStream(_ bytes: ByteBuffer) -> Bool {
    var splitter = AnnexBSplitter()
    splitter.append(bytes)
    guard bytes.readableBytesView.prefix(2).allSatisfy({ $0 == 0 }),
      let unit = splitter.next() ?? splitter.finish()
    else { return false }
    let header = unit.getBytes(at: unit.readerIndex, length: min(2, unit.readableBytes)) ?? []
    return Codec(firstUnit: header) != nil
  }

  private func readElementaryStream() throws(SendError) {
    var stream = GrowingStream(nil, framesPerSecond: framesPerSecond)
    do throws(GrowingFault) {
      while !output.isStopped {
        let bytes = input.read(Self.readLength)
        if bytes.readableBytes == 0 { break }
        try stream.take(bytes)
        while let unit = try stream.next(at: arrival) { send(unit, stream.video) }
        if output.isLive, !input.hasMore(within: Self.pause) {
          while let unit = try stream.settle(at: arrival) { send(unit, stream.video) }
        }
      }
      while !output.isStopped, let unit = try stream.finishFile(at: arrival) {
        send(unit, stream.video)
      }
    } catch {
      throw .unreadable(path: output.name, reason: "\(error)")
    }
  }

  /// Where the times say when pictures are sent, arrivals say nothing: the pipe waits.
  private var arrival: Int64 {
    output.isLive ? Instant.now.nanoseconds.multipliedSaturating(by: 9) / 100_000 : 0
  }

  private func send(_ unit: SourceAccessUnit, _ video: KnownVideo?) {
    if !isOpen, let video {
      isOpen = true
      output.open(
        LiveStream.Contents(
          video: LiveStream.Contents.Video(codec: video.codec, parameterSets: video.byKind)))
    }
    _ = output.append(unit)
  }

  private func readContainer() throws(SendError) {
    let opened = try unsafe input.open()
    defer { unsafe input.close(opened) }
    func best(_ type: AVMediaType) -> UnsafeMutablePointer<AVStream>? {
      let index = unsafe av_find_best_stream(opened, type, -1, -1, nil, 0)
      return index < 0 ? nil : unsafe opened.pointee.streams[Int(index)]
    }
    let videoStream = unsafe wanted.contains(.video) ? best(AVMEDIA_TYPE_VIDEO) : nil
    let soundStream = unsafe wanted.contains(.sound) ? best(AVMEDIA_TYPE_AUDIO) : nil
    if unsafe wanted.contains(.video) && videoStream == nil { throw .noVideo(path: output.name) }
    if unsafe wanted.contains(.sound) && soundStream == nil { throw .noSound(path: output.name) }
    var video: PacketVideo?
    if let stream = unsafe videoStream {
      video = try unsafe PacketVideo(
        stream, of: opened, path: output.name, isPaced: !output.isLive)
    }
    isSoundAwaited = unsafe soundStream != nil
    if let stream = unsafe soundStream, unsafe !PacketSound.needsPacket(stream) {
      try unsafe describeSound(stream, first: nil)
    }
    known = video.map { KnownVideo($0.codec) }
    if video == nil, !isSoundAwaited { openContainer() }
    guard let packet = unsafe av_packet_alloc() else {
      throw .cannotOpen(path: output.name, reason: "out of memory")
    }
    defer {
      var packet = unsafe Optional(packet)
      unsafe av_packet_free(&packet)
    }
    var breaks = unsafe TimeBreaks(of: opened)
    while !output.isStopped, unsafe av_read_frame(opened, packet) >= 0 {
      defer { unsafe av_packet_unref(packet) }
      unsafe breaks.close(packet, of: opened)
      let index = unsafe packet.pointee.stream_index
      if let video, unsafe index == videoStream?.pointee.index {
        unsafe video.take(packet)
        pull(video)
      } else if let stream = unsafe soundStream, unsafe index == stream.pointee.index {
        if isSoundAwaited { try unsafe describeSound(stream, first: packet) }
        if let unit = unsafe sound?.unit(of: packet.pointee) { append(unit, to: .sound) }
      }
    }
    if let video {
      video.finish()
      pull(video)
    }
    // A stream that never gives its parameter sets is sent as it is.
    if !isOpen, !waiting.isEmpty { openContainer() }
  }

  private func describeSound(
    _ stream: UnsafeMutablePointer<AVStream>, first: UnsafeMutablePointer<AVPacket>?
  ) throws(SendError) {
    sound = try unsafe PacketSound(stream, first: first, path: output.name, clockDeviation: 0)
    isSoundAwaited = false
  }

  private func pull(_ video: PacketVideo) {
    while let unit = video.next().element {
      if !isOpen { for unit in unit.units { known?.take(unit) } }
      append(unit, to: .video)
    }
  }

  private func append(_ unit: SourceAccessUnit, to track: LiveStream.Track) {
    if isOpen {
      _ = output.append(unit, to: track)
      return
    }
    waiting.append((unit, track))
    let isDescribed = known?.isDecodable ?? true && !isSoundAwaited
    if isDescribed || waiting.count > Self.mostWaiting { openContainer() }
  }

  private func openContainer() {
    isOpen = true
    output.open(
      LiveStream.Contents(
        video: known.map {
          LiveStream.Contents.Video(codec: $0.codec, parameterSets: $0.byKind)
        },
        sound: sound.map {
          LiveStream.Contents.Sound(
            format: $0.format, frameLength: $0.frameLength, configuration: $0.configuration)
        }))
    for (unit, track) in waiting { _ = output.append(unit, to: track) }
    waiting = []
  }
}

extension LiveStream {
  /// Reads a pipe on a thread of its own, until its end or ``stop()``: Annex B, or anything that
  /// libavformat reads without seeking.
  ///
  /// With `isLive`, units are sent as they come; otherwise their times say when, and the pipe
  /// waits. The rate is that of an elementary stream; otherwise it is what the stream says.
  ///
  /// - Throws: ``SendError`` when no thread can be had; what is wrong with the pipe ends the
  ///   stream.
  public static func reading(
    _ descriptor: Int32, name: String, for readership: Readership, isLive: Bool,
    wanted: Set<Track>, framesPerSecond: Double?
  ) throws(SendError) -> LiveStream {
    let stream = LiveStream(name: name, for: readership, isLive: isLive, wanted: wanted)
    try PipeReader.start(descriptor, into: stream, wanted, framesPerSecond: framesPerSecond)
    return stream
  }
}
