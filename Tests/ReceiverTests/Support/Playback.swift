import Bitstream
import BlockingIO
import Decode
import Defragment
import Foundation
import Outputs
import RTPWire
import Receiver
import Reception
import Synchronization
import TestSupport
import Testing

/// Puts datagrams through the core on their own clock, and the access units through the decoder.
struct Playback {
  private(set) var accessUnits: [AccessUnit] = []
  private(set) var stream: VideoStream

  init(_ datagrams: [Datagram], media: MediaDescription = MediaDescription()) throws {
    var configuration = VideoStream.Configuration()
    configuration.media = media
    stream = try VideoStream(configuration: configuration)
    for datagram in datagrams {
      // What falls due before the datagram comes first, as it would in a live session.
      while let deadline = stream.deadline, deadline < datagram.arrival { pull(at: deadline) }
      stream.receive(datagram)
      pull(at: datagram.arrival)
    }
    let end = datagrams.last?.arrival ?? Instant(nanoseconds: 0)
    stream.finish(at: end)
    pull(at: end)
  }

  private mutating func pull(at now: Instant) {
    while let unit = stream.next(at: now) { accessUnits.append(unit) }
  }

  /// The planes of all frames in order, without padding.
  static func decode(_ units: [AccessUnit]) async throws -> (frames: Int, bytes: Data) {
    let planes = try await decode(units) { samples(of: $0) }
    return (planes.count, Data(planes.joined()))
  }

  /// The frames that `units` hold.
  static func frames(of units: [AccessUnit]) async throws -> [RawFrame] {
    try await decode(units) { $0 }
  }

  /// What `transform` makes of each frame that `units` hold, in output order.
  static func decode<Value: Sendable>(
    _ units: [AccessUnit], treatment: LossTreatment = .conceal,
    _ transform: @escaping @Sendable (RawFrame) -> Value
  ) async throws -> [Value] {
    guard let codec = units.first?.codec else { return [] }
    var configuration = VideoDecoder.Configuration()
    configuration.lossTreatment = treatment
    // All of them may wait at once.
    configuration.queueLimits = QueueLimits(count: units.count, bytes: .max)
    let values = Mutex<[Value]>([])
    let decoder = try VideoDecoder(
      codec: codec, configuration: configuration,
      onFrame: { frame in
        let value = transform(frame)
        values.withLock { $0.append(value) }
      }, onFailure: { _ in })
    for unit in units { try #require(decoder.submit(unit) == .queued) }
    await decoder.flush()
    await decoder.close()
    return values.withLock { $0 }
  }

  /// The planes of a frame in order, without padding.
  static func samples(of frame: RawFrame) -> Data {
    (0..<frame.planeCount).reduce(into: Data()) { $0.append(samples(of: frame, plane: $1)) }
  }

  private static func samples(of frame: RawFrame, plane: Int) -> Data {
    frame.withPlane(plane) { bytes, layout in
      var samples = Data(capacity: layout.rows * layout.rowBytes)
      for row in 0..<layout.rows {
        bytes.extracting(row * layout.stride..<row * layout.stride + layout.rowBytes)
          .withUnsafeBytes { samples.append(contentsOf: $0) }
      }
      return samples
    }
  }
}

extension Data {
  /// The MD5 in hexadecimal, by the system's own tool.
  func md5() throws -> String {
    let folder = try TemporaryFolder()
    try write(to: folder.url("bytes"))
    let line = try RunningProcess.output(of: "md5sum", [folder("bytes")])
    return String(decoding: line.prefix(32), as: UTF8.self)
  }
}
