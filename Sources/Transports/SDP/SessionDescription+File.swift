internal import Glibc

extension SessionDescription {
  /// Reads and parses the file at `path`, of which no more than the limit is read.
  public init(contentsOf path: String) throws(TransportError) {
    guard let file = unsafe fopen(path, "re") else {
      throw .fileUnreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: Self.maximumLength + 1)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    bytes.removeLast(bytes.count - count)
    guard unsafe ferror(file) == 0 else {
      throw .fileUnreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    do { try self.init(parsing: bytes) } catch { throw .sessionDescription(error) }
  }
}
