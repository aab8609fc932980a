import RTPWire

/// The numbers with which the runs of a server begin.
///
/// Under a key, no SSRC comes twice: it must not encrypt two packets of the same SSRC and index
/// (RFC 3711 §9.1), and each run begins to count anew.
struct RunNumbers {
  /// Odd, so that each SSRC comes once before the first one comes again, and far from 1, so that
  /// they look drawn.
  private static let step: UInt32 = 0x9E37_79B1

  private var dice: SplitMix64
  private var lastSource: UInt32
  /// Those that were chosen elsewhere.
  private var others: Set<UInt32> = []

  init(seed: UInt64) {
    var dice = SplitMix64(seed: seed)
    lastSource = UInt32(truncatingIfNeeded: dice.next())
    self.dice = dice
  }

  /// Notes that a run has the numbers of `sending`.
  mutating func note(_ sending: SenderConfiguration) {
    others.formUnion(sending.tracks.map(\.media.stream.ssrc))
  }

  /// The same tracks for another run, with other numbers, or with the same ones if it `keeps` them;
  /// but a key is no reason to keep an SSRC.
  mutating func next(
    _ sending: SenderConfiguration, keeps keepsNumbers: Bool
  ) -> SenderConfiguration {
    var sending = sending
    for index in sending.tracks.indices {
      var stream = sending.tracks[index].media.stream
      if !keepsNumbers || sending.tracks[index].media.key != nil { stream.ssrc = nextSource() }
      if !keepsNumbers {
        stream.initialSequence = UInt16(truncatingIfNeeded: dice.next())
        stream.initialTimestamp = UInt32(truncatingIfNeeded: dice.next())
      }
      sending.tracks[index].media.stream = stream
    }
    return sending
  }

  private mutating func nextSource() -> UInt32 {
    repeat { lastSource &+= Self.step } while others.contains(lastSource)
    return lastSource
  }
}

/// The configurations of one sender's runs, which differ only as far as a key demands it.
struct ConfiguredRuns {
  private let configuration: SenderConfiguration
  private var numbers: RunNumbers
  private var hasBegun = false

  init(_ configuration: SenderConfiguration) {
    self.configuration = configuration
    numbers = RunNumbers(seed: UInt64(configuration.tracks.first?.media.stream.ssrc ?? 0))
    numbers.note(configuration)
  }

  mutating func next() -> SenderConfiguration {
    guard hasBegun else {
      hasBegun = true
      return configuration
    }
    return numbers.next(configuration, keeps: true)
  }
}
