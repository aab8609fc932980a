import BlockingIO
import Decode
import Glibc
import NIOCore
import RTPWire

/// Writes whole records to a file or a pipe, samples straight from the decoder's planes.
///
/// Used by one thread at a time. When a write fails, a file is truncated to its last whole record.
/// What a record replaces is replaced after it was written.
@safe final class RecordWriter {
  /// How many addresses are collected before they are written: as many as writev(2) takes.
  private static let vectorsPerWrite = 1024

  /// Items and bytes of the records written whole.
  private(set) var items = 0
  private(set) var bytes = 0

  /// How long the file is behind the last record.
  private var length: FileLength?
  private let file: FileWriter
  private let deadline: WriteDeadline
  private var vectors: [iovec] = unsafe []
  private var hasBegun = false

  init(to file: FileWriter, deadline: WriteDeadline) {
    self.file = file
    self.deadline = deadline
  }

  /// Writes all of `records`.
  ///
  /// - Throws: an ``OutputError``; a file then ends after its last whole record.
  func write(_ records: [OutputRecord]) throws(OutputError) {
    if !hasBegun {
      hasBegun = true
      file.empty()
    }
    var written = 0
    let failure = writePieces(of: records, &written)
    for record in records {
      guard written >= record.byteCount else { break }
      written -= record.byteCount
      items += record.items
      bytes += record.byteCount
      length = record.length ?? length
    }
    if let failure {
      if written > 0 { file.removeLast(written) }
      throw error(failure)
    }
    if let failure = replace(records.flatMap(\.patches)) { throw error(failure) }
  }

  /// Has the header of a file that breaks off say how long it has become, as far as that can be
  /// written.
  func writeLength() { _ = replace(length?.patches(byteCount: bytes) ?? []) }

  /// Replaces earlier bytes.
  ///
  /// - Returns: why not all were replaced.
  private func replace(_ patches: [OutputRecord.Patch]) -> WriteFailure? {
    for patch in patches {
      let failure = unsafe patch.bytes.withUnsafeReadableBytes {
        unsafe file.replace(at: patch.offset, with: $0)
      }
      if let failure { return failure }
    }
    return nil
  }

  /// Ends the file; nothing can be written afterwards.
  ///
  /// - Throws: an ``OutputError`` where what was written is not in it.
  func finish() throws(OutputError) {
    if let failure = file.finish() { throw error(failure) }
  }

  /// Waits until the records are on the disk.
  ///
  /// - Throws: an ``OutputError``.
  func sync() throws(OutputError) {
    if let failure = file.sync() { throw error(failure) }
  }

  /// The meaning of `failure`: only a file of the output's own is known to end where it was whole.
  private func error(_ failure: WriteFailure) -> OutputError {
    if case .failed(let number) = failure, file.canReplace { return .fileBrokeOff(errno: number) }
    return OutputError(failure, path: "")
  }

  /// Writes all pieces, a bounded number of them at a time, and counts the bytes.
  private func writePieces(of records: [OutputRecord], _ written: inout Int) -> WriteFailure? {
    defer { unsafe vectors.removeAll(keepingCapacity: true) }
    // The addresses are those of the records' buffers and frames, which the array keeps.
    return withExtendedLifetime(records) {
      for record in records {
        for piece in record.pieces {
          append(piece)
          guard unsafe vectors.count >= Self.vectorsPerWrite else { continue }
          if let failure = writeVectors(&written) { return failure }
        }
      }
      return writeVectors(&written)
    }
  }

  private func append(_ piece: OutputRecord.Piece) {
    switch piece {
    case .bytes(let buffer):
      // The form of this call whose addresses stay good as long as the buffer's storage lives.
      unsafe buffer.withUnsafeReadableBytesWithStorageManagement { bytes, _ in
        guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else { return }
        unsafe vectors.append(
          iovec(iov_base: UnsafeMutableRawPointer(mutating: start), iov_len: bytes.count))
      }
    case .planes(let frame):
      for plane in 0..<frame.planeCount { appendRows(of: frame, plane: plane) }
    }
  }

  /// Adds one iovec for a plane without padding, otherwise one for each row.
  private func appendRows(of frame: RawFrame, plane: Int) {
    let layout = frame.layout(ofPlane: plane)
    guard let start = unsafe UnsafeMutableRawPointer(frame.planeStart(plane)) else { return }
    guard layout.stride != layout.rowBytes else {
      unsafe vectors.append(iovec(iov_base: start, iov_len: layout.rowBytes * layout.rows))
      return
    }
    for row in 0..<layout.rows {
      unsafe vectors.append(
        iovec(iov_base: start + row * layout.stride, iov_len: layout.rowBytes))
    }
  }

  private func writeVectors(_ written: inout Int) -> WriteFailure? {
    let (count, failure) = unsafe vectors.withUnsafeMutableBufferPointer {
      unsafe file.write($0, until: deadline)
    }
    unsafe vectors.removeAll(keepingCapacity: true)
    written += count
    return failure
  }
}

extension OutputError {
  /// The meaning of `failure` for the output at `path`.
  init(_ failure: WriteFailure, path: String) {
    switch failure {
    case .cannotOpen(let number): self = .cannotOpen(path: path, errno: number)
    case .inUse: self = .inUse
    case .noReader: self = .noReader
    case .readerGone: self = .readerGone
    case .readerTooSlow: self = .readerTooSlow
    case .failed(let number): self = .writeFailed(errno: number)
    }
  }
}
