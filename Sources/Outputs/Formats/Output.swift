public import Bitstream
public import Decode
public import Defragment
public import NIOCore

/// How one format lays out its items, from the first byte of a file or pipe on.
///
/// An output does no I/O. It turns items into records; the writer makes sure that a file never ends
/// inside a record. Pictures of another size or sample layout go to a new output. One thread uses
/// it.
public protocol Output {
  /// The bytes for `item`, with any header that is due; `nil` when there is nothing to write yet.
  ///
  /// - Throws: why this and later items cannot have this format: an ``OutputError``, or an
  ///   ``OutputFault`` of the output's own.
  mutating func record(for item: OutputItem) throws -> OutputRecord?

  /// The last record, when no more items will come.
  mutating func finish() -> OutputRecord?

  /// What is to be known of what was written so far.
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
  case sound(SoundUnit)
  case report(PictureReport)
  /// The connection has ended, and what follows comes from another one; it counts as no item.
  case interruption

  var isInterruption: Bool {
    if case .interruption = self { true } else { false }
  }

  /// The size that counts towards the limits of the output's queue.
  var byteCount: Int {
    switch self {
    case .frame(let frame): frame.byteCount
    case .unit(let unit): unit.bytes.readableBytes
    case .sound(let unit): unit.bytes.readableBytes
    case .report(let report): report.byteCount
    case .interruption: 0
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

  /// Bytes that replace earlier ones, as the header's duration is replaced at the end of a file.
  public struct Patch: Sendable, Hashable {
    /// Bytes from the start of the file.
    public var offset: Int
    public var bytes: ByteBuffer

    public init(offset: Int, bytes: ByteBuffer) {
      self.offset = offset
      self.bytes = bytes
    }
  }

  public var pieces: [Piece]
  /// How many items the record holds.
  public var items: Int
  /// What changes before it; only in regular files.
  public var patches: [Patch] = []
  /// How long the file is if it breaks off behind the record; `nil` leaves what is known of it.
  var length: FileLength?

  public init(pieces: [Piece], items: Int = 1) {
    self.pieces = pieces
    self.items = items
  }

  var byteCount: Int { pieces.reduce(0) { $0 + $1.byteCount } }
}

/// What those who read the files of an output should know, and nothing in the files says.
public enum OutputNote: Sendable, Hashable {
  /// The file names this frame rate, because its header must name one.
  case assumedFrameRate(Rational)
  /// The file names one frame rate, and the frames came at another, in frames per second.
  case otherFrameRate(said: Double, shown: Double)
  /// RGB was made with the matrix of this code point (H.273 §8.3), because a matrix is needed.
  case assumedMatrix(UInt8)
  /// The samples are of this rate and number of channels, which nothing in the file says.
  case samples(rate: Int, channels: Int)
}
