import Decode
import Glibc
import NIOCore
import RTPWire

/// Writes whole records to a descriptor with `writev`, samples straight from the decoder's planes.
///
/// Used by one thread at a time. A pipe is written without blocking, so that a stalled reader can
/// be abandoned at a deadline. When a write fails, a file is truncated to its last whole record.
@safe final class RecordWriter {
  /// The most iovecs that one `writev` takes (Linux's `UIO_MAXIOV`).
  private static let maximumVectors = 1024
  /// Milliseconds between two checks of the deadline while the reader does not read.
  private static let patience: Int32 = 50

  /// Items and bytes of the records written whole.
  private(set) var items = 0
  private(set) var bytes = 0

  private let descriptor: OutputDescriptor
  /// When to give up on a reader that does not read; `nil` while there is no such time.
  private let deadline: () -> Instant?
  private var vectors: [iovec] = unsafe []
  private var hasBegun = false

  init(to descriptor: OutputDescriptor, deadline: @escaping () -> Instant?) {
    self.descriptor = descriptor
    self.deadline = deadline
  }

  /// Writes all of `records`, with as many system calls as that takes.
  ///
  /// - Throws: an ``OutputError``; a file then ends after its last whole record.
  func write(_ records: [OutputRecord]) throws(OutputError) {
    if !hasBegun {
      hasBegun = true
      descriptor.empty()
    }
    var written = 0
    let failure = collect(records.flatMap(\.pieces)[...]) { writeVectors(&written) }
    for record in records {
      guard written >= record.byteCount else { break }
      written -= record.byteCount
      items += record.items
      bytes += record.byteCount
    }
    guard let failure else { return }
    if written > 0 { descriptor.removeLast(written) }
    throw failure
  }

  /// Collects the addresses of all pieces' bytes, which are valid while `body` runs.
  private func collect(
    _ pieces: ArraySlice<OutputRecord.Piece>, _ body: () -> OutputError?
  ) -> OutputError? {
    guard let piece = pieces.first else {
      defer { unsafe vectors.removeAll(keepingCapacity: true) }
      return body()
    }
    switch piece {
    case .bytes(let buffer):
      return unsafe buffer.withUnsafeReadableBytes { bytes in
        if let start = bytes.baseAddress, unsafe !bytes.isEmpty {
          unsafe vectors.append(
            iovec(iov_base: UnsafeMutableRawPointer(mutating: start), iov_len: bytes.count))
        }
        return collect(pieces.dropFirst(), body)
      }
    case .planes(let frame):
      return withExtendedLifetime(frame) {
        for plane in 0..<frame.planeCount { appendRows(of: frame, plane: plane) }
        return collect(pieces.dropFirst(), body)
      }
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

  private func writeVectors(_ written: inout Int) -> OutputError? {
    unsafe vectors.withUnsafeMutableBufferPointer { vectors in
      var first = 0
      while first < vectors.count {
        let count = min(vectors.count - first, Self.maximumVectors)
        let result = unsafe writev(
          descriptor.number, UnsafePointer(vectors.baseAddress?.advanced(by: first)), Int32(count))
        switch (result, errno) {
        case (1..., _):
          written += result
          unsafe Self.skip(result, in: vectors, first: &first)
        case (0, _): return .writeFailed(errno: EIO)
        case (_, EINTR): continue
        case (_, EAGAIN):
          guard waitForReader() else { return .readerTooSlow }
        case (_, EPIPE): return .readerGone
        case (_, let error): return .writeFailed(errno: error)
        }
      }
      return nil
    }
  }

  /// Advances past `count` written bytes, into the middle of a vector if need be.
  private static func skip(
    _ count: Int, in vectors: UnsafeMutableBufferPointer<iovec>, first: inout Int
  ) {
    var left = count
    while left > 0, first < vectors.count {
      let length = unsafe vectors[first].iov_len
      if left >= length {
        left -= length
        first += 1
      } else {
        unsafe vectors[first].iov_base = vectors[first].iov_base?.advanced(by: left)
        unsafe vectors[first].iov_len = length - left
        left = 0
      }
    }
  }

  /// Waits until the pipe takes more or has lost its reader, which the next write reports.
  ///
  /// - Returns: false when the deadline has passed first.
  private func waitForReader() -> Bool {
    while true {
      if let deadline = deadline(), Instant.now >= deadline { return false }
      var request = pollfd(fd: descriptor.number, events: Int16(POLLOUT), revents: 0)
      if unsafe poll(&request, 1, Self.patience) > 0 { return true }
    }
  }
}
