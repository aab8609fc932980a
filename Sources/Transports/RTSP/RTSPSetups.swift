internal import NIOCore
internal import RTPWire

/// The streams that a session sets up: which ones, with which URLs and transport, and whose frames
/// come on which channel.
struct RTSPSetups: Sendable {
  /// How the media is carried.
  enum Carrier: Sendable, Hashable {
    /// Frames in the RTSP connection.
    case connection
    case udp
    case multicast
  }

  /// Why a stream is set up.
  enum Role: Sendable, Hashable {
    /// It is the stream that must not fail.
    case selected
    /// It is played with the selected one, if possible.
    case accompanying
    /// It carries the retransmissions of a track (RFC 4588 §5.3).
    case retransmission
    /// It is set up only because the device demands it.
    case unwanted
  }

  /// A stream that is set up.
  struct Setup: Sendable, Hashable {
    /// Its index in the description.
    let media: Int
    let role: Role
    /// The track that it belongs to: a place in ``RTSPSetups/tracks``.
    let track: Int
    /// The URLs for SETUP, in the order in which they are tried.
    let urls: [String]
    /// Its local ports over UDP.
    var ports: RTSPSession.ClientPorts?
    fileprivate let profile: String
    fileprivate let group: RTSPSession.Ports?
    fileprivate let channel: UInt8
  }

  /// The result of a SETUP.
  enum Answer: Sendable, Hashable {
    /// The first requested channel, and the first one that the server uses; `nil` when it does not
    /// say, and uses the requested ones.
    case interleaved(asked: UInt8, given: UInt8?)
    case serverPorts(RTSPSession.ServerPorts)
    case group(RTSPSession.Ports)
    /// The server sends in the connection although UDP was requested.
    case interleavedInstead
    case unusable
  }

  private(set) var carrier: Carrier
  /// The channels of all streams.
  private(set) var assignedChannels: [UInt8] = []
  /// The indices, in the description, of the streams that are delivered.
  private(set) var tracks: [Int] = []
  /// The indices, in the description, of streams that cannot be set up, because they have no URL.
  private(set) var streamsWithoutURL: [Int] = []
  /// The channels on which RTCP goes back, by track.
  private var feedbackChannels: [Int: UInt8] = [:]

  /// The track of ``selected``; kept, because it is asked for with each packet.
  private(set) var selectedTrack: Int?

  private var setups: [Setup] = [] {
    didSet { selectedTrack = selected?.track }
  }
  private var position = 0
  /// Which of its URLs a stream is tried with; the form that one stream accepts is used for all.
  private var form = 0
  private var acceptedForm = 0
  private var routes = [RTSPSession.Route](repeating: .unassigned, count: 256)
  /// Channels of RTCP that no answer names, by track: another track whose answer names one has it.
  private var impliedChannels: [Int: UInt8] = [:]

  init(carrier: Carrier) { self.carrier = carrier }

  /// The next stream to set up; `nil` when all are set up.
  var current: Setup? { setups.indices.contains(position) ? setups[position] : nil }

  var selected: Setup? { setups.first { $0.role == .selected } }

  func feedbackChannel(ofTrack track: Int) -> UInt8? { feedbackChannels[track] }

  /// The URL of ``current`` to try next.
  var url: String? { current.flatMap { $0.urls.dropFirst(form).first ?? $0.urls.last } }

  /// The Transport field of a SETUP for ``current`` (RFC 2326 §12.39).
  var transport: String {
    guard let current else { return "" }
    switch carrier {
    case .connection:
      return "\(current.profile)/TCP;unicast;interleaved=\(current.channel)-\(current.channel + 1)"
    case .udp:
      let ports = current.ports ?? RTSPSession.ClientPorts(media: 0, control: 0)
      return "\(current.profile);unicast;client_port=\(ports.media)-\(ports.control)"
    case .multicast: return "\(current.profile);multicast"
    }
  }

  /// Chooses the streams from a description: the `selected` one, which has a URL, and others.
  ///
  /// - Throws: an error when there is no such stream, or it cannot be received.
  mutating func choose(
    _ selected: Int?, from description: SessionDescription, urls: [[String]],
    configuration: RTSPConfiguration
  ) throws(RTSPError) {
    guard let selected else {
      if case .number(let number) = configuration.selection {
        throw .noSuchStream(number: number)
      }
      throw configuration.soundEncodings.isEmpty ? .noVideo : .noKnownMedia
    }
    let media = description.media
    guard media[selected].rtpProfile != nil else {
      throw .unsupportedProfile(media[selected].profile)
    }
    func hasURL(_ index: Int) -> Bool { urls.indices.contains(index) && !urls[index].isEmpty }
    let wanted = description.tracks(with: selected, of: configuration.selection)
    tracks = wanted.filter(hasURL)
    var choices = choices(from: media, selected: selected)
    if configuration.setsUpEverything { choices += others(than: choices, from: media) }
    streamsWithoutURL = (wanted + choices.map(\.media)).filter { !hasURL($0) }
    choices.removeAll { !hasURL($0.media) }
    restart(over: carrier)
    form = 0
    acceptedForm = 0
    setups = choices.enumerated().map { place, choice in
      Setup(
        media: choice.media, role: choice.role, track: choice.track, urls: urls[choice.media],
        ports: nil, profile: choice.profile, group: media[choice.media].group,
        channel: UInt8(clamping: min(2 * place, 254)))
    }
  }

  /// A stream to set up, if it has a URL.
  private struct Choice {
    let media: Int
    let role: Role
    let track: Int
    let profile: String

    /// Makes none of a stream that is not RTP.
    init?(_ index: Int, _ role: Role, track: Int, from media: [SessionDescription.Media]) {
      guard let profile = media[index].rtpProfile else { return nil }
      (self.media, self.role, self.track, self.profile) = (index, role, track, profile)
    }
  }

  /// The tracks and their retransmissions, in the order of their SETUPs.
  private func choices(from media: [SessionDescription.Media], selected: Int) -> [Choice] {
    // The stream that must not fail comes first, with channels 0 and 1, which every device knows.
    let order = tracks.indices.sorted { tracks[$0] == selected && tracks[$1] != selected }
    return order.flatMap { track in
      let index = tracks[track]
      let role = index == selected ? Role.selected : .accompanying
      return [
        Choice(index, role, track: track, from: media),
        media[index].retransmission.flatMap {
          Choice($0, .retransmission, track: track, from: media)
        },
      ].compactMap(\.self)
    }
  }

  /// The streams that are set up only because a device demands it.
  private func others(
    than choices: [Choice], from media: [SessionDescription.Media]
  ) -> [Choice] {
    media.indices.compactMap { index in
      // Dahua refuses a second client of a back channel completely.
      choices.contains { $0.media == index } || media[index].isBackChannel
        ? nil : Choice(index, .unwanted, track: 0, from: media)
    }
  }

  /// Starts again with nothing set up, over the same or another carrier.
  mutating func restart(over carrier: Carrier) {
    self.carrier = carrier
    position = 0
    for index in setups.indices { setups[index].ports = nil }
    routes = routes.map { _ in .unassigned }
    assignedChannels = []
    feedbackChannels = [:]
    impliedChannels = [:]
  }

  mutating func setPorts(_ ports: RTSPSession.ClientPorts, ofMedia media: Int) {
    guard current?.media == media else { return }
    setups[position].ports = ports
  }

  /// Moves on to the next URL of ``current``; false after the last one, when the form that another
  /// stream accepted is restored.
  mutating func tryNextURL() -> Bool {
    guard let current, form + 1 < current.urls.count else {
      form = acceptedForm
      return false
    }
    form += 1
    return true
  }

  /// Moves on to the next stream.
  mutating func advance() { position += 1 }

  /// Takes over the answer to the SETUP of ``current``; `answer` is `nil` when it has no transport.
  mutating func accept(_ answer: TransportHeader?) -> Answer {
    guard let current else { return .unusable }
    acceptedForm = form
    switch carrier {
    case .connection:
      // The Escam Q6 answers RTP/AVP for TCP, others name no protocol: only the channels count.
      assign(answer?.interleaved, to: current)
      return .interleaved(asked: current.channel, given: answer?.interleaved?.media)
    case .udp:
      if let channels = answer?.interleaved {
        guard current.role == .selected else { return .unusable }
        carrier = .connection
        assign(channels, to: current)
        return .interleavedInstead
      }
      return .serverPorts(
        RTSPSession.ServerPorts(
          media: answer?.serverPort?.media, control: answer?.serverPort?.control))
    case .multicast:
      guard let group = multicastGroup(answer, of: current) else { return .unusable }
      return .group(group)
    }
  }

  /// The most tracks that are set up, each with two sockets over UDP.
  static let maximumTracks = 16

  /// Where a frame on `channel` goes; called for each frame.
  func route(_ channel: UInt8) -> RTSPSession.Route { routes[Int(channel)] }

  private mutating func assign(_ given: TransportHeader.Pair<UInt8>?, to stream: Setup) {
    let media = given?.media ?? stream.channel
    let isSelected = stream.role == .selected
    let isTrack = isSelected || stream.role == .accompanying
    // Some servers answer with channels 0 and 1 whatever was requested.
    func isFree(_ channel: UInt8) -> Bool {
      if isSelected { return true }
      if case .deliver = routes[Int(channel)] { return false }
      return true
    }
    // With one number alone, RTCP still has the next.
    let control = given?.control ?? (media == .max ? nil : media + 1)
    assignedChannels.append(media)
    for (track, channel) in impliedChannels
    where channel == media || channel == given?.control {
      impliedChannels[track] = nil
      feedbackChannels[track] = nil
      routes[Int(channel)] = .unassigned
    }
    if let control, control != media, isFree(control) {
      if let given, given.control == nil { impliedChannels[stream.track] = control }
      routes[Int(control)] = isTrack ? .deliver(.control, track: stream.track) : .unwanted
      assignedChannels.append(control)
      if isTrack { feedbackChannels[stream.track] = control }
    }
    guard isFree(media) else { return }
    // This comes last, so that media wins where a server uses a channel twice.
    routes[Int(media)] =
      switch stream.role {
      case .selected, .accompanying: .deliver(.media, track: stream.track)
      case .retransmission: .deliver(.retransmission, track: stream.track)
      case .unwanted: .unwanted
      }
  }

  /// The group in the answer, or else in the description; other kinds of addresses are refused,
  /// because the receiver would send its membership there.
  private func multicastGroup(_ answer: TransportHeader?, of stream: Setup) -> RTSPSession.Ports? {
    var (group, port, sources) = ("", 0, [String]())
    if case .multicast(let described, let describedPort, let filter)? = stream.group {
      (group, port, sources) = (described, describedPort, filter)
    }
    if let destination = answer?.destination, destination != group {
      group = destination
      sources = []
    }
    port = answer?.port?.media ?? port
    guard (1...65_535).contains(port),
      let address = try? SocketAddress(ipAddress: group, port: port),
      address.isMulticast
    else { return nil }
    return .multicast(group: group, port: port, sources: sources)
  }
}
