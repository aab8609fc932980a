import Defragment
import NIOCore
import RTPWire

/// What a page gets, each as one message of its WebSocket.
///
/// Text messages are JSON objects; `type` says what they are:
///
/// | type | members |
/// |---|---|
/// | `cameras` | `cameras`: of each `id`, `name`, `source` |
/// | `format` | of camera `id`: `codec` (RFC 6381), `record` (`avcC` or `hvcC`), `sets` |
/// | `sound` | of camera `id`: `codec`, `rate`, `channels`, `description` |
/// | `figures` | `cameras`: of each `id`, and what is measured, once a second |
/// | `events` | of camera `id`: `events`, each with `time` (ms since 1970), `warning`, `text` |
///
/// Bytes in them are hexadecimal digits.
///
/// Binary messages have a head of 24 bytes, numbers in network order, and then the media:
///
/// ```
///  0  kind: 1 coded picture (Annex B), 2 JPEG, 3 sound
///  1  flags: 1 key picture, 2 damaged, 4 others were left out before it
///  2  id of the camera, 16 bits
///  4  microseconds since its last packet came, 32 bits
///  8  media time in microseconds, 64 bits
/// 16  capture time by the sender's clock in milliseconds since 1970, 64 bits; 0 if unknown
/// ```
enum ViewerMessage: Sendable {
  case text(ByteBuffer)
  case format(camera: UInt16, BrowserFormat)
  case picture(camera: UInt16, ViewerQueue.Element)
  case jpeg(camera: UInt16, JPEGPicture)
  case soundFormat(camera: UInt16, SoundUnit)
  case sound(camera: UInt16, SoundUnit)
}

/// The head of a binary message.
struct MediaHead: Sendable, Hashable {
  enum Kind: UInt8, Sendable {
    case picture = 1
    case jpeg = 2
    case sound = 3
  }

  var kind: Kind
  var isKey = false
  var isDamaged = false
  var hasSkipped = false
  var camera: UInt16
  /// Since its last packet came.
  var age: Duration
  var time: MediaTime
  var captureTime: WallClockTime?

  var bytes: ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: 24)
    bytes.writeInteger(kind.rawValue)
    bytes.writeInteger((isKey ? 1 : 0) | (isDamaged ? 2 : 0) | (hasSkipped ? 4 : 0) as UInt8)
    bytes.writeInteger(camera)
    bytes.writeInteger(UInt32(clamping: age.wholeNanoseconds / 1000))
    bytes.writeInteger(time.nanoseconds / 1000)
    bytes.writeInteger((captureTime?.nanoseconds ?? 0) / 1_000_000)
    return bytes
  }
}
