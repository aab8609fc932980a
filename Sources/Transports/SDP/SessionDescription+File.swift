internal import BlockingIO

extension SessionDescription {
  /// Reads and parses the file at `path`, up to the limit.
  public init(contentsOf path: String) throws(TransportError) {
    var file: ShortFile
    do {
      file = try ShortFile(at: path, limit: Self.maximumLength)
    } catch { throw .fileUnreadable(path: path, reason: error.reason) }
    do { try self.init(wiping: &file.bytes) } catch { throw .sessionDescription(error) }
    isExposed = file.isExposed
  }
}
