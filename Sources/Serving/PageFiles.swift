import NIOCore

/// The page itself: its files are in the program.
enum PageFiles {
  /// Adds a route for each file.
  static func add(to routes: inout Routes) {
    for (path, type, bytes) in files {
      let body = ByteBuffer(bytes: bytes)
      routes.add(path) { _ in Answer(contentType: type, body: body) }
    }
  }

  private static let files: [(path: String, type: String, bytes: [UInt8])] = [
    ("/", "text/html; charset=utf-8", PackageResources.index_html)
  ]
}
