import Foundation
import TestSupport
import Testing

@testable import Transports

struct Base64Tests {
  @Test(arguments: 0...70)
  func everyLength(count: Int) {
    var dice = SeededGenerator(seed: UInt64(count))
    let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &dice) }
    #expect(Data(bytes.base64) == Data(bytes).base64EncodedData())
  }
}
