import Bitstream
import Decode
import Defragment
import Outputs
import RTPWire
import Synchronization

/// What a decoder's callbacks brought, in order.
final class Collector: Sendable {
  enum Event: Sendable {
    case frame(RawFrame)
    case failure(DecodeFailure)
  }

  private let store = Mutex<[Event]>([])

  var events: [Event] { store.withLock { $0 } }
  var frames: [RawFrame] {
    events.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
  }
  var failures: [DecodeFailure] {
    events.compactMap { if case .failure(let failure) = $0 { failure } else { nil } }
  }

  private let boxStore = Mutex<[DecoderBoxEvent]>([])

  /// What happened to the decoder's box.
  var boxEvents: [DecoderBoxEvent] { boxStore.withLock { $0 } }

  func append(_ event: Event) { store.withLock { $0.append(event) } }

  func decoder(
    for codec: VideoCodec, configuration: VideoDecoder.Configuration = .init()
  ) throws -> VideoDecoder {
    try VideoDecoder(
      codec: codec, configuration: configuration, onFrame: { self.append(.frame($0)) },
      onFailure: { self.append(.failure($0)) },
      onEvent: { event in self.boxStore.withLock { $0.append(event) } })
  }
}

extension RawFrame {
  /// The samples of all planes, row by row without padding.
  var packed: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    for plane in 0..<planeCount {
      withPlane(plane) { span, layout in
        for row in 0..<layout.rows {
          let start = row * layout.stride
          unsafe span.extracting(start..<start + layout.rowBytes).withUnsafeBytes {
            unsafe bytes.append(contentsOf: $0)
          }
        }
      }
    }
    return bytes
  }
}

/// The samples of all frames in order.
func packed(_ frames: [RawFrame]) -> [UInt8] { frames.flatMap(\.packed) }
