import NIOCore
import RTPProcessor
import RTPWire

/// The RTCP sent to the far end.
extension Reception {
  /// The reports of one channel, about all tracks on it.
  struct ChannelReports: Sendable {
    /// The place of its media in the description.
    let track: Int
    var reports: ReceiverReports<SplitMix64>

    var deadline: Instant { reports.deadline }
  }

  /// Starts reporting where reports are expected, once both the description and the carrier are
  /// there.
  mutating func openReports() {
    guard openedAt != nil else { return }
    // A far end that takes feedback takes the reports that precede it, signalled or not.
    let mayAsk = carrier.senderListens && !video.feedback.requests.isEmpty
    guard takesReports || mayAsk else {
      reports = []
      return
    }
    let wanted = places.isEmpty ? [0] : places.indices.filter { hasReports(at: $0) }
    var opened: [ChannelReports] = []
    for track in wanted {
      if let former = reports.first(where: { $0.track == track }) {
        opened.append(former)
      } else {
        opened.append(newReports(on: track))
      }
    }
    reports = opened
  }

  /// Each channel has an identifier and intervals of its own, whatever the randomness is.
  private mutating func newReports(on track: Int) -> ChannelReports {
    let own = SplitMix64(seed: randomness.next())
    let reports = ReceiverReports(randomness: own, canonicalName: canonicalName, at: now)
    canonicalName = reports.canonicalName
    return ChannelReports(track: track, reports: reports)
  }

  private func hasReports(at place: Int) -> Bool {
    switch places[place] {
    case .video: true
    case .other: takesReports
    case .untracked: false
    }
  }

  /// The place of the video in the description, or of all tracks without one; `nil` where sound
  /// alone is described.
  private var videoPlace: Int? { places.isEmpty ? 0 : places.firstIndex(of: .video) }

  /// The report blocks for the sources on a channel.
  private func receptions(on track: Int) -> [SourceReception] {
    guard track == videoPlace else {
      guard places.indices.contains(track), case .other(let index) = places[track] else {
        return []
      }
      return others[index].sourceReception.map { [$0] } ?? []
    }
    let found = others.filter { $0.place == nil }.compactMap(\.sourceReception)
    return (video.sourceReception.map { [$0] } ?? []) + found
  }

  /// Sends the reports that are due.
  mutating func sendReports() {
    for index in reports.indices where reports[index].deadline <= now {
      let track = reports[index].track
      let about = receptions(on: track)
      if let report = reports[index].reports.next(at: now, about: about) {
        actions.append(.sendRTCP(report, track: track))
      }
    }
  }

  /// Requests what is missing.
  mutating func sendFeedback() {
    guard let videoPlace, let index = reports.firstIndex(where: { $0.track == videoPlace }) else {
      return
    }
    while let message = video.nextFeedback(at: now) {
      let about = receptions(on: videoPlace)
      let compound = reports[index].reports.feedback(
        message, at: now, about: about, isReduced: video.feedback.acceptsReducedSize)
      actions.append(.sendRTCP(compound, track: videoPlace))
    }
  }

  /// Sends an RTCP BYE (RFC 3550 §6.6).
  mutating func sayGoodbye() {
    for index in reports.indices {
      let track = reports[index].track
      let about = receptions(on: track)
      if let goodbye = reports[index].reports.goodbye(at: now, about: about) {
        actions.append(.sendRTCP(goodbye, track: track))
      }
    }
    reports = []
  }
}
