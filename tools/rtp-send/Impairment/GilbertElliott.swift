/// Loss in bursts by the model of Gilbert and Elliott: a chain of a good and a bad state, which
/// takes a step with each packet.
///
/// Hasslinger and Hohlfeld, "The Gilbert-Elliott Model for Packet Loss in Real Time Services on the
/// Internet" (2008), name the parameters; tc-netem takes the same.
public struct GilbertElliott: Sendable, Hashable {
  /// p: the probability of going from the good to the bad state.
  public let beginning: Double
  /// r: the probability of going from the bad to the good state.
  public let ending: Double
  /// 1-h: the share of packets lost in the bad state.
  public let lossInBad: Double
  /// 1-k: the share of packets lost in the good state.
  public let lossInGood: Double

  /// Makes a model of its four probabilities, or `nil` when one is none.
  public init?(p: Double, r: Double, lossInBad: Double = 1, lossInGood: Double = 0) {
    guard [p, r, lossInBad, lossInGood].allSatisfy({ (0...1).contains($0) }) else { return nil }
    beginning = p
    ending = r
    self.lossInBad = lossInBad
    self.lossInGood = lossInGood
  }

  /// Makes a model in which a share of all packets is lost in bursts of a mean length, or `nil`
  /// when no such model exists.
  ///
  /// Bursts of mean length L end with probability 1/L after each packet, and between any two of
  /// them at least one packet arrives, so no more than L/(L+1) of all packets can be lost.
  public init?(probability: Double, meanLength: Double) {
    guard meanLength >= 1, meanLength.isFinite, probability >= 0,
      probability <= meanLength / (meanLength + 1)
    else { return nil }
    beginning = probability / (meanLength * (1 - probability))
    ending = 1 / meanLength
    lossInBad = 1
    lossInGood = 0
  }
}
