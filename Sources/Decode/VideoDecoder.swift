public import Bitstream
public import BlockingIO
public import Defragment
import NIOCore

/// Decodes access units on a thread of its own.
///
/// If the stream's codec changes, or one thread does not keep up, another decoder takes over after
/// the last frame of the first.
///
/// Every access unit leads to exactly one callback: a frame, or a ``DecodeFailure``. (Two fields in
/// two access units lead to one frame.) Callbacks come on the decoder's thread, frames in output
/// order.
public final class VideoDecoder: Sendable {
  /// The largest that a parameter set may say: 100 MB per picture.
  public static let defaultMaximumPixels = FormatDescription.maximumArea
  /// About a second of video; a longer queue means that decoding does not keep up.
  public static let defaultQueueLimits = QueueLimits(count: 32, bytes: 16 << 20)

  /// How a decoder is set up.
  public struct Configuration: Sendable, Hashable {
    /// What may wait before the decoder.
    public var queueLimits = VideoDecoder.defaultQueueLimits
    /// The decoders of libavcodec that may be opened, whatever it was built with: by default those
    /// of the standard catalogue.
    public var allowedDecoders = Set(FormatCatalogue.standard.codecs.map(\.decoderName))
    /// The largest picture, in luma samples before cropping, that is allocated.
    public var maximumPixels = VideoDecoder.defaultMaximumPixels
    /// How long decoding waits for a random-access point before it begins anywhere, if damaged
    /// pictures are shown.
    public var keyPicturePatience = Duration.seconds(2)
    /// The same as a number of unanswered requests for a key picture.
    public var keyPictureRequests = 2
    /// What to do with pictures that are not intact.
    public var lossTreatment = LossTreatment.conceal
    /// How many threads decode.
    public var threads = DecoderThreads.automatic
    /// Whether pictures come as they are sent, so that decoding must not fall behind.
    ///
    /// Otherwise threads that are counted automatically are one: what others make of damage is not
    /// the same, and the pictures of a recording are to be the same on every machine.
    public var mustKeepUp = true
    /// Says that decoding happens in a process of its own; `nil` for this one.
    public var box: DecoderBox?
    /// How many threads can run at the same time.
    var processors = System.coreCount

    public init() {}
  }

  private enum Command: Sendable {
    case decode(AccessUnit)
    case flush(then: @Sendable () -> Void)
    case note(@Sendable () -> Void)
  }

  private let queue: BoundedQueue<Command>
  private let thread: WorkerThread
  private let gauge = DecoderGauge()

  /// Opens the decoder and starts its thread.
  ///
  /// In a box, it is the thread that opens the decoder, and `onEvent` is told if that fails.
  ///
  /// - Parameters:
  ///   - codec: names the first decoder, which must be one of the allowed ones.
  ///   - configuration: limits, and what is done with damage.
  ///   - prepared: a process that was started ahead, if ``Configuration/box`` says that there is
  ///     one.
  ///   - onFrame: takes each frame; while it blocks, decoding waits and the queue fills.
  ///   - onFailure: takes each access unit that produced no frame.
  ///   - onEvent: is told what happens to the box, on the decoder's thread.
  /// - Throws: ``DecoderError``.
  public init(
    codec: VideoCodec, configuration: Configuration = Configuration(),
    prepared: PreparedDecoderBox? = nil,
    onFrame: @escaping @Sendable (RawFrame) -> Void,
    onFailure: @escaping @Sendable (DecodeFailure) -> Void,
    onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void = { _ in }
  ) throws(DecoderError) {
    let gauge = gauge
    let first: any UnitDecoding
    if let box = configuration.box {
      first = BoxedDecoder(
        codec: codec, configuration: configuration, box: box, prepared: prepared, gauge: gauge,
        onFrame: onFrame, onFailure: onFailure, onEvent: onEvent)
    } else {
      try FFmpegLibraries.loadDecoding()
      first = try DecoderSuccession(
        codec: codec, configuration: configuration, gauge: gauge, onFrame: onFrame,
        onFailure: onFailure)
    }
    let queue = BoundedQueue<Command>(limits: configuration.queueLimits)
    self.queue = queue
    do {
      thread = try WorkerThread {
        let decoder = first
        while let command = queue.take() {
          switch command {
          case .decode(let unit) where queue.isClosed: decoder.fail(unit, .closed)
          case .decode(let unit):
            // Its first pictures may refer to what it sent before, and libavcodec would take the
            // other source's pictures for that.
            if unit.beginsOtherSource { decoder.flush() }
            decoder.decode(unit)
          case .flush(let body):
            if !queue.isClosed { decoder.flush() }
            body()
          case .note(let body): body()
          }
        }
        decoder.close()
      }
    } catch {
      throw .noThread(error)
    }
  }

  deinit { queue.close() }

  /// How many threads decode now.
  public var threadCount: Int { gauge.threads }

  /// How much of the last second it worked, from 0 to 1; 0 once it has had nothing to do for three.
  public var load: Double { gauge.share(at: .now) }

  /// Whether it works nearly all of the time.
  public var isAtLimit: Bool { load >= DecoderLoad.full }

  /// Whether the queue is over half full, so producers should back off.
  public var isCrowded: Bool { queue.isCrowded }

  /// Calls `body` once, from any thread, when there is room again, or at once if there is.
  public func whenRoom(_ body: @escaping @Sendable () -> Void) { queue.whenRoom(body) }

  /// Hands over an access unit without waiting; `.full` and `.closed` leave it to the caller.
  public func submit(_ unit: AccessUnit) -> SubmitOutcome {
    queue.offer(.decode(unit), bytes: unit.bytes.readableBytes)
  }

  /// Returns when every access unit handed over so far has had its callback.
  ///
  /// Decoding then restarts: units before the next random-access point fail.
  public func flush() async {
    await withCheckedContinuation { continuation in
      beginFlush { continuation.resume() }
    }
  }

  /// Like ``flush()``, but without waiting; `body` is called once it is done, or if nothing is
  /// decoded any more.
  public func beginFlush(then body: @escaping @Sendable () -> Void = {}) {
    if queue.offerBeyondLimits(.flush(then: body)) == .closed { body() }
  }

  /// Calls `body` once every access unit handed over so far has been decoded, or if nothing is
  /// decoded any more; frames may still come with later units.
  public func whenDecoded(_ body: @escaping @Sendable () -> Void) {
    if queue.offerBeyondLimits(.note(body)) == .closed { body() }
  }

  /// Accepts nothing more and drops what waits, without waiting for the current unit.
  public func abandon() { queue.close() }

  /// Ends decoding; undecoded units fail with ``DecodeFailure/Reason/closed``.
  ///
  /// No callback comes after it returns. It must not be awaited in a callback.
  public func close() async {
    queue.close()
    await thread.join()
  }
}
