import NIOCore
import Testing

@testable import Transports

struct RTSPMessageTests {
  @Test func aRequestIsALineItsFieldsAndAnEmptyLine() {
    var request = RTSPRequest(method: "SETUP", uri: "rtsp://camera/live/track1")
    request.headers.add("CSeq", "3")
    request.headers.add("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1")
    #expect(
      String(buffer: request.encoded()) == "SETUP rtsp://camera/live/track1 RTSP/1.0\r\nCSeq: 3\r\n"
        + "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n")
  }

  @Test func aBodyHasALength() {
    let request = RTSPRequest(method: "SET_PARAMETER", uri: "*", body: [0x61, 0, 0x0A])
    #expect(
      String(buffer: request.encoded())
        == "SET_PARAMETER * RTSP/1.0\r\nContent-Length: 3\r\n\r\na\0\n")
  }

  @Test func aResponseRepeatsWhatItIsGiven() {
    var response = RTSPResponse(status: 200, reason: "OK")
    response.headers.add("CSeq", "9")
    #expect(String(buffer: response.encoded()) == "RTSP/1.0 200 OK\r\nCSeq: 9\r\n\r\n")
  }

  /// Also UTF-8 of a character that stands for a byte elsewhere.
  @Test(
    arguments: [
      Array("T\u{FC}r 門".utf8), [0x54, 0xFC, 0x72], Array("\u{F7E9}".utf8), Array(0x20...0xFF),
    ] as [[UInt8]])
  func theBytesOfAFieldOutliveItsText(bytes: [UInt8]) {
    #expect(String(headerBytes: bytes).headerBytes == bytes)
  }

  /// Every text of a message that a server or a person may have a part in.
  @Test(arguments: ["\r\nX: y", "\nX: y", "\rX: y", "\0X: y", "\u{7F}X: y", "\r\n\r\n$X: y"])
  func nothingInAMessageBeginsAnotherLine(text: String) {
    var request = RTSPRequest(method: "PLAY" + text, uri: "rtsp://c/" + text)
    request.headers.add("Session" + text, "1" + text)
    var response = RTSPResponse(status: 200, reason: "OK" + text)
    response.headers.add("CSeq", "1" + text)
    for (bytes, lines) in [(request.encoded(), 3), (response.encoded(), 3)] {
      let view = bytes.readableBytesView
      let breaks = view.filter { $0 == 0x0A }.count
      #expect(breaks == lines)
      #expect(view.filter { $0 == 0x0D }.count == lines)
      #expect(!view.contains { $0 < 0x20 && $0 != 0x0A && $0 != 0x0D || $0 == 0x7F })
    }
  }

  @Test func aRequestLineHasThreeWords() {
    let request = RTSPRequest(method: "PLAY", uri: "rtsp://c/a b RTSP/1.0 c")
    #expect(String(buffer: request.encoded()) == "PLAY rtsp://c/abRTSP/1.0c RTSP/1.0\r\n\r\n")
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func noTextBreaksTheFraming(seed: UInt64) {
    var mutations = TextMutations(seed: seed, "12345\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n")
    for _ in 0..<200 {
      var request = RTSPRequest(method: "PLAY", uri: mutations.next())
      request.headers.add("Session", mutations.next())
      let lines = request.encoded().readableBytesView.split(
        separator: 0x0A, omittingEmptySubsequences: false)
      #expect(lines.count == 4)
      #expect(lines[2] == [0x0D])
      #expect(lines[0].filter { $0 == 0x20 }.count == 2)
    }
  }
}
