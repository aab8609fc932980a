/// One track of a session: what is sent, through which network, and to which port.
public struct TrackConfiguration: Sendable {
  public var media: Media
  /// Of this track alone.
  public var impairments: Impairments
  /// How far above the destination's port it goes; 0 for all where tracks share a port.
  public var portOffset: Int

  /// What a track carries.
  public enum Media: Sendable {
    case video(PacketFeed.Configuration)
    case sound(PacketFeed.SoundConfiguration)

    var isVideo: Bool {
      if case .video = self { true } else { false }
    }

    /// What receivers may ask for.
    var feedback: FeedbackConfiguration {
      if case .video(let video) = self { video.feedback } else { FeedbackConfiguration() }
    }

    /// Opens the source.
    func makeFeed() throws -> PacketFeed {
      switch self {
      case .video(let configuration): try PacketFeed(configuration)
      case .sound(let configuration): try PacketFeed(configuration)
      }
    }
  }

  public init(_ media: Media, impairments: Impairments = Impairments(), portOffset: Int = 0) {
    self.media = media
    self.impairments = impairments
    self.portOffset = portOffset
  }
}
