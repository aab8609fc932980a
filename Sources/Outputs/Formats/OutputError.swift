public import Bitstream
import BlockingIO
public import Decode
import Glibc

/// What ended an output; other outputs and the receiving go on.
public enum OutputError: OutputFault, Hashable {
  /// `errno` of opening the file, pipe or device.
  case cannotOpen(path: String, errno: Int32)
  /// The file is being written already, by another program or by this one.
  case inUse
  /// The pictures changed and the output cannot continue in another file.
  case formatChanged(from: RawFrame.Geometry, to: RawFrame.Geometry)
  /// The named pipe never had a reader.
  case noReader
  /// The reading end of the pipe was closed.
  case readerGone
  /// A full disk, a quota, a failing device: `errno` of the write.
  case writeFailed(errno: Int32)
  /// The same of a file, which was truncated to its last whole frame or access unit.
  case fileBrokeOff(errno: Int32)
  /// The same of a picture's own file, of which nothing is left.
  case pictureLeftOut(path: String, errno: Int32)
  /// The reader did not take the rest of a frame before the deadline.
  case readerTooSlow
  /// The disk did not store the rest before the deadline.
  case diskTooSlow
  /// The format cannot express these samples; `name` is libav's.
  case unsupportedPixelFormat(name: String)
  /// The output is for an elementary stream of `expected`, but `found` came.
  case wrongCodec(expected: VideoCodec, found: VideoCodec)
  /// A picture could not be converted to the wanted size or sample layout.
  case cannotConvert(from: RawFrame.Geometry, to: RawFrame.Geometry)
  /// The decoder for this sound cannot be opened.
  case noSoundDecoder(DecoderError)
  /// The sound changed its rate or channels, which the output cannot express.
  case soundChanged(from: String, to: String)
  /// None of the frames that came was intact, and others are not wanted.
  case noIntactPicture(of: Int)
  /// The output threw something that is no ``OutputFault``; what it says of itself.
  case failed(reason: String)

  public var name: String {
    switch self {
    case .cannotOpen: "cannot_open"
    case .inUse: "in_use"
    case .formatChanged: "format_changed"
    case .noReader: "no_reader"
    case .readerGone: "reader_gone"
    case .writeFailed, .fileBrokeOff, .pictureLeftOut: "write_failed"
    case .readerTooSlow: "reader_too_slow"
    case .diskTooSlow: "disk_too_slow"
    case .unsupportedPixelFormat: "unsupported_pixel_format"
    case .wrongCodec: "wrong_codec"
    case .cannotConvert: "cannot_convert"
    case .noSoundDecoder: "no_sound_decoder"
    case .soundChanged: "sound_changed"
    case .noIntactPicture: "no_intact_picture"
    case .failed: "failed"
    }
  }

  public var outcome: OutputOutcome {
    switch self {
    case .readerGone: .readerGone
    case .noIntactPicture: .nothingIntact
    case .formatChanged, .soundChanged: .formatChanged
    case .cannotOpen, .inUse, .noReader, .writeFailed, .fileBrokeOff, .pictureLeftOut,
      .readerTooSlow, .diskTooSlow, .unsupportedPixelFormat, .wrongCodec, .cannotConvert,
      .noSoundDecoder, .failed:
      .cannotWrite
    }
  }

  public func words(about output: String) -> String {
    switch self {
    case .readerGone:
      "the reader of \(output) has gone away"
    case .formatChanged(let from, let to):
      "\(output) is a pipe and cannot change its format: "
        + "the pictures went from \(from.words) to \(to.words)"
    case .cannotOpen(let path, let number):
      "\(output) cannot be opened: "
        + WriteFailure.cannotOpen(errno: number).reason(opening: path)
    case .inUse:
      "\(output) is being written by another program; choose another name"
    case .noReader:
      "nobody has opened \(output) to read it"
    case .writeFailed(let number):
      "\(output) cannot be written: \(Self.reason(number))"
    case .fileBrokeOff(let number):
      "\(output) cannot be written: \(Self.reason(number)); the file ends on its last whole frame"
    case .pictureLeftOut(let path, let number):
      "\(path) cannot be written: \(Self.reason(number)); this picture is left out"
    case .readerTooSlow:
      "the reader of \(output) did not take the last frame in time"
    case .diskTooSlow:
      "\(output) may lack its end: the disk did not store it in time"
    case .unsupportedPixelFormat(let format):
      "\(output): its format cannot hold pictures of \(format)"
    case .wrongCodec(let expected, let found):
      "\(output) is to be \(expected.encodingName), but \(found.encodingName) came; "
        + "try a name that ends in .\(found.name)"
    case .cannotConvert(let from, let to):
      "\(output): pictures of \(from.words) cannot be made \(to.words)"
    case .noSoundDecoder(let error):
      "\(output): \(error)"
    case .soundChanged(let from, let to):
      "\(output) cannot change its format: the sound went from \(from) to \(to)"
    case .noIntactPicture(let count):
      "\(output): no picture of \(count) was intact"
    case .failed(let reason):
      "\(output): \(reason)"
    }
  }

  public var advice: OutputAdvice? {
    switch self {
    case .formatChanged: .steadySize
    case .unsupportedPixelFormat: .plainSamples
    case .noIntactPicture: .damagedPictures
    default: nil
    }
  }

  /// What the system calls the error `number`.
  package static func reason(_ number: Int32) -> String {
    unsafe String(cString: strerror(number))
  }
}

extension RawFrame.Geometry {
  fileprivate var words: String { "\(width)x\(height) \(pixelFormat.name)" }
}
