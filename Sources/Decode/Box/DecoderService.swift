public import Bitstream
import BlockingIO
import CBox
import CFFmpeg
import Defragment
import Glibc
import NIOCore
import Synchronization

/// A decoder in a process of its own, which has nothing but a socket and shared memory.
///
/// It is the program itself, started again. Libraries are loaded before the walls are built; behind
/// them, libavcodec works for the process at the other end of the socket until that ends.
public final class DecoderService {
  /// The argument with which a program is started to be a decoder.
  public static let argument = "--decode-for-parent"
  /// What is not said otherwise; reading it looks at the machine's processors, which is not
  /// possible behind the walls.
  static let defaults = VideoDecoder.Configuration()
  /// How many bytes of its own memory the process may write to.
  private static let memoryLimit: UInt64 = 2 << 30
  /// If the other side has died, an endless loop ends after so many seconds.
  private static let patience: Int32 = 20

  /// The status with which a process ends that has no more memory.
  static let statusWithoutMemory: Int32 = 3

  private let channel: BoxChannel
  private let codecs: [VideoCodec]
  private let gauge = DecoderGauge()
  private let reporter: FrameReporter
  private let pictures: SharedPictures
  private var input: SharedMemory?
  private var succession: DecoderSuccession?

  /// Decodes for the parent process if this one was started for that, and does not return then.
  ///
  /// A program whose decoders run in boxes (``DecoderBox``) calls it first of all.
  ///
  /// - Parameter codecs: what can be decoded.
  public static func runIfAsked(codecs: [VideoCodec]) {
    guard CommandLine.arguments.count == 2, CommandLine.arguments[1] == argument else { return }
    _ = defaults
    // What ends a service or a terminal's programs is sent to all of them; this one ends with its
    // parent, which still wants the last pictures.
    for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_IGN) }
    let service = DecoderService(BoxChannel(Int32(BOX_SOCKET), waits: true), codecs)
    _exit(service.run())
  }

  private init(_ channel: BoxChannel, _ codecs: [VideoCodec]) {
    self.channel = channel
    self.codecs = codecs
    pictures = SharedPictures(
      ask: { count in Self.memory(of: count, from: channel) },
      drop: { number in try? channel.send(BoxReport.dropsMemory(number: number).message) })
    reporter = FrameReporter(channel, pictures)
  }

  /// Returns the exit status.
  private func run() -> Int32 {
    do throws(BoxFault) {
      let hasLeft = box_leave_namespaces() != 0
      FFmpegLibraries.silence()
      do throws(DecoderError) { try FFmpegLibraries.loadDecoding() } catch {
        try channel.send(BoxReport.refused(error).message)
        return EXIT_FAILURE
      }
      var built = unsafe box_build_walls(Self.memoryLimit)
      unsafe built.namespaces = hasLeft ? 1 : 0
      if let leak = unsafe built.leak {
        let words = unsafe "the wall against \(String(cString: leak)) does not hold"
        try channel.send(BoxReport.refused(.noBox(reason: words)).message)
        return EXIT_FAILURE
      }
      try channel.send(BoxReport.ready(unsafe BoxWalls(built)).message)
      while true { try answer() }
    } catch {
      // The parent has gone, or is not what it should be.
      return error == .ended ? EXIT_SUCCESS : EXIT_FAILURE
    }
  }

  private func answer() throws(BoxFault) {
    let (message, descriptor) = try channel.receive(within: nil)
    switch try BoxRequest(message) {
    case .input(let count):
      input = SharedMemory(descriptor, count, isWritable: false)
      guard input != nil else { throw .breach("the input cannot be mapped") }
    case .open(let opening): try open(opening)
    case .parameterSets(let count): try takeParameterSets(in: count)
    case .decode(let number, let head, let body, let returned):
      reporter.takeBack(returned)
      let unit = try BoxedUnit.unit(
        number: number, head: bytes(0, head), bytes: bytes(head, body), codecs: codecs)
      try work { succession in
        guard let unit else { return reporter.reportForeignCodec(of: number) }
        succession.decode(unit)
      }
    case .flush(let returned):
      reporter.takeBack(returned)
      try work { $0.flush() }
    case .memory: throw .breach("nobody has asked for memory")
    }
  }

  private func open(_ opening: BoxOpening) throws(BoxFault) {
    guard let codec = codecs.first(where: { $0.name == opening.codec }) else {
      return try channel.send(
        BoxReport.refused(.unsupportedCodec(name: opening.codec)).message)
    }
    do throws(DecoderError) {
      succession = try DecoderSuccession(
        codec: codec, configuration: opening.configuration, gauge: gauge, memory: pictures,
        onFrame: { [reporter] in reporter.report($0) },
        onFailure: { [reporter] in reporter.report($0) })
    } catch { return try channel.send(BoxReport.refused(error).message) }
    try channel.send(BoxReport.opened.message)
  }

  private func takeParameterSets(in count: Int) throws(BoxFault) {
    var reader = BoxReader(try bytes(0, count))
    let sets = try reader.list { reader throws(BoxFault) in
      try reader.buffer(try reader.count())
    }
    try work { $0.take(parameterSets: sets) }
  }

  private func work(_ body: (DecoderSuccession) -> Void) throws(BoxFault) {
    guard let succession else { throw .breach("nothing is open") }
    box_end_in(Self.patience)
    body(succession)
    box_end_in(0)
    let permille = Int(gauge.share(at: .now) * 1000)
    try channel.send(BoxReport.done(threads: gauge.threads, permille: permille).message)
    // What has grown to the limit goes on in a new process.
    if reporter.lacksMemory { _exit(Self.statusWithoutMemory) }
  }

  /// A copy of bytes of the input.
  private func bytes(_ offset: Int, _ count: Int) throws(BoxFault) -> ByteBuffer {
    guard let input, offset <= input.count, count <= input.count - offset else {
      throw .breach("a length is beyond the input")
    }
    return unsafe ByteBuffer(
      bytes: UnsafeRawBufferPointer(rebasing: input.bytes[offset..<offset + count]))
  }

  /// Asks the parent for memory of a picture.
  private static func memory(
    of count: Int, from channel: BoxChannel
  ) -> (number: UInt32, memory: SharedMemory)? {
    do throws(BoxFault) {
      try channel.send(BoxReport.needsMemory(count: count).message)
      // The parent may wait for whoever takes frames; if it dies, this ends.
      box_end_in(0)
      let (message, descriptor) = try channel.receive(within: nil)
      box_end_in(patience)
      guard case .memory(let number, count) = try BoxRequest(message), number != 0,
        let memory = SharedMemory(descriptor, count, isWritable: true)
      else { return nil }
      return (number, memory)
    } catch { _exit(EXIT_FAILURE) }
  }
}

/// Tells the parent of frames and failures, and keeps the frames until they come back.
private final class FrameReporter: Sendable {
  private let channel: BoxChannel
  private let pictures: SharedPictures
  private let state = Mutex(State())

  private struct State {
    var out: [UInt32: RawFrame] = [:]
    var number: UInt32 = 0
    var lacksMemory = false
  }

  init(_ channel: BoxChannel, _ pictures: SharedPictures) {
    self.channel = channel
    self.pictures = pictures
  }

  /// Whether memory has run out.
  var lacksMemory: Bool { state.withLock(\.lacksMemory) }

  func takeBack(_ numbers: [UInt32]) {
    state.withLock { state in
      for number in numbers { state.out[number] = nil }
    }
  }

  func report(_ frame: RawFrame) {
    guard let packets = frame.origin?.packets,
      let place = unsafe pictures.place(of: frame.libav, planes: frame.planeCount)
    else { _exit(EXIT_FAILURE) }
    // libavcodec conceals what it has no memory for, as if bits were wrong.
    if frame.damage == .wrongBits, box_lacks_memory() != 0 {
      state.withLock { $0.lacksMemory = true }
    }
    let number = state.withLock { state in
      state.number &+= 1
      state.out[state.number] = frame
      return state.number
    }
    let boxed = BoxedFrame(
      units: packets.firstSequence...packets.lastSequence, number: number, memory: place.memory,
      planes: place.planes, width: frame.width, height: frame.height,
      properties: frame.boxedProperties, frameRate: frame.frameRate, condition: frame.condition,
      damage: frame.damage, decodingTime: frame.origin?.decodingTime ?? 0)
    send(.frame(boxed))
  }

  func report(_ failure: DecodeFailure) {
    guard let packets = failure.origin?.packets else { _exit(EXIT_FAILURE) }
    switch failure.reason {
    case .outOfMemory: state.withLock { $0.lacksMemory = true }
    // libavcodec does not always say why it could not decode.
    case .decoder where box_lacks_memory() != 0: state.withLock { $0.lacksMemory = true }
    default: break
    }
    send(
      .failure(
        units: packets.firstSequence...packets.lastSequence, BoxedReason(failure.reason)))
  }

  /// The parent knows which codec it is.
  func reportForeignCodec(of number: Int64) {
    send(.failure(units: number...number, BoxedReason(.foreignCodec)))
  }

  private func send(_ report: BoxReport) {
    do throws(BoxFault) { try channel.send(report.message) } catch { _exit(EXIT_FAILURE) }
  }
}

extension RawFrame {
  fileprivate var boxedProperties: BoxedFrame.Properties {
    let source = unsafe libav.pointee
    return unsafe BoxedFrame.Properties(
      format: source.format, type: Int32(bitPattern: source.pict_type.rawValue),
      isInterlaced: source.interlaced_frame != 0, isTopFieldFirst: source.top_field_first != 0,
      primaries: Int32(bitPattern: source.color_primaries.rawValue),
      transfer: Int32(bitPattern: source.color_trc.rawValue),
      matrix: Int32(bitPattern: source.colorspace.rawValue),
      range: Int32(bitPattern: source.color_range.rawValue),
      chromaLocation: Int32(bitPattern: source.chroma_location.rawValue),
      aspectRatio: Rational(source.sample_aspect_ratio))
  }
}
