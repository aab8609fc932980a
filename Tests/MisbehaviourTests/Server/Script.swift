import Foundation
import TestSupport

/// What a server does, read from a text file, and what is to come of it at the client.
///
/// ```
/// # The first lines say who does this; they are the name of the test.
/// given user viewer              how the client is started; see `Given`
/// expect frames 0-24             what is to come of it; see `Expectation`
///
/// > SETUP                        the next SETUP, once; other requests get the usual answer
/// < 200 OK a response; CSeq and Content-Length are added unless they are given
///   Transport: {transport}       a header line, as it stands behind two spaces
///   | v=0                        a line of the body
/// > PLAY always                  every PLAY; also `with TEXT` and `without TEXT` in its header
/// $ frames 3 channel 4           the next three frames of the clip; see `MediaStep`
/// wait 2.5                       seconds
/// ```
///
/// `> connect` is what happens when a connection opens, `> response` when the client answers a
/// request of the server's. The other steps are those of `Step`. In every text `{name}` stands for
/// what ``ScriptedServer`` knows by that name, `{30*text}` for text thirty times, and `\r`, `\n`,
/// `\0` and `\xFF` for bytes.
struct Script: Sendable {
  var title = ""
  var given: [String: String] = [:]
  var expectations: [Expectation] = []
  var blocks: [Block] = []

  /// What is to come of it.
  enum Expectation: Sendable, Hashable {
    /// Which frames come out, as in `0-9,11`; an exclamation mark follows a damaged one.
    case frames(String)
    /// How the session ends: `finished`, `running`, or the name of the error.
    case end(String)
    /// A deviation that is reported, by its name.
    case report(String)
    /// At least one request of this method has the text in its header, or none has.
    case request(String, with: String, isExpected: Bool)
    /// How many requests of this method come.
    case requests(String, Int)
    /// The session ends within this many seconds of the virtual clock.
    case within(Double)
    /// No text for people has this in it.
    case never(String)
  }

  /// What happens upon a request.
  struct Block: Sendable {
    enum Condition: Sendable, Hashable {
      case once
      case always
      case with(String)
      case without(String)
    }

    var method: String
    var condition: Condition
    var steps: [Step] = []
  }

  indirect enum Step: Sendable, Hashable {
    /// `< 200 OK`, with the lines below it.
    case respond(Message)
    /// `request OPTIONS *`, with the lines below it.
    case request(Message)
    /// `text …`: bytes as they are written.
    case text(String)
    /// `hex 24 00`: bytes.
    case bytes([UInt8])
    /// `garbage 300`: so many bytes, from a seed, without a `$` among them.
    case garbage(Int)
    case media(MediaStep)
    /// `wait 2.5`: seconds; other requests are answered meanwhile.
    case wait(Double)
    /// `repeat 10` … `end`.
    case loop(Int, [Step])
    /// `drip 0.5`: from here on every byte by itself, with so many seconds between.
    case drip(Double)
    /// `standard`: what would have happened without this block.
    case standard
    /// `endings \n`: how lines of messages end from here on.
    case endings(String)
    /// `watchdog 20`: closes the connection when nothing came for this many seconds.
    case watchdog(Double)
    /// `silence`: requests on this connection are ignored from here on.
    case silence
    /// `close`, with a FIN, and `reset`.
    case close
    case reset
  }

  struct Message: Sendable, Hashable {
    var start: String
    var headers: [String] = []
    var body: [String]?
  }

  /// `$ WHAT [COUNT] [channel N] [type N] [ssrc N] [udp] [tcp]`.
  struct MediaStep: Sendable, Hashable {
    enum What: String, Sendable {
      /// The next frames, or all that are left.
      case frames
      /// The next packets.
      case packets
      /// Packets that are lost before they are sent.
      case skip
      /// The last packet once more.
      case again
      /// An RTCP sender report, one with a goodbye, and the bytes behind it as they are.
      case report, goodbye, raw
      /// Back to the first frame.
      case rewind
    }

    var what: What
    var count: Int?
    var options: [String: Int] = [:]
    var bytes: [UInt8] = []
  }

  struct Malformed: Error, CustomStringConvertible {
    let description: String
  }
}

extension Script {
  /// Reads the script in a file of the test's resources.
  init(named name: String) throws {
    let url = Self.folder.appendingPathComponent(name + ".rtsp")
    self = try Script(String(contentsOf: url, encoding: .utf8))
  }

  /// What a server does where a script says nothing else.
  static let usual = Result { try Script(named: "usual") }

  /// The names of all scripts.
  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".rtsp") }.map { String($0.dropLast(5)) }.sorted()
  }()

  static let folder =
    Bundle.module.resourceURL?.appendingPathComponent("Scripts") ?? URL(fileURLWithPath: "Scripts")

  init(_ text: String) throws {
    var reader = ScriptReader()
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      do { try reader.read(String(line)) } catch {
        throw Malformed(description: "line \(number + 1): \(error)")
      }
    }
    self = try reader.finish()
  }
}

/// Reads a script line by line.
struct ScriptReader {
  private var script = Script()
  /// The steps of the block that is being read, and of the loops that are open in it.
  private var open: [(count: Int, steps: [Script.Step])] = []

  mutating func read(_ line: String) throws {
    if line.hasPrefix("  ") { return try extend(with: String(line.dropFirst(2))) }
    var words = line.split(separator: " ").map(String.init)
    guard !words.isEmpty else { return }
    let first = words.removeFirst()
    let rest = String(line.dropFirst(first.count).drop(while: { $0 == " " }))
    switch first {
    case "#":
      if script.blocks.isEmpty, script.given.isEmpty, script.expectations.isEmpty {
        script.title += (script.title.isEmpty ? "" : " ") + rest
      }
    case "given":
      script.given[try word(words, 0)] = words.dropFirst().joined(separator: " ")
    case "expect": script.expectations.append(try Self.expectation(words))
    case ">":
      try closeBlock()
      script.blocks.append(
        Script.Block(method: try word(words, 0), condition: try Self.condition(words)))
      open = [(1, [])]
    case "repeat": open.append((try Self.number(words, 0), []))
    case "end":
      guard open.count > 1, let loop = open.popLast() else { throw malformed("end of no loop") }
      append(.loop(loop.count, loop.steps))
    default: append(try Self.step(first, words, rest))
    }
  }

  mutating func finish() throws -> Script {
    try closeBlock()
    return script
  }

  private mutating func closeBlock() throws {
    guard open.count <= 1 else { throw malformed("a loop is not closed") }
    if let block = open.popLast() { script.blocks[script.blocks.count - 1].steps = block.steps }
  }

  private mutating func append(_ step: Script.Step) {
    if !open.isEmpty { open[open.count - 1].steps.append(step) }
  }

  /// Adds a header or body line to the message above it.
  private mutating func extend(with line: String) throws {
    guard !open.isEmpty, let last = open[open.count - 1].steps.popLast() else {
      throw malformed("a line of no message")
    }
    func extended(_ message: Script.Message) -> Script.Message {
      var message = message
      if line.hasPrefix("|") {
        message.body = (message.body ?? []) + [String(line.dropFirst(line.hasPrefix("| ") ? 2 : 1))]
      } else {
        message.headers.append(line)
      }
      return message
    }
    switch last {
    case .respond(let message): append(.respond(extended(message)))
    case .request(let message): append(.request(extended(message)))
    default: throw malformed("a line of no message")
    }
  }

  private static func step(
    _ first: String, _ words: [String], _ rest: String
  ) throws -> Script.Step {
    switch first {
    case "<": return .respond(Script.Message(start: rest))
    case "request": return .request(Script.Message(start: rest))
    case "text": return .text(rest)
    case "hex": return .bytes(try bytes(words))
    case "garbage": return .garbage(try number(words, 0))
    case "$": return .media(try media(words))
    case "wait": return .wait(try seconds(words))
    case "drip": return .drip(try seconds(words))
    case "standard": return .standard
    case "endings": return .endings(rest)
    case "watchdog": return .watchdog(try seconds(words))
    case "silence": return .silence
    case "close": return .close
    case "reset": return .reset
    default: throw malformed("no step is called '\(first)'")
    }
  }

  private static func media(_ words: [String]) throws -> Script.MediaStep {
    guard let what = words.first.flatMap(Script.MediaStep.What.init) else {
      throw malformed("nothing that '$' can send")
    }
    var step = Script.MediaStep(what: what)
    var words = Array(words.dropFirst())
    if what == .raw {
      step.bytes = try bytes(words)
      return step
    }
    if let count = words.first.flatMap({ Int($0) }) {
      step.count = count
      words.removeFirst()
    }
    while !words.isEmpty {
      let name = words.removeFirst()
      if ["udp", "tcp"].contains(name) {
        step.options[name] = 1
      } else {
        step.options[name] = try number(words, 0)
        words.removeFirst()
      }
    }
    return step
  }

  private static func expectation(_ words: [String]) throws -> Script.Expectation {
    var words = words
    let isExpected = words.first != "no"
    if !isExpected { words.removeFirst() }
    guard words.count >= 2 else { throw malformed("an expectation of nothing") }
    let rest = words.dropFirst().joined(separator: " ")
    switch words[0] {
    case "frames": return .frames(rest)
    case "end": return .end(rest)
    case "report": return .report(rest)
    case "within": return .within(try seconds(Array(words.dropFirst())))
    case "never": return .never(rest)
    case "requests": return .requests(words[1], try number(words, 2))
    case "request":
      return .request(
        words[1], with: words.dropFirst(3).joined(separator: " "), isExpected: isExpected)
    default: throw malformed("nothing is expected by '\(words[0])'")
    }
  }

  private static func condition(_ words: [String]) throws -> Script.Block.Condition {
    let text = words.dropFirst(2).joined(separator: " ")
    switch words.dropFirst().first {
    case nil: return .once
    case "always": return .always
    case "with": return .with(text)
    case "without": return .without(text)
    case .some(let other): throw malformed("no request comes '\(other)'")
    }
  }

  /// Bytes in hexadecimal; `00 * 300` is a byte three hundred times.
  private static func bytes(_ words: [String]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var index = 0
    while index < words.count {
      guard let byte = UInt8(words[index], radix: 16) else { throw malformed("no byte") }
      index += 1
      guard index + 1 < words.count, words[index] == "*" else {
        bytes.append(byte)
        continue
      }
      bytes += [UInt8](repeating: byte, count: try number(words, index + 1))
      index += 2
    }
    return bytes
  }

  private static func number(_ words: [String], _ index: Int) throws -> Int {
    guard index < words.count, let number = Int(words[index]) else { throw malformed("no number") }
    return number
  }

  private static func seconds(_ words: [String]) throws -> Double {
    guard let seconds = words.first.flatMap({ Double($0) }) else { throw malformed("no number") }
    return seconds
  }

  private func word(_ words: [String], _ index: Int) throws -> String {
    guard index < words.count else { throw malformed("a word is missing") }
    return words[index]
  }

  private func malformed(_ text: String) -> Script.Malformed { Self.malformed(text) }

  private static func malformed(_ text: String) -> Script.Malformed {
    Script.Malformed(description: text)
  }
}
