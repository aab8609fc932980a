import Foundation
import Testing

@testable import Outputs

@Suite struct JSONLineTests {
  @Test("members of every kind, in their order")
  func members() {
    var inner = JSONLine()
    inner.add("n", 1)
    var line = JSONLine()
    #expect(line.text == "{}")
    line.add("integer", UInt64.max)
    line.add("none", Int?.none)
    line.add("number", -0.0625)
    line.add("rounded", 2.5, digits: 0)
    line.add("infinite", .infinity)
    line.add("text", "a b")
    line.add("no text", String?.none)
    line.add("flag", true)
    line.add("texts", ["a", "b"])
    line.add("no texts", [String]())
    line.add("object", inner)
    line.add("objects", [inner, JSONLine(), inner])
    #expect(
      line.text
        == #"{"integer":18446744073709551615,"none":null,"number":-0.063,"rounded":3,"#
        + #""infinite":null,"text":"a b","no text":null,"flag":true,"texts":["a","b"],"#
        + #""no texts":[],"object":{"n":1},"objects":[{"n":1},{},{"n":1}]}"#)
  }

  @Test(
    "a name from the far end is data, and controls no terminal",
    arguments: [
      ("plain ~", "plain ~"), (#"a"b\c"#, #"a\"b\\c"#), ("\u{0}\u{1B}[31m", #"\u0000\u001b[31m"#),
      ("\u{7F}", #"\u007f"#), ("Zürich 門", "Zürich 門"), ("\u{202E}evil", #"\u202eevil"#),
      ("\u{2028}\n", #"\u2028\u000a"#), ("😀", "😀"), ("", ""),
    ])
  func texts(_ text: String, _ quoted: String) throws {
    var line = JSONLine()
    line.add(text, text)
    #expect(line.text == "{\"\(quoted)\":\"\(quoted)\"}")
    let read = try JSONSerialization.jsonObject(with: Data(line.text.utf8)) as? [String: String]
    #expect(read == [text: text])
  }
}
