import Testing
import Transports

@Suite struct SourceArgumentTests {
  @Test(
    "what may be shown of a source, and what not",
    arguments: [
      ("rtsp://camera/a", "rtsp://camera/a", "rtsp://camera/a", nil, nil),
      ("rtsp://joe@camera/a", "rtsp://camera/a", "rtsp://joe@camera/a", "joe", nil),
      ("rtsp://joe:secret@camera/a", "rtsp://camera/a", "rtsp://joe@camera/a", "joe", "secret"),
      ("rtsp://joe:a%40b@camera", "rtsp://camera", "rtsp://joe@camera", "joe", "a@b"),
      ("rtsp://joe:a@b@camera", "rtsp://camera", "rtsp://joe@camera", "joe", "a@b"),
      ("rtsps://:secret@camera/", "rtsps://camera/", "rtsps://@camera/", nil, "secret"),
      ("RTSP://joe:@camera", "RTSP://camera", "RTSP://joe@camera", "joe", ""),
      ("rtsp://camera/a@b", "rtsp://camera/a@b", "rtsp://camera/a@b", nil, nil),
      ("rtsp://camera:554/a@b", "rtsp://camera:554/a@b", "rtsp://camera:554/a@b", nil, nil),
      ("http://[::1]:80/a@b", "http://[::1]:80/a@b", "http://[::1]:80/a@b", nil, nil),
      (
        "rtsp://joe:secret@camera:554/live@hd/x@y", "rtsp://camera:554/live@hd/x@y",
        "rtsp://joe@camera:554/live@hd/x@y", "joe", "secret"
      ),
      (
        "http://joe:se@cret@server/x?mail=a@b", "http://server/x?mail=a@b",
        "http://joe@server/x?mail=a@b", "joe", "se@cret"
      ),
      ("rtsp://joe:se/cret@camera", "rtsp://joe:se/cret@camera", "rtsp://…@camera", nil, nil),
      ("http://joe:secret@server/x", "http://server/x", "http://joe@server/x", "joe", "secret"),
      (
        "rtp://192.0.2.1@232.1.1.1:5004", "rtp://192.0.2.1@232.1.1.1:5004",
        "rtp://192.0.2.1@232.1.1.1:5004", nil, nil
      ),
      (
        "rtp://[2001:db8::1]@[ff3e::1]:5004", "rtp://[2001:db8::1]@[ff3e::1]:5004",
        "rtp://[2001:db8::1]@[ff3e::1]:5004", nil, nil
      ),
      ("joe:secret@camera:554", "joe:secret@camera:554", "…@camera:554", nil, nil),
      ("udp://joe:secret@host:1", "udp://joe:secret@host:1", "udp://…@host:1", nil, nil),
      (
        "udp://host:1/?password=secret", "udp://host:1/?password=secret",
        "udp://host:1/?password=…", nil, nil
      ),
      (
        "pigeon://joe:corn@loft/7?pwd=corn", "pigeon://joe:corn@loft/7?pwd=corn",
        "pigeon://…@loft/7?pwd=…", nil, nil
      ),
      ("camera/live?passwd=secret", "camera/live?passwd=secret", "camera/live?passwd=…", nil, nil),
      (
        "https://cloud/7?Access_Token=secret&profile=2&X-Signature=a=b",
        "https://cloud/7?Access_Token=secret&profile=2&X-Signature=a=b",
        "https://cloud/7?Access_Token=…&profile=2&X-Signature=…", nil, nil
      ),
      ("stream.sdp", "stream.sdp", "stream.sdp", nil, nil),
      ("", "", "", nil, nil),
    ] as [(String, String, String, String?, String?)])
  func division(
    _ text: String, _ bare: String, _ shown: String, _ user: String?, _ password: String?
  ) {
    let source = SourceArgument(text)
    #expect(source.bare == bare)
    #expect(source.shown == shown)
    #expect(source.user == user)
    #expect(source.password == password)
  }

  @Test func theSchemesOfTransportsWithLoginsAreKnown() {
    let kinds = TransportCatalogue.standard.kinds.filter(\.hasLogin)
    #expect(kinds.map(\.name) == ["rtsp", "onvif", "http"])
    for scheme in kinds.flatMap(\.schemes) {
      #expect(SourceArgument("\(scheme)://joe:secret@camera/").password == "secret")
    }
  }
}
