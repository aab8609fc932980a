import Testing

@testable import Transports

/// What the headers of a response say.
struct HTTPHeadTests {
  private func head(_ lines: [String]) -> HTTPHead {
    var head = HTTPHead()
    for line in lines + [""] {
      let isTaken = head.append(Array((line + "\r\n").utf8))
      #expect(isTaken)
    }
    return head
  }

  private static let rows: [(lines: [String], objection: HTTPError?)] = [
    (["HTTP/1.1 200 OK", "Content-Type: video/rtp"], nil),
    (["HTTP/1.1 200 OK", "content-type:VIDEO/RTP; charset=x"], nil),
    (["HTTP/2 200", "content-type: application/octet-stream"], nil),
    (["HTTP/1.0 200"], nil),
    (["HTTP/1.1 200 OK", "Content-Encoding: identity", "Content-Type: video/rtp"], nil),
    (["HTTP/1.1 200 OK", "Content-Encoding: gzip"], .encoded("gzip")),
    (["HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8"], .webPage),
    (["HTTP/1.1 200 OK", "Content-Type: video/mp4"], .otherContent(type: "video/mp4")),
    (["HTTP/1.1 204 No Content"], .noContent),
    (["HTTP/1.1 206 Partial Content"], .refused(status: 206, retryAfter: nil)),
    (["HTTP/1.1 404 Not Found"], .refused(status: 404, retryAfter: nil)),
    (["HTTP/1.1 503 Busy", "Retry-After: 7"], .refused(status: 503, retryAfter: 7)),
    (["HTTP/1.1 503 Busy", "Retry-After: -7"], .refused(status: 503, retryAfter: nil)),
    (
      ["HTTP/1.1 503 Busy", "Retry-After: 99999999999"],
      .refused(status: 503, retryAfter: 86_400)
    ),
    (
      ["HTTP/1.1 503 Busy", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"],
      .refused(status: 503, retryAfter: nil)
    ),
    (["HTTP/1.1 banana"], .refused(status: 0, retryAfter: nil)),
  ]

  @Test(arguments: rows)
  func aResponseIsAStreamOrSaysWhyNot(row: (lines: [String], objection: HTTPError?)) {
    let head = head(row.lines)
    #expect(head.isComplete)
    #expect(head.objection == row.objection)
  }

  @Test func aSessionDescriptionIsToBeGivenAsAFile() {
    let head = head(["HTTP/1.1 200 OK", "Content-Type: application/sdp; charset=utf-8"])
    #expect(head.objection.map { "\($0)".contains("save it, and give the file") } == true)
  }

  @Test func anInterimResponseIsForgotten() {
    let head = head(["HTTP/1.1 100 Continue", "Content-Type: text/html", "", "HTTP/1.1 200 OK"])
    #expect(head.status == 200)
    #expect(head.objection == nil)
  }

  @Test func headersWithoutEndAreGivenUp() {
    var head = HTTPHead()
    let isTaken = head.append(Array("HTTP/1.1 200 OK\r\n".utf8))
    #expect(isTaken)
    var lines = 0
    while head.append(Array("X-Filler: 0123456789\r\n".utf8)) { lines += 1 }
    #expect(lines == (HTTPHead.limit - 17) / 22)
  }
}
