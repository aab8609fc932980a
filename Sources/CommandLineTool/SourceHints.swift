import RTPProcessor
import Receiver
import Reception
import Transports

/// What the transport of a source tells a person by the counters of a run.
struct SourceHints: Sendable {
  private let hints: [TransportHint]
  private let source: String
  private let options: TransportOptions

  /// `source` is shown without a password.
  init(_ hints: [TransportHint], source: String, options: TransportOptions) {
    (self.hints, self.source, self.options) = (hints, source, options)
  }

  /// The most telling hint for `occasion`; `nil` if none holds.
  func first(_ occasion: TransportHint.Occasion, _ status: Receiver.Status) -> String? {
    all(occasion, status).first?.words
  }

  /// All hints for `occasion` that hold, each with its place among all that there are.
  func all(
    _ occasion: TransportHint.Occasion, _ status: Receiver.Status
  ) -> [(place: Int, words: String)] {
    let situation = TransportHint.Situation(
      source: source, options: options, counters: status.transport,
      received: status.stream?.reception.received ?? 0)
    return hints.enumerated().compactMap { place, hint in
      guard hint.occasion == occasion else { return nil }
      return hint.words(situation).map { (place, $0) }
    }
  }
}
