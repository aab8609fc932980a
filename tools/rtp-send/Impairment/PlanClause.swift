/// The clauses of a plan: a name, and its values.
enum PlanClause {
  /// The forms, as help and errors show them.
  static let forms = [
    "silence", "rate BITS [queue BYTES]", "loss SHARE", "burst-loss SHARE LENGTH",
    "gilbert-elliott P R [LOSS-IN-BAD [LOSS-IN-GOOD]]", "lose N of M", "corrupt SHARE",
    "truncate SHARE", "oversize SHARE", "duplicate SHARE",
    "delay TIME [jitter TIME] [SHAPE] [correlation SHARE] [overtaking]",
    "reorder SHARE DEPTH [within TIME]", "garbage SHARE", "restart", "jump sequence|timestamp N",
    "jump clock TIME", "size WIDTHxHEIGHT", "parameter-sets", "quirk NAME",
  ]

  /// What one clause says; a preset says several things.
  static func parse(_ text: Substring) throws(WordProblem) -> [Plan.Clause] {
    var words = Words(text.split { $0 == " " || $0 == "\t" || $0 == "\r" })
    guard let name = words.next() else {
      throw WordProblem("nothing is said between commas or behind a time")
    }
    if let preset = Preset(rawValue: String(name)) {
      try words.finish(name)
      var clauses: [Plan.Clause] = []
      for part in preset.clauses.split(separator: ",") { clauses += try parse(part) }
      return clauses
    }
    let clause = try clause(name, &words)
    try words.finish(name)
    return [clause]
  }

  private static func clause(
    _ name: Substring, _ words: inout Words
  ) throws(WordProblem) -> Plan.Clause {
    switch name {
    case "silence": return .network(.silence)
    case "rate": return .network(.rate(try rate(&words)))
    case "loss": return .network(.loss(try words.share(name)))
    case "burst-loss": return .network(.burstLoss(try bursts(&words)))
    case "gilbert-elliott": return .network(.burstLoss(try chain(&words)))
    case "lose": return .network(.blockLoss(try block(&words)))
    case "corrupt": return .network(.corruption(try words.share(name)))
    case "truncate": return .network(.truncation(try words.share(name)))
    case "oversize": return .network(.oversize(try words.share(name)))
    case "duplicate": return .network(.duplication(try words.share(name)))
    case "garbage": return .network(.garbage(try words.share(name)))
    case "delay": return .network(.delay(try delay(&words)))
    case "reorder": return .network(.reordering(try reordering(&words)))
    case "restart": return .event(.restart)
    case "parameter-sets": return .event(.parameterSets)
    case "jump": return .event(try jump(&words))
    case "size": return try size(&words)
    case "quirk":
      guard let quirk = words.next().flatMap({ Quirk(rawValue: String($0)) }) else {
        throw WordProblem("quirk takes one of the names that --quirk list shows")
      }
      return .quirk(quirk)
    default:
      // A name may have several forms, one after another.
      let names = forms.reduce(into: [String]()) { names, form in
        let name = String(form.prefix { $0 != " " })
        if names.last != name { names.append(name) }
      }
      let presets = Preset.allCases.map(\.rawValue)
      throw WordProblem("'\(name)' is none of " + (names + presets).joined(separator: ", "))
    }
  }

  private static func rate(_ words: inout Words) throws(WordProblem) -> Impairments.RateLimit {
    let bits = try words.number("rate")
    var queue = Impairments.RateLimit.defaultQueue
    if words.take("queue") { queue = try words.number("queue") }
    guard let limit = Impairments.RateLimit(bitsPerSecond: bits, queue: queue) else {
      throw WordProblem("rate takes 1k to 1T bits a second, and a queue of 100 to 1G bytes")
    }
    return limit
  }

  private static func bursts(_ words: inout Words) throws(WordProblem) -> GilbertElliott {
    let share = try words.share("burst-loss")
    let length = words.next().flatMap { Double($0) } ?? 0
    guard let model = GilbertElliott(probability: share, meanLength: length) else {
      throw WordProblem(
        "burst-loss takes the share that is lost and the mean length of bursts, at least 1; "
          + "the share is at most LENGTH/(LENGTH+1)")
    }
    return model
  }

  private static func chain(_ words: inout Words) throws(WordProblem) -> GilbertElliott {
    let (p, r) = (try words.share("gilbert-elliott"), try words.share("gilbert-elliott"))
    let bad = words.isEmpty ? 1 : try words.share("gilbert-elliott")
    let good = words.isEmpty ? 0 : try words.share("gilbert-elliott")
    guard let model = GilbertElliott(p: p, r: r, lossInBad: bad, lossInGood: good) else {
      throw WordProblem("gilbert-elliott takes shares")
    }
    return model
  }

  private static func block(_ words: inout Words) throws(WordProblem) -> Impairments.BlockLoss {
    let lost = try words.number("lose")
    guard words.take("of"),
      let model = Impairments.BlockLoss(lost, of: try words.number("lose"))
    else { throw WordProblem("lose takes two numbers: lose 3 of 100") }
    return model
  }

  private static func delay(_ words: inout Words) throws(WordProblem) -> Delay {
    var delay = Delay()
    delay.mean = try words.time("delay")
    while let word = words.next() {
      switch word {
      case "jitter": delay.jitter = try words.time("jitter")
      case "correlation": delay.correlation = try words.share("correlation")
      case "overtaking": delay.keepsOrder = false
      default:
        guard let distribution = Delay.Distribution(rawValue: String(word)) else {
          throw WordProblem("delay knows no '\(word)'; it is " + form("delay"))
        }
        delay.distribution = distribution
      }
    }
    guard delay.mean <= Delay.longest, delay.jitter <= Delay.longest else {
      throw WordProblem("delay and jitter are a minute at most")
    }
    return delay
  }

  private static func reordering(
    _ words: inout Words
  ) throws(WordProblem) -> Impairments.Reordering {
    let (share, depth) = (try words.share("reorder"), try words.number("reorder"))
    var limit = Impairments.Reordering.defaultLimit
    if words.take("within") { limit = try words.time("within") }
    guard
      let reordering = Impairments.Reordering(probability: share, depth: depth, within: limit)
    else { throw WordProblem("reorder takes a share, and by how many packets, at least 1") }
    return reordering
  }

  private static func jump(_ words: inout Words) throws(WordProblem) -> Plan.Event {
    let what = words.next()
    let sign: Int64 = words.takeSign() ? -1 : 1
    switch what {
    case "sequence": return .sequenceJump(Int(sign) * (try words.number("jump sequence")))
    case "timestamp":
      return .timestampJump(sign * Int64(try words.number("jump timestamp")))
    case "clock": return .clockJump(sign * (try words.time("jump clock")))
    default: throw WordProblem("jump takes sequence N, timestamp N or clock TIME")
    }
  }

  private static func size(_ words: inout Words) throws(WordProblem) -> Plan.Clause {
    let sides = (words.next() ?? "").split(separator: "x").compactMap { Int($0) }
    guard sides.count == 2, sides.allSatisfy({ $0.isMultiple(of: 2) }),
      (256...8192).contains(sides[0]), (144...8192).contains(sides[1])
    else { throw WordProblem("size takes an even size from 256x144 on, such as 640x360") }
    return .size(width: sides[0], height: sides[1])
  }

  /// The form of the clause with this name.
  static func form(_ name: Substring) -> String {
    forms.first { $0.split(separator: " ").first == name } ?? String(name)
  }

  /// The words of a clause that have not been read.
  private struct Words {
    private var rest: ArraySlice<Substring>

    init(_ words: [Substring]) { rest = words[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func next() -> Substring? { rest.popFirst() }

    mutating func take(_ word: Substring) -> Bool {
      guard rest.first == word else { return false }
      rest.removeFirst()
      return true
    }

    /// Takes the minus of the next number, if it has one.
    mutating func takeSign() -> Bool {
      guard let word = rest.first, word.hasPrefix("-") else { return false }
      rest[rest.startIndex] = word.dropFirst()
      return true
    }

    /// A share such as 0.01 or 1%.
    mutating func share(_ name: Substring) throws(WordProblem) -> Double {
      let word = next() ?? ""
      let number = word.hasSuffix("%") ? Double(word.dropLast()).map { $0 / 100 } : Double(word)
      guard let number, (0...1).contains(number) else {
        throw WordProblem("\(name) needs a share such as 0.01 or 1%; it is " + form(name))
      }
      return number
    }

    /// A time with its unit, such as 40ms.
    mutating func time(_ name: Substring) throws(WordProblem) -> Int64 {
      guard let time = next().flatMap({ PlanText.time($0) }) else {
        throw WordProblem("\(name) needs a time with its unit, such as 40ms; it is " + form(name))
      }
      return time
    }

    /// A whole number, which may have k, M or G behind it.
    mutating func number(_ name: Substring) throws(WordProblem) -> Int {
      let word = next() ?? ""
      let factors: [Character: Double] = ["k": 1e3, "M": 1e6, "G": 1e9]
      let factor = word.last.flatMap { factors[$0] }
      guard let number = Double(factor == nil ? word : word.dropLast()), number >= 0,
        let whole = Int(exactly: (number * (factor ?? 1)).rounded()), whole <= 1_000_000_000_000
      else { throw WordProblem("\(name) needs a number; it is " + form(name)) }
      return whole
    }

    func finish(_ name: Substring) throws(WordProblem) {
      guard let word = rest.first else { return }
      throw WordProblem("'\(word)' is too much behind \(name); it is " + form(name))
    }
  }
}
