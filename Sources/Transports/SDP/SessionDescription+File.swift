internal import Glibc

extension SessionDescription {
  /// Reads and parses the file at `path`, of which no more than the limit is read.
  init(contentsOf path: String) throws(TransportError) {
    guard let file = unsafe fopen(path, "re") else {
      throw .fileUnreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    defer { unsafe fclose(file) }
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.maximumLength + 1) { buffer, count in
      unsafe count = fread(buffer.baseAddress, 1, buffer.count, file)
    }
    guard unsafe ferror(file) == 0 else {
      throw .fileUnreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    do { try self.init(parsing: bytes) } catch { throw .sessionDescription(error) }
  }
}
