import Bitstream
import BlockingIO
import Decode
import Defragment
import Dispatch
import NIOCore
import Outputs
import RTPWire
import Synchronization

/// Decodes a camera's pictures and makes JPEG of them, for browsers that cannot decode them; exists
/// while one watches, and a little longer.
final class JPEGFeed: Sendable {
  /// Enough to see what happens; each costs decoding, encoding, and ten times the bytes.
  static let leastInterval = Duration.milliseconds(120)

  /// What takes its time, such as loading libraries, holds up nobody who hands over pictures.
  private let queue = DispatchQueue(label: "rtp-recv.jpeg")
  private let state = Mutex(State())

  private struct State {
    /// `nil` before it is opened, where it cannot be opened, and after the end.
    var decoder: VideoDecoder?
    /// How many units wait for the queue.
    var waiting = 0
    /// Whether units were left out, so that decoding can only go on with a key picture.
    var awaitsKey = false
  }

  /// Begins with `group`; `deliver` gets each picture, and `onEvent` what happens to the decoder's
  /// box, on the decoder's thread.
  init(
    _ group: PictureGroup, codec: VideoCodec, box: DecoderBox?,
    deliver: @escaping @Sendable (JPEGPicture) -> Void,
    onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void
  ) {
    queue.async { [self] in
      do throws(DecoderError) {
        let decoder = try Self.decoder(of: codec, in: box, deliver, onEvent)
        state.withLock { $0.decoder = decoder }
      } catch { return onEvent(.failed(error)) }
      for unit in group.units { decode(unit) }
    }
  }

  private static func decoder(
    of codec: VideoCodec, in box: DecoderBox?,
    _ deliver: @escaping @Sendable (JPEGPicture) -> Void,
    _ onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void
  ) throws(DecoderError) -> VideoDecoder {
    let due = Mutex<Instant?>(nil)
    let encoder = Mutex(JPEGEncoder(size: nil))
    return try VideoDecoder(
      codec: codec, configuration: Snapshot.configuration(in: box),
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
      }, onFailure: { _ in }, onEvent: onEvent)
  }

  func submit(_ unit: BrowserUnit) {
    let isTaken = state.withLock { state in
      guard state.waiting < PictureGroup.limits.count else {
        state.awaitsKey = true
        return false
      }
      state.waiting += 1
      return true
    }
    guard isTaken else { return }
    queue.async { [self] in
      state.withLock { $0.waiting -= 1 }
      decode(unit)
    }
  }

  /// On the queue.
  private func decode(_ unit: BrowserUnit) {
    let (decoder, awaitsKey) = state.withLock { ($0.decoder, $0.awaitsKey) }
    guard let decoder, !awaitsKey || unit.isKey else { return }
    let isFull = decoder.submit(unit.unit) == .full
    if isFull { decoder.beginFlush() }
    state.withLock { $0.awaitsKey = isFull }
  }

  /// Drops what waits.
  func end() {
    queue.async { [self] in
      let decoder = state.withLock { state in
        defer { state.decoder = nil }
        return state.decoder
      }
      decoder?.abandon()
    }
  }
}
