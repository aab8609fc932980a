import ArgumentParser
import Impairment
import RTPSend
import RTPWire

struct ImpairmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What happens when, by a file (see PLANS), or all the time like wifi, lte, satellite, congested \
      or powerline. The options below hold where the plan does not say otherwise.
      """, valueName: "file|name"),
    transform: { try PlanArgument(parsing: $0) })
  var plan: PlanArgument?

  @Option(
    help: ArgumentHelp(
      "Do as some cameras and servers do; 'list' lists the names. Also in plans: quirk NAME.",
      valueName: "names"), transform: { try QuirkArgument(parsing: $0) })
  var quirk: QuirkArgument?

  @Option(
    help: ArgumentHelp(
      "The share of packets lost one by one, such as 0.05 or 5%.", valueName: "p"),
    transform: ShareArgument.read)
  var loss = 0.0

  @Option(
    help: ArgumentHelp(
      "The share of packets lost in bursts, and their mean length.", valueName: "p,length"),
    transform: SharePair.init(parsing:))
  var burstLoss: SharePair?

  @Option(
    help: ArgumentHelp(
      "The share of packets overtaken by later ones, and by how many at most.",
      valueName: "p,depth"),
    transform: SharePair.init(parsing:))
  var reorder: SharePair?

  @Option(
    help: ArgumentHelp("The share of packets sent twice.", valueName: "p"),
    transform: ShareArgument.read)
  var duplicate = 0.0

  @Option(
    help: ArgumentHelp(
      """
      The standard deviation of a random delay, whose mean is three times that, in ms or with its \
      unit.
      """, valueName: "time"),
    transform: MillisecondsArgument.read)
  var jitter = 0.0

  @Option(
    help: ArgumentHelp("The share of packets that random bytes follow.", valueName: "p"),
    transform: ShareArgument.read)
  var garbage = 0.0

  @Option(
    help: ArgumentHelp(
      "The same number, the same faults and header fields (default: random).", valueName: "n"))
  var seed: UInt64?

  @Option(
    help: ArgumentHelp(
      "Write what became of each packet, and why, as lines of JSON.", valueName: "file"),
    completion: .file())
  var log: String?

  // Only the pattern's pictures can be changed; quirks can be in these places.
  func check(isPattern: Bool, quirksOf places: Set<Quirk.Place>) throws {
    _ = try impairments
    let plan = try plan(over: Impairments())
    if plan.changesPictures, !isPattern {
      throw ValidationError("size and parameter-sets in a plan are for the pattern alone")
    }
    let others = plan.quirksEver.filter { !places.contains($0.place) }
    guard let other = others.min(by: { $0.rawValue < $1.rawValue }) else { return }
    let reason =
      switch other.place {
      case .packets, .payloads: "is of those who make the packets, not of a proxy"
      case .description: "is of descriptions, so it needs --sdp, or rtsp://"
      case .session: "is of the answers of RTSP servers, so it needs rtsp://, here or in a proxy"
      case .tunnel: "is of servers that have RTSP in HTTP, so it needs rtsp:// here"
      }
    throw ValidationError("the quirk \(other.rawValue) \(reason); --quirk list lists the others")
  }

  /// What happens when, where `base` holds all the time.
  func plan(over base: Impairments) throws -> Plan {
    var whole = try PlanText.parse(plan?.text ?? "", over: base)
    whole.quirks = quirk?.quirks ?? []
    return whole
  }

  /// The seed of the networks in a run with this seed, the same for a sender and for a proxy: what
  /// is drawn behind the SSRC, the sequence number and the timestamp.
  static func networkSeed(of seed: UInt64) -> UInt64 {
    var dice = SplitMix64(seed: seed)
    for _ in 0..<3 { _ = dice.next() }
    return dice.next()
  }

  var impairments: Impairments {
    get throws {
      var impairments = Impairments()
      impairments.loss = loss
      impairments.duplication = duplicate
      impairments.garbage = garbage
      if jitter > 0 { impairments.delay = .disorderly(jitter: Int64(jitter * 1_000_000)) }
      if let burstLoss {
        impairments.burstLoss = GilbertElliott(
          probability: burstLoss.share, meanLength: burstLoss.other)
        if impairments.burstLoss == nil {
          throw ValidationError(
            "--burst-loss P,LENGTH needs a LENGTH of 1 or more, and P of at most LENGTH/(LENGTH+1)")
        }
      }
      if let reorder {
        impairments.reordering = Int(exactly: reorder.other).flatMap {
          Impairments.Reordering(probability: reorder.share, depth: $0)
        }
        if impairments.reordering == nil {
          throw ValidationError(
            "--reorder P,DEPTH needs a whole DEPTH of 1 or more")
        }
      }
      return impairments
    }
  }
}
