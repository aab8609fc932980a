public import Impairment
import Transports

/// One track of a session: what is sent, through which network, and to which port.
public struct TrackConfiguration: Sendable {
  public var media: Media
  /// What the network of this track does, and when.
  public var plan: Plan
  /// How far above the destination's port it goes; 0 for all where tracks share a port.
  public var portOffset: Int

  /// What a track carries.
  public enum Media: Sendable {
    case video(PacketFeed.Configuration)
    case sound(PacketFeed.SoundConfiguration)

    /// The name of the flow in verdicts.
    var name: String { isVideo ? "video" : "audio" }

    var isVideo: Bool {
      if case .video = self { true } else { false }
    }

    /// The header fields.
    var stream: RTPStream.Configuration {
      get {
        switch self {
        case .video(let video): video.stream
        case .sound(let sound): sound.stream
        }
      }
      set {
        switch self {
        case .video(var video):
          video.stream = newValue
          self = .video(video)
        case .sound(var sound):
          sound.stream = newValue
          self = .sound(sound)
        }
      }
    }

    /// What everything is protected with, if it is.
    var key: SRTPKeyMaterial? {
      switch self {
      case .video(let video): video.key
      case .sound(let sound): sound.key
      }
    }

    /// What receivers may ask for.
    var feedback: FeedbackConfiguration {
      if case .video(let video) = self { video.feedback } else { FeedbackConfiguration() }
    }

    /// Opens the source, to which `plan` happens too.
    func makeFeed(_ plan: Plan) throws -> PacketFeed {
      switch self {
      case .video(let configuration): try PacketFeed(configuration, plan)
      case .sound(let configuration): try PacketFeed(configuration, plan)
      }
    }
  }

  public init(_ media: Media, plan: Plan = Plan(), portOffset: Int = 0) {
    self.media = media
    self.plan = plan
    self.portOffset = portOffset
  }
}
