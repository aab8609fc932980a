public import Bitstream
public import BlockingIO
import CFFmpeg
import Defragment
import NIOCore
public import RTPWire

/// An access unit that produced no frame, and why.
public struct DecodeFailure: Error, Sendable, Hashable {
  /// Why an access unit produced no frame.
  public enum Reason: Sendable, Hashable {
    /// The decoder could not use it; `text` is libav's name of the error `code`.
    case decoder(code: Int32, text: String)
    /// Decoding has not begun: no random-access point has come since the start or the last flush.
    case noRandomAccessPoint
    /// It contains no picture to be shown: supplemental data alone, or a leading picture whose
    /// references precede the random-access point (RASL, H.265 §8.1.3).
    case noPicture
    /// It was decoded, but is not meant for output.
    case notShown
    /// It is not intact, and ``LossTreatment`` withholds it.
    case notIntact
    /// The pictures would be larger than the limits allow; nothing was allocated for them.
    case rejectedSize(width: Int, height: Int)
    /// No decoder could be opened for its codec.
    case foreignCodec(VideoCodec)
    /// No output knows its sample layout.
    case unknownPixelFormat
    /// Memory ran out.
    case outOfMemory
    /// The decoder's process ended while it had the unit, or none runs (``DecoderBox``).
    case decoderLost
    /// The decoder was closed first.
    case closed
  }

  /// A reason without its details, as it is counted.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case decoder
    case noRandomAccessPoint = "no_random_access_point"
    case noPicture = "no_picture"
    case notShown = "not_shown"
    case notIntact = "not_intact"
    case rejectedSize = "rejected_size"
    case foreignCodec = "foreign_codec"
    case unknownPixelFormat = "unknown_pixel_format"
    case outOfMemory = "out_of_memory"
    case decoderLost = "decoder_lost"
    case closed
  }

  public let reason: Reason
  public let time: MediaTime
  /// When the first packet of the access unit arrived.
  public let firstArrival: Instant
  /// When the packet that completed it arrived.
  public let lastArrival: Instant
  /// When the picture was taken by the sender's clock; `nil` before a sender report came.
  public let captureTime: WallClockTime?
  /// Bytes of the access unit.
  public let codedByteCount: Int
  public let origin: PictureOrigin?
}

extension DecodeFailure.Reason {
  public var kind: DecodeFailure.Kind {
    switch self {
    case .decoder: .decoder
    case .noRandomAccessPoint: .noRandomAccessPoint
    case .noPicture: .noPicture
    case .notShown: .notShown
    case .notIntact: .notIntact
    case .rejectedSize: .rejectedSize
    case .foreignCodec: .foreignCodec
    case .unknownPixelFormat: .unknownPixelFormat
    case .outOfMemory: .outOfMemory
    case .decoderLost: .decoderLost
    case .closed: .closed
    }
  }
}

/// Why a decoder cannot be opened.
public enum DecoderError: Error, Sendable, Hashable {
  /// One of FFmpeg's libraries cannot be loaded, or is too old: why, with the name of its file.
  case noLibrary(reason: String)
  /// Not one of the allowed decoders, or libavcodec was built without it.
  case unsupportedCodec(name: String)
  case cannotOpen(code: Int32, text: String)
  case noThread(ThreadError)
  case outOfMemory
  /// A box is required (``DecoderBox/isRequired``), but there can be none: why.
  case noBox(reason: String)
}

extension DecoderError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noLibrary(let reason):
      "decoding needs FFmpeg's libraries, one of which cannot be loaded: \(reason); on Debian they "
        + "are in the packages libavcodec\(LIBAVCODEC_VERSION_MAJOR) and "
        + "libswscale\(LIBSWSCALE_VERSION_MAJOR)"
    case .unsupportedCodec(let name): "libavcodec has no decoder or encoder of \(name)"
    case .cannotOpen(_, let text): "libavcodec refuses: \(text)"
    case .noThread(let error): "\(error)"
    case .outOfMemory: "out of memory"
    case .noBox(let reason): "decoding in a sandbox is not possible here: \(reason)"
    }
  }
}

/// What is remembered of an access unit while its picture is in the decoder.
struct UnitRecord: Sendable, Hashable {
  var time: MediaTime
  var firstArrival: Instant
  var lastArrival: Instant
  var condition: RawFrame.Condition
  /// Why it is not intact.
  var damage: PictureDamage?
  /// Packets of it or directly before it are missing.
  var isBehindLoss = false
  /// Whether it counts as intact when approximately correct pictures are accepted.
  var isGood = false
  /// Whether decoding can begin here; libavcodec marks no recovery point behind the first picture.
  var isRandomAccess: Bool
  /// The same of the picture that is shown: another one that is repeated is none.
  var isKeyPicture: Bool { condition != .repeated && isRandomAccess }
  var dependency = PictureDependency(references: .earlier)
  var frameRate: Rational?
  var captureTime: WallClockTime?
  var byteCount: Int
  var origin: PictureOrigin?

  init(_ unit: AccessUnit, condition: RawFrame.Condition) {
    time = unit.time
    firstArrival = unit.firstArrival
    lastArrival = unit.lastArrival
    self.condition = condition
    isBehindLoss = unit.integrity != .whole || !unit.gaps.isEmpty
    isRandomAccess = unit.isRandomAccess
    dependency = unit.presumedDependency
    frameRate = unit.format?.frameRate
    captureTime = unit.captureTime
    byteCount = unit.bytes.readableBytes
    origin = PictureOrigin(unit)
  }

  func failure(_ reason: DecodeFailure.Reason) -> DecodeFailure {
    DecodeFailure(
      reason: reason, time: time, firstArrival: firstArrival, lastArrival: lastArrival,
      captureTime: captureTime, codedByteCount: byteCount, origin: origin)
  }
}
