import Testing

@testable import Transports

struct GivenAddressTests {
  private let device: ServerURL = {
    guard let url = try? ServerURL(parsing: "http://203.0.113.5:8000", as: .http) else {
      fatalError("no URL")
    }
    return url
  }()

  @Test(
    "the host is the one that was asked, and the rest is the camera's",
    arguments: [
      ("rtsp://192.168.1.64:554/a?b=1", "rtsp://203.0.113.5/a?b=1"),
      ("rtsp://192.168.1.64:8554/a", "rtsp://203.0.113.5:8554/a"),
      ("RTSP://admin:x@10.0.0.1/a b", "rtsp://203.0.113.5/a%20b"),
      ("rtsp:///live", "rtsp://203.0.113.5/live"), ("rtsp://0.0.0.0", "rtsp://203.0.113.5"),
      ("rtsp://:554/live", "rtsp://203.0.113.5/live"),
      ("rtsp://fe80::1/live", "rtsp://203.0.113.5/live"),
      ("rtsp://[fe80::1]:5554/live", "rtsp://203.0.113.5:5554/live"),
      ("rtsp://camera:0/live", "rtsp://203.0.113.5/live"),
      ("rtsp://camera:99999/live", "rtsp://203.0.113.5/live"),
      ("rtsps://camera/live", "rtsps://203.0.113.5/live"),
      ("rtsp://evil.example/@10.0.0.1/", "rtsp://203.0.113.5/@10.0.0.1/"),
    ])
  func addresses(given: String, expected: String) throws {
    let address = try #require(GivenAddress(given))
    #expect(address.url(at: device, as: .rtsp)?.description == expected)
  }

  @Test(arguments: [
    "", "camera/live", "file:///etc/passwd", "http://camera/", "rtsp://camera/\r\nX: y",
    "rtsp://camera/%0d%0a", "rtsp://" + String(repeating: "a", count: 5000),
  ])
  func whatIsNoAddressOfAStreamIsNone(given: String) {
    #expect(GivenAddress(given)?.url(at: device, as: .rtsp) == nil)
  }
}
