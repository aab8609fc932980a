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
  /// After so much media, the least delays are known by which sound and pictures are aligned.
  static let settlingTime = Duration.seconds(10)

  /// Lets packets gather, where that is wanted, once nothing is learned from arrivals any more;
  /// but never where what is missing is asked for again.
  mutating func gatherIfSettled() {
    guard let time = configuration.gatheringTime, gatheringTime == 0, !isAttended,
      carrier.canGather,
      carrier.time == .live, flow >= Self.settlingTime, !video.feedback.requests.contains(.nack)
    else { return }
    gatheringTime = max(time.wholeNanoseconds, 0)
    actions.append(.gather(time))
  }

  /// Notes whether somebody waits for what comes: packets do not gather meanwhile.
  public mutating func attend(_ isAttended: Bool) {
    self.isAttended = isAttended
    guard isAttended, gatheringTime > 0 else { return }
    gatheringTime = 0
    actions.append(.gather(.zero))
  }

  /// The time up to which everything that has come is known: what gathers is not read yet, and may
  /// be what a gap waits for.
  var settled: Instant { now.advanced(byNanoseconds: -gatheringTime) }

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

  /// The properties of what carries a connection's packets.
  public struct Carrier: Sendable, Hashable {
    /// Which clock the packets follow.
    public enum Time: Sendable, Hashable {
      /// The machine's clock: what does not come in time is late.
      case live
      /// The recording's clock: whatever is due comes out before the next packet.
      case recorded
    }

    /// Which clock its packets follow.
    public var time: Time
    /// Whether this side only waits for a far end that begins when it likes.
    public var isPassive: Bool
    /// The pause after which the carrier ends by itself; `nil` if it never does.
    public var longestSilence: Duration?
    /// Whether it lets packets gather when told to (``Action/gather(_:)``).
    public var canGather: Bool

    public init(
      time: Time = .live, isPassive: Bool = false, longestSilence: Duration? = nil,
      canGather: Bool = false
    ) {
      self.time = time
      self.isPassive = isPassive
      self.longestSilence = longestSilence
      self.canGather = canGather
    }
  }

  /// How a carrier ended.
  public enum CarrierEnd: Sendable {
    /// The far end finished normally.
    case ended
    /// It broke; the error says why.
    case failed(any Error)
    /// This side closed it.
    case closed
  }

  /// The tracks of a previous connection, and what was known of them.
  struct Former: Sendable {
    let video: VideoStream
    let others: [Track]
    let status: StreamStatus

    /// What `former` leaves; where nothing came on its connection, what it had from the one before.
    init(of former: Reception) {
      video = former.video
      status = former.status
      others = former.remembered?.others ?? former.others
    }
  }
}

/// A random number generator of any type.
struct AnyRandomness: RandomNumberGenerator, Sendable {
  var base: any RandomNumberGenerator & Sendable

  mutating func next() -> UInt64 { base.next() }
}
