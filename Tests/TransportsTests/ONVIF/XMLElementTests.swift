import Foundation
import TestSupport
import Testing

@testable import Transports

struct XMLElementTests {
  private static let document = "<a:A xmlns:a='urn:a' x='1' b:y='2'><B>t</B><c:B/></a:A>"

  private static let inUTF16: [UInt8] =
    [0xFF, 0xFE] + document.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
  private static let sorts: [[UInt8]] = [
    Array(document.utf8), [0xEF, 0xBB, 0xBF] + Array(document.utf8), inUTF16,
    Array("\r\n  <?xml version=\"1.0\" standalone=\"yes\"?>\(document)\0\0x".utf8),
    Array("\(document)</html>".utf8),
    Array("<?xml version='1.0' encoding='ISO-8859-1'?>\(document)".utf8),
  ]

  @Test(
    "a document is read, whatever its prefixes, encoding and surroundings", arguments: sorts)
  func documents(bytes: [UInt8]) throws {
    let element = try XMLElement(parsing: bytes)
    #expect(element.name == "A")
    #expect(element.attributes == ["x": "1", "y": "2"])
    #expect(element.children.map(\.name) == ["B", "B"])
    #expect(element["B"]?.text == "t")
  }

  @Test func textIsUnescapedAndTrimmed() throws {
    let element = try XMLElement(
      parsing: Array("<u>\n rtsp://h/a?b=1&amp;c=&#x32;<!-- no --><![CDATA[&d]]>\n</u>".utf8))
    #expect(element.text == "rtsp://h/a?b=1&c=2&d")
  }

  @Test func whatIsEscapedIsReadAsItWas() throws {
    let text = "a&b<c>\"d'\te\u{7}"
    let element = try XMLElement(parsing: Array("<u a=\"\(text.escapedForXML)\"/>".utf8))
    #expect(element.attributes["a"] == "a&b<c>\"d'\te")
  }

  struct Harm: Sendable, CustomTestStringConvertible {
    let text: String
    let fault: XMLFault

    init(_ text: String, _ fault: XMLFault) { (self.text, self.fault) = (text, fault) }

    var testDescription: String { String(text.prefix(60)) }
  }

  private static let harms: [Harm] = [
    Harm("<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;'>]><l>&b;</l>", .documentType),
    Harm("<!DOCTYPE l SYSTEM 'file:///etc/passwd'><l/>", .documentType),
    Harm("<!DOCTYPE l [<!ENTITY x SYSTEM 'http://127.0.0.1/'>]><l>&x;</l>", .documentType),
    Harm("<!DOCTYPE html><html></html>", .documentType),
    Harm(String(repeating: "<a>", count: 1_000_000), .tooComplex),
    Harm("<a>" + String(repeating: "<b/>", count: 100_000) + "</a>", .tooComplex),
    Harm("<a " + (0..<1000).map { "a\($0)='' " }.joined() + "/>", .tooComplex),
    Harm("<a>" + String(repeating: " ", count: 5 << 20) + "</a>", .tooLong(limit: 4 << 20)),
    Harm("<l>&undeclared;</l>", .malformed), Harm("", .malformed), Harm("<a><b></a>", .malformed),
    Harm("no XML at all", .malformed), Harm("<a>\u{0}</a>", .malformed),
  ]

  @Test("what is meant to do harm is refused", arguments: harms)
  func hostile(_ harm: Harm) {
    #expect(throws: harm.fault) { try XMLElement(parsing: Array(harm.text.utf8)) }
  }

  @Test func whatWasCutIsRefused() {
    let original = Array(Self.document.utf8)
    for count in original.indices {
      #expect(throws: XMLFault.malformed) { try XMLElement(parsing: original.prefix(count)) }
    }
  }

  @Test func anyBytesAreReadOrRefused() {
    func count(_ element: XMLElement) -> Int { 1 + element.children.map(count).reduce(0, +) }
    var random = SeededGenerator(seed: 7)
    let original = Array(Self.document.utf8)
    var (read, refused) = (0, 0)
    for _ in 0..<2000 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      do throws(XMLFault) {
        let element = try XMLElement(parsing: bytes)
        // Each has a beginning.
        #expect(count(element) <= bytes.count { $0 == UInt8(ascii: "<") })
        read += 1
      } catch {
        #expect(error == .malformed)
        refused += 1
      }
    }
    #expect(read > 0 && refused > 1000, "\(read) read, \(refused) refused")
  }
}
