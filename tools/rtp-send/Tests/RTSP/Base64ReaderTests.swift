import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

@Suite struct Base64ReaderTests {
  /// Each message is a text by itself, and pieces end anywhere.
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func textsInARowInPieces(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    var plain: [UInt8] = []
    var text = Data()
    for _ in 0..<40 {
      let message = (0..<Int.random(in: 0...70, using: &dice)).map { _ in
        UInt8.random(in: 0...255, using: &dice)
      }
      plain += message
      text += Data(message).base64EncodedData(
        options: seed % 2 == 0 ? [] : [.lineLength64Characters, .endLineWithCarriageReturn])
    }
    var reader = Base64Reader()
    var read: [UInt8] = []
    while !text.isEmpty {
      let piece = text.prefix(Int.random(in: 1...9, using: &dice))
      text = text.dropFirst(piece.count)
      read += reader.read(ByteBuffer(bytes: piece)).map { Array($0.readableBytesView) } ?? []
    }
    #expect(read == plain)
  }

  @Test(arguments: [
    ("TWFu", "Man"), ("TWE=", "Ma"), ("TQ==", "M"), ("TQ==TWE=TWFu", "MMaMan"), ("", ""),
    ("T W\r\nFu", "Man"), ("====", ""), ("TWF", ""),
  ])
  func text(text: String, expected: String) {
    var reader = Base64Reader()
    #expect(reader.read(ByteBuffer(string: text)).map { String(buffer: $0) } == expected)
  }

  @Test(arguments: ["T=", "TWFuT===", "TW*u", "TWFu\0", "TW-u", "OPTIONS rtsp://h/ RTSP/1.0"])
  func whatIsNone(text: String) {
    var reader = Base64Reader()
    #expect(reader.read(ByteBuffer(string: text)) == nil)
  }
}
