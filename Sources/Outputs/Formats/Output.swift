public import Bitstream
public import Decode
public import Defragment
public import NIOCore

/// How one format lays out its items, from the first byte of a file or pipe on.
///
/// An output does no I/O. It turns items into records; the writer makes sure that a file never ends
/// inside a record. Pictures of another size or sample layout go to a new output.
public protocol Output: Sendable {
  /// The bytes for `item`, with any header that is due; `nil` when there is nothing to write yet.
  ///
  /// - Throws: an ``OutputError`` that says why this and later items cannot have this format.
  mutating func record(for item: OutputItem) throws(OutputError) -> OutputRecord?

  /// The last record, when no more items will come.
  mutating func finish() -> OutputRecord?

  /// The assumptions that had to be made so far.
  var notes: [OutputNote] { get }
}

extension Output {
  public var notes: [OutputNote] { [] }

  public mutating func finish() -> OutputRecord? { nil }
}

/// One item for an output.
public enum OutputItem: Sendable {
  case frame(RawFrame)
  case unit(AccessUnit)

  /// The size that counts towards the limits of the output's queue.
  var byteCount: Int {
    switch self {
    case .frame(let frame): frame.byteCount
    case .unit(let unit): unit.bytes.readableBytes
    }
  }
}

/// Bytes that belong together: a file may end after a record, but never inside one.
public struct OutputRecord: Sendable {
  /// A piece of a record; the planes of a frame are written from where the decoder put them.
  public enum Piece: Sendable {
    case bytes(ByteBuffer)
    case planes(RawFrame)

    var byteCount: Int {
      switch self {
      case .bytes(let bytes): bytes.readableBytes
      case .planes(let frame): frame.byteCount
      }
    }
  }

  public var pieces: [Piece]
  /// How many items the record holds.
  public var items: Int

  public init(pieces: [Piece], items: Int = 1) {
    self.pieces = pieces
    self.items = items
  }

  var byteCount: Int { pieces.reduce(0) { $0 + $1.byteCount } }
}

/// An assumption that an output had to make, because the stream does not say it.
public enum OutputNote: Sendable, Hashable {
  /// The file names this frame rate, because its header must name one.
  case assumedFrameRate(Rational)
}

/// What ended an output; other outputs and the receiving go on.
public enum OutputError: Error, Sendable, Hashable {
  /// `errno` of opening the file, pipe or device.
  case cannotOpen(path: String, errno: Int32)
  /// The pictures changed and the output cannot continue in another file.
  case formatChanged(from: RawFrame.Geometry, to: RawFrame.Geometry)
  /// The named pipe never had a reader.
  case noReader
  /// The reading end of the pipe was closed.
  case readerGone
  /// A full disk, a quota, a failing device: `errno` of the write. A file was truncated to its last
  /// whole frame or access unit.
  case writeFailed(errno: Int32)
  /// The reader did not take the rest of a frame before the deadline.
  case readerTooSlow
  /// The format cannot express these samples; `name` is libav's.
  case unsupportedPixelFormat(name: String)
  /// The output is for an elementary stream of `expected`, but `found` came.
  case wrongCodec(expected: VideoCodec, found: VideoCodec)
  /// A picture could not be scaled to the size of the first one.
  case cannotScale(from: RawFrame.Geometry, to: RawFrame.Geometry)
}
