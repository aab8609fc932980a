import Decode
import Defragment
import RTPWire

/// `shm:PATH`: a ring of frames in shared memory, for any number of readers that a unix socket at
/// PATH tells of them.
///
/// Frames are converted into the memory of the ring, where readers find them, and no reader is
/// waited for. Pictures of another size or sample layout go to another memory behind the same
/// socket.
///
/// `rtp_recv_ring.h` describes the memory and what goes over the socket.
final class FrameRing: OutputDestination {
  static let format = OutputFormat(
    scheme: "shm",
    summary: "a ring of frames in shared memory, for programs that connect to the socket PATH",
    inputs: .frames
  ) { FrameRing($0) }

  /// What models and encoders take, in half the memory of RGB.
  static let usualPixelFormat = PixelFormat.nv12

  private let path: String
  private let converter: FrameConverter
  private var server: RingServer?
  private var memory: RingMemory?
  private var written = 0
  private var bytes = 0
  /// The number of the frame that comes next.
  private var sequence: UInt64 = 1
  private var epoch: UInt64 = 1
  private var isAfterInterruption = false

  init(_ configuration: OutputLane.Configuration) {
    path = configuration.target.path ?? ""
    var shape = configuration.shape
    shape.pixelFormat = shape.pixelFormat ?? Self.usualPixelFormat
    converter = FrameConverter(to: shape)
  }

  var progress: OutputProgress {
    var progress = OutputProgress()
    progress.written = written
    progress.bytes = bytes
    progress.figures = server?.figures ?? []
    return progress
  }

  func open(whenReaderIsLate noteDelay: () -> Void) throws {
    server = try RingServer(at: path)
  }

  func write(_ items: [OutputItem]) throws {
    for item in items {
      switch item {
      case .frame(let frame): try write(frame)
      case .interruption:
        // Attempts to connect may fail one after another.
        if !isAfterInterruption { epoch += 1 }
        isAfterInterruption = true
        server?.lose(epoch: epoch)
      case .unit, .sound, .report: break
      }
    }
  }

  func finish() { server?.end() }

  func close() { server?.close() }

  private func write(_ frame: RawFrame) throws {
    let layout = converter.layout(for: frame)
    let memory = try memory(for: layout)
    try unsafe memory.write(
      frame, as: sequence, epoch: epoch, isFirstOfConnection: isAfterInterruption
    ) { start, layout throws(OutputError) in
      try unsafe converter.convert(frame, into: start, as: layout)
    }
    server?.announce(sequence, epoch: epoch)
    isAfterInterruption = false
    sequence += 1
    written += 1
    bytes += layout.planes.reduce(0) { $0 + $1.rows.rowBytes * $1.rows.rows }
  }

  /// The memory for pictures like `layout`: the current one if it is, or another.
  private func memory(for layout: PictureLayout) throws(RingError) -> RingMemory {
    if let memory, memory.layout.picture == layout { return memory }
    if memory != nil {
      epoch += 1
      // There may be no room for both. Readers keep the former one until they get the next.
      try server?.withdrawMemory()
      memory = nil
    }
    let next = try RingMemory(
      RingLayout(of: layout), first: sequence, epoch: epoch, state: .starting)
    memory = next
    server?.serve(next)
    return next
  }
}
