import NIOCore

/// The page itself: its files are in the program.
enum PageFiles {
  /// Adds a route for each file.
  static func add(to routes: inout Routes) {
    for (path, kind, bytes) in files {
      let body = ByteBuffer(bytes: bytes)
      routes.add("/\(path)") { _ in Answer(contentType: kind.rawValue, body: body) }
    }
  }

  private enum Kind: String {
    case page = "text/html; charset=utf-8"
    case style = "text/css; charset=utf-8"
    case script = "text/javascript; charset=utf-8"
    case image = "image/svg+xml"
  }

  private static let files: [(path: String, kind: Kind, bytes: [UInt8])] = [
    ("", .page, PackageResources.index_html),
    ("page.css", .style, PackageResources.page_css),
    ("icon.svg", .image, PackageResources.icon_svg),
    ("main.js", .script, PackageResources.main_js),
    ("feed.js", .script, PackageResources.feed_js),
    ("camera.js", .script, PackageResources.camera_js),
    ("picture.js", .script, PackageResources.picture_js),
    ("codecs.js", .script, PackageResources.codecs_js),
    ("mse.js", .script, PackageResources.mse_js),
    ("boxes.js", .script, PackageResources.boxes_js),
    ("jpeg.js", .script, PackageResources.jpeg_js),
    ("sound.js", .script, PackageResources.sound_js),
    ("full.js", .script, PackageResources.full_js),
    ("graph.js", .script, PackageResources.graph_js),
    ("units.js", .script, PackageResources.units_js),
  ]
}
