import Decode
import Foundation
import NIOCore
import Outputs
import RTPSend
import RTPWire
import Receiver
import TestSupport

/// An output picture: its reported condition, and a hash of its samples.
struct ShownFrame: Sendable {
  let time: MediaTime
  let condition: RawFrame.Condition
  let samples: Int
}

/// A test picture that moves, encoded by the ffmpeg command.
struct EncodedStream {
  let media: MediaDescription
  private let codec: RTPSend.Codec
  private let units: [SourceAccessUnit]

  /// Encodes `frames` pictures, 30 per second, with the given encoder and arguments.
  init(
    _ codec: RTPSend.Codec, _ encoder: [String], frames: Int, size: String = "256x144"
  ) throws {
    self.codec = codec
    media = MediaDescription(
      payloadType: 96, encodingName: codec == .h264 ? "H264" : "H265")
    let folder = try TemporaryFolder()
    let path = folder("clip.\(codec.rawValue)")
    let clip = try FFmpeg.made(
      ["-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30"]
        + ["-frames:v", "\(frames)", "-pix_fmt", "yuv420p", "-preset", "fast", "-b:v", "400k"]
        + ["-c:v"] + encoder, ending: codec.rawValue)
    try clip.write(to: folder.url("clip.\(codec.rawValue)"))
    let source = try SourceRecipe.file(path: path, framesPerSecond: 30).make()
    var units: [SourceAccessUnit] = []
    while let unit = try source.next().element { units.append(unit) }
    self.units = units
  }

  /// All of it as packets of one RTP session.
  func packets(_ configuration: RTPStream.Configuration) -> [ByteBuffer] {
    var stream = RTPStream(configuration)
    var packetizer = Packetization.nonInterleaved.packetizer(
      for: codec, payloadLimit: 300, aggregates: true)
    var packets: [ByteBuffer] = []
    for unit in units { packets += stream.packets(with: packetizer.packetize(unit)) }
    return packets + stream.packets(with: packetizer.finish())
  }

  /// The frames that `datagrams` produce, in output order.
  func frames(
    of datagrams: [Datagram], treatment: LossTreatment = .conceal
  ) async throws -> [ShownFrame] {
    let units = try Playback(datagrams, media: media).accessUnits
    return try await Playback.decode(units, treatment: treatment) { frame in
      // That of `Data` itself is a hash of its beginning.
      var hasher = Hasher()
      Playback.samples(of: frame).withUnsafeBytes { hasher.combine(bytes: $0) }
      return ShownFrame(time: frame.time, condition: frame.condition, samples: hasher.finalize())
    }
  }
}
