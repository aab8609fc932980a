/// One thing that was measured, with the median of each program.
struct Figure: Codable {
  struct Value: Codable {
    let contender: Contender
    let value: Double
  }

  /// The name of the measurement that it is of.
  let bench: String
  let measure: String
  let unit: String
  let isLowerBetter: Bool
  let values: [Value]

  var ours: Double? { value(of: .ours) }

  func value(of contender: Contender) -> Double? {
    values.first { $0.contender == contender }?.value
  }

  /// The best of the others that do the same.
  var bestRival: Value? {
    let rivals = values.filter { $0.contender.isRival && $0.value.isFinite }
    return rivals.min { isLowerBetter ? $0.value < $1.value : $0.value > $1.value }
  }

  /// How many times better than the best of the others; below 1 it is worse.
  ///
  /// Decibels are compared by their difference.
  var advantage: Double? {
    guard unit != "dB", let ours, let rival = bestRival?.value, ours > 0, rival > 0 else {
      return nil
    }
    return isLowerBetter ? rival / ours : ours / rival
  }

  /// Whether no other is better; `nil` without another.
  var isBest: Bool? {
    guard let ours, let rival = bestRival?.value else { return nil }
    return isLowerBetter ? ours <= rival : ours >= rival
  }

  func shown(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    return number(value, value >= 100 || unit == "packets/s" ? 0 : value >= 10 ? 1 : 2)
  }

  /// How it stands beside the best of the others.
  var comparison: String {
    guard let ours else { return "" }
    guard let rival = bestRival else {
      return value(of: .bare).map { "bare × \(number(ours / $0, 2))" } ?? ""
    }
    if unit == "dB" {
      let difference = ours - rival.value
      return "\(difference < 0 ? "−" : "+")\(number(abs(difference), 1)) dB"
    }
    guard let advantage else { return "" }
    return "\(number(advantage, 2)) ×"
  }
}

extension Figure.Value {
  /// The medians of those of `peers` that figures name.
  static func of(_ peers: [Contender?], _ medians: [Double]) -> [(Contender, Double?)] {
    zip(peers, medians).compactMap { peer, median in peer.map { ($0, median) } }
  }
}
