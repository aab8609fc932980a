import Defragment
import RTPWire

extension Reception.Configuration {
  /// What the video's stream has to know: without a use for it, nothing of sound.
  var video: VideoStream.Configuration {
    var stream = stream
    if !wantsSound { stream.formats = FormatCatalogue(stream.formats.formats, sound: []) }
    if saidSound != nil { stream.media = MediaDescription() }
    return stream
  }

  /// The media, where the user says that it is sound by itself.
  var saidSound: MediaDescription? {
    let media = stream.media
    return wantsSound && media.kind == .audio && stream.formats.knowsSound(media) ? media : nil
  }
}

extension Reception {

  /// What is wanted of a run, across all of its connections.
  public struct Configuration: Sendable {
    /// What is known of the video, and the reorder window.
    public var stream = VideoStream.Configuration()
    /// How long to wait for the first media, opening included; `nil` waits forever.
    public var firstMediaTimeout: Duration?
    /// How long media may pause, reconnections included; `nil` waits forever.
    public var silenceTimeout: Duration?
    /// Ends the run this long after the first packet.
    public var duration: Duration?
    /// How long media may pause before a connection counts as dead and is replaced; `nil` if there
    /// is no reconnection.
    public var reconnectionSilence: Duration?
    /// Whether anybody takes pictures.
    ///
    /// If nobody does, sound alone keeps a connection alive, and video of an unknown codec beside
    /// it does not end the session.
    public var wantsPictures = true
    /// Whether sound by itself is a stream that somebody can use.
    public var wantsSound = true

    /// How long packets may gather before they are read, once media flows; `nil` if not at all.
    ///
    /// This saves most of the processor time of a recording. It delays everything else, so it is
    /// wrong where somebody waits for pictures or measures arrivals.
    public var gatheringTime: Duration?

    public init() {}
  }
}
