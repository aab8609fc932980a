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
    /// Whether units were left out before the next one that comes.
    var isBehindHole = false
    /// Whether decoding can only go on with a key picture, behind what is decoded now.
    var awaitsKey = false
    /// When the units came that are being decoded, the oldest first.
    var inside: [Instant] = []
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
        let decoder = try self.decoder(of: codec, in: box, deliver, onEvent)
        state.withLock { $0.decoder = decoder }
      } catch { return onEvent(.failed(error)) }
      for unit in group.units { decode(unit, isPast: true) }
    }
  }

  private func decoder(
    of codec: VideoCodec, in box: DecoderBox?,
    _ deliver: @escaping @Sendable (JPEGPicture) -> Void,
    _ onEvent: @escaping @Sendable (DecoderBoxEvent) -> Void
  ) throws(DecoderError) -> VideoDecoder {
    let due = Mutex<Instant?>(nil)
    let encoder = Mutex(JPEGEncoder(size: nil))
    return try VideoDecoder(
      codec: codec, configuration: Snapshot.configuration(in: box),
      onFrame: { [weak self] frame in
        let now = frame.lastArrival
        self?.noteDecoded(now)
        let isDue = due.withLock { due in
          if let due, now < due { return false }
          due = now.advanced(by: Self.leastInterval)
          return true
        }
        guard isDue, let picture = encoder.withLock({ try? JPEGPicture(frame, encodedBy: $0) })
        else { return }
        deliver(picture)
      }, onFailure: { [weak self] in self?.noteDecoded($0.lastArrival) }, onEvent: onEvent)
  }

  func submit(_ unit: BrowserUnit) {
    let isBehindHole = state.withLock { state -> Bool? in
      guard state.waiting < PictureGroup.limits.count else {
        state.isBehindHole = true
        return nil
      }
      state.waiting += 1
      defer { state.isBehindHole = false }
      return state.isBehindHole
    }
    guard let isBehindHole else { return }
    queue.async { [self] in
      state.withLock { $0.waiting -= 1 }
      decode(unit, isBehindHole: isBehindHole)
    }
  }

  /// On the queue; what is past may be decoded late.
  private func decode(_ unit: BrowserUnit, isPast: Bool = false, isBehindHole: Bool = false) {
    let arrival = unit.sent.lastArrival
    let decoder = state.withLock { state -> VideoDecoder? in
      // A decoder that lags behind leaves out what comes until it has caught up.
      let lag = state.inside.first?.duration(to: arrival) ?? .zero
      if isBehindHole || !isPast && lag > ViewerQueue.longestWait { state.awaitsKey = true }
      guard !state.awaitsKey || unit.isKey && lag <= ViewerQueue.longestWait else { return nil }
      if !isPast { state.inside.append(arrival) }
      return state.decoder
    }
    guard let decoder else { return }
    let isFull = decoder.submit(unit.unit) == .full
    if isFull { decoder.beginFlush() }
    state.withLock { state in
      state.awaitsKey = isFull
      // Nothing comes of it.
      if isFull, !isPast { state.inside.removeAll { $0 == arrival } }
    }
  }

  /// Notes that the unit that came at `arrival`, and those before it, are decoded.
  private func noteDecoded(_ arrival: Instant) {
    state.withLock { $0.inside.removeAll { $0 <= arrival } }
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
