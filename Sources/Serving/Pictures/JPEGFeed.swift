import Bitstream
import BlockingIO
import Decode
import Defragment
import NIOCore
import Outputs
import RTPWire
import Synchronization

/// Decodes a camera's pictures and makes JPEG of them, for browsers that cannot decode them; exists
/// only while one watches.
final class JPEGFeed: Sendable {
  /// Enough to see what happens; each costs decoding, encoding, and ten times the bytes.
  static let leastInterval = Duration.milliseconds(120)

  private let decoder: VideoDecoder
  /// Whether units were left out, so that decoding can only go on with a key picture.
  private let awaitsKey = Mutex(false)

  /// Begins with `group`; `deliver` gets each picture, on the decoder's thread.
  init(
    _ group: PictureGroup, codec: VideoCodec, deliver: @escaping @Sendable (JPEGPicture) -> Void
  ) throws(DecoderError) {
    let due = Mutex<Instant?>(nil)
    let encoder = Mutex(JPEGEncoder(size: nil))
    decoder = try VideoDecoder(
      codec: codec, configuration: Snapshot.configuration,
      onFrame: { frame in
        let now = frame.lastArrival
        let isDue = due.withLock { due in
          if let due, now < due { return false }
          due = now.advanced(by: Self.leastInterval)
          return true
        }
        guard isDue, let picture = encoder.withLock({ try? JPEGPicture(frame, encodedBy: $0) })
        else { return }
        deliver(picture)
      }, onFailure: { _ in })
    for unit in group.units { submit(unit) }
  }

  func submit(_ unit: BrowserUnit) {
    awaitsKey.withLock { awaitsKey in
      if awaitsKey, !unit.isKey { return }
      awaitsKey = decoder.submit(unit.unit) == .full
      if awaitsKey { decoder.beginFlush() }
    }
  }

  /// Drops what waits.
  func end() { decoder.abandon() }
}
