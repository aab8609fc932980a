import Bitstream
import BlockingIO
import Decode
import Defragment
import Foundation
import Glibc
import Outputs
import RTPWire
import Synchronization
import TestSupport
import Testing

/// A pipe with a controlled reader on a separate thread.
final class PipeReader: Sendable {
  /// The end to write to.
  let writeEnd: Int32
  private let readEnd: Int32
  private let received = Mutex<(bytes: [UInt8], ended: Bool)>(([], false))

  init() {
    var ends: [Int32] = [-1, -1]
    unsafe pipe(&ends)
    (readEnd, writeEnd) = (ends[0], ends[1])
    // The ffmpeg commands that other tests start meanwhile must not hold the ends open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  /// Reads a named pipe, from when it has a writer.
  init(namedPipe path: String) {
    writeEnd = -1
    readEnd = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    _ = fcntl(readEnd, F_SETFL, 0)
  }

  /// Reads to the end, waiting `delay` microseconds before each read.
  func start(delay: UInt32 = 0) {
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        // A reader that is slow is what is tested.
        if delay > 0 { usleep(delay) }
        let count = unsafe read(readEnd, &buffer, buffer.count)
        guard count > 0 else { break }
        received.withLock { $0.bytes += buffer[..<count] }
      }
      received.withLock { $0.ended = true }
    }
  }

  func closeReadEnd() { close(readEnd) }

  /// Everything read by the end of the pipe.
  func all() async throws -> [UInt8] {
    if writeEnd >= 0 { close(writeEnd) }
    try await eventually { self.received.withLock { $0.ended } }
    return received.withLock { $0.bytes }
  }

  var count: Int { received.withLock { $0.bytes.count } }
}

extension OutputLane {
  /// Finishes however long a pipe's reader takes on a busy machine, within the time of a test.
  func finishWhenRead() async -> OutputSummary {
    let deadline = Task {
      try await Task.sleep(for: .seconds(60))
      _ = await finish(within: .zero)
    }
    defer { deadline.cancel() }
    return await finish(within: nil)
  }
}

let catalogue = OutputCatalogue.standard

extension Clip {
  /// Frames of the clip, decoded.
  func decodedFrames() async throws -> [RawFrame] { try await decodedFrames(of: try encoded()) }

  /// Frames of `stream`, decoded.
  func decodedFrames(of stream: [UInt8]) async throws -> [RawFrame] {
    let collector = Collector()
    let decoder = try collector.decoder(for: codec)
    for unit in accessUnits(of: stream) { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    return collector.frames
  }
}

/// A lane to `target` in the named format, which loses nothing unless told otherwise.
func lane(
  _ target: OutputTarget, _ format: String, policy: OutputLane.Policy = .block,
  limits: QueueLimits? = nil, scaleToFirst: Bool = false, shape: FrameShape = FrameShape(),
  pictures: PictureSelection = PictureSelection(),
  onError: @escaping @Sendable (any OutputFault) -> Void = { _ in },
  onCompletion: @escaping @Sendable () -> Void = {}
) throws -> OutputLane {
  let format = try #require(catalogue.format(named: format))
  var configuration = OutputLane.Configuration(target: target, format: format)
  configuration.policy = policy
  configuration.scaleToFirst = scaleToFirst
  configuration.shape = shape
  configuration.pictures = pictures
  if let limits { configuration.queueLimits = limits }
  return try OutputLane(configuration, onError: onError, onCompletion: onCompletion)
}
