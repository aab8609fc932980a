internal import Glibc

extension SessionDescription {
  /// Reads and parses the file at `path`, up to the limit.
  public init(contentsOf path: String) throws(TransportError) {
    guard let file = unsafe fopen(path, "re") else {
      throw .fileUnreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    defer { unsafe fclose(file) }
    // Unbuffered, because keys in the file would remain in the stream's buffer.
    unsafe setvbuf(file, nil, _IONBF, 0)
    var status = stat()
    let isExposed =
      unsafe fstat(fileno(file), &status) != 0
      || status.st_mode & S_IFMT == S_IFREG && status.st_mode & (S_IRWXG | S_IRWXO) != 0
    var bytes = [UInt8](repeating: 0, count: Self.maximumLength + 1)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    bytes.removeLast(bytes.count - count)
    guard unsafe ferror(file) == 0 else {
      throw .fileUnreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    do { try self.init(wiping: &bytes) } catch { throw .sessionDescription(error) }
    self.isExposed = isExposed
  }
}
