public import Bitstream
public import Decode
public import Defragment
public import NIOCore

/// How one format lays out what it is given, from the first byte of a file or pipe on.
///
/// An output does no I/O. It turns items into records, and whoever writes them makes sure that a
/// file never ends inside one. Pictures of another size or sample layout go to a new output.
public protocol Output: Sendable {
  /// The bytes for `item`, headers that are due included; `nil` when there are none to be written
  /// yet.
  ///
  /// - Throws: an ``OutputError`` that says why this and later items cannot be written in this format.
  mutating func record(for item: OutputItem) throws(OutputError) -> OutputRecord?

  /// What is still owed when nothing more will come.
  mutating func finish() -> OutputRecord?

  /// What had to be taken for granted so far.
  var notes: [OutputNote] { get }
}

extension Output {
  public var notes: [OutputNote] { [] }

  public mutating func finish() -> OutputRecord? { nil }
}

/// What an output is fed with.
public enum OutputItem: Sendable {
  case frame(RawFrame)
  case unit(AccessUnit)

  /// The size that counts against the limits of the queue in front of an output.
  var byteCount: Int {
    switch self {
    case .frame(let frame): frame.byteCount
    case .unit(let unit): unit.bytes.readableBytes
    }
  }
}

/// Bytes that belong together: a file may end behind a record, never inside one.
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

/// What an output had to take for granted, since the stream does not say it.
public enum OutputNote: Sendable, Hashable {
  /// The file says this many frames a second, because it has to say some.
  case assumedFrameRate(Rational)
}

/// What ended an output; the others and the receiving go on.
public enum OutputError: Error, Sendable, Hashable {
  /// `errno` of opening the file, pipe or device.
  case cannotOpen(path: String, errno: Int32)
  /// The pictures changed and the output cannot continue in another file.
  case formatChanged(from: RawFrame.Geometry, to: RawFrame.Geometry)
  /// The named pipe never had a reader.
  case noReader
  /// The far end of the pipe has been closed.
  case readerGone
  /// A full disk, a quota, a failing device: `errno` of the write. A file has been cut back to its
  /// last whole frame or access unit.
  case writeFailed(errno: Int32)
  /// The reader did not take the rest of a frame before the deadline of finishing.
  case readerTooSlow
  /// The format cannot express these samples; `name` is libav's.
  case unsupportedPixelFormat(name: String)
  /// An elementary stream of `expected` was asked for, and `found` came.
  case wrongCodec(expected: VideoCodec, found: VideoCodec)
  /// Pictures could not be scaled to the first one's size.
  case cannotScale(from: RawFrame.Geometry, to: RawFrame.Geometry)
}
