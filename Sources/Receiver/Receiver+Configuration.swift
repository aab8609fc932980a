public import Decode
public import Defragment
import Outputs
public import Reception
public import Transports

extension Receiver {
  /// What is known of the stream, what is wanted of it, and when to stop.
  public struct Configuration: Sendable {
    /// The description of the media and the reorder window.
    public var stream = VideoStream.Configuration()
    /// Where frames and access units are written.
    public var outputs: [OutputRequest] = []
    /// Whether pictures of another size are scaled to the first one's, where an output cannot
    /// change size.
    public var scalesToFirst = false
    /// What to do with pictures that are not intact.
    public var lossTreatment = LossTreatment.conceal
    /// How many threads decode pictures.
    public var decoderThreads = DecoderThreads.automatic
    /// Has pictures decoded in a process of its own; `nil` for this one.
    ///
    /// The program then calls `DecoderService.runIfAsked(codecs:)` first of all, or names another
    /// one that does.
    public var decoderBox: DecoderBox?
    /// Whether each frame interval gets exactly one frame, whatever was lost.
    ///
    /// Nothing is then dropped for a slow reader: the decoder waits for it, and what that loses is
    /// filled like any other loss.
    public var constantRate = false
    /// Whether frames and sound leave at their own times, instead of when they come.
    public var pacesOutputs = false
    /// How fast a recording plays if outputs are paced; `nil` for its own pace.
    ///
    /// A live source always has its own pace.
    public var playoutRate: Rational?
    /// Ends the run after this many frames, or access units when nothing is decoded.
    ///
    /// Where only recordings want them, only those in a recording count.
    public var frameLimit: UInt64?
    /// Ends the run this long after the first packet of media.
    public var duration: Duration?
    /// How long to wait for the first media, opening included.
    ///
    /// The standard is that of ``silenceTimeout``, but forever where the far end begins when it
    /// likes.
    public var firstMediaTimeout = SilenceLimit.standard
    /// How long media may pause, reconnections included.
    ///
    /// The standard is 10 s, but forever where something else notices: a reconnection, or a
    /// connection whose carrier ends by itself.
    public var silenceTimeout = SilenceLimit.standard
    /// How to reconnect when a connection ends or cannot be opened; `nil` ends the run instead.
    ///
    /// What only goes on in another connection (`TransportFault.continuesInAnotherConnection`) is
    /// followed in any case.
    public var reconnection: Reconnection?
    /// How long packets may gather before they are read, if nobody waits for the result; see
    /// `Reception.Configuration.gatheringTime`.
    public var gatheringTime: Duration?
    /// Whether reports on pictures come with their samples, for hashes.
    public var reportsSamples = false
    /// Called with every access unit on the transport's event loop; must return soon.
    public var onAccessUnit: (@Sendable (AccessUnit) -> Void)?
    /// Called with every unit of the sound on the transport's event loop; must return soon.
    public var onSound: (@Sendable (SoundUnit) -> Void)?
    /// Who else looks on.
    public var onlookers: [Onlooker] = []
    /// Called with every frame on the decoder's thread; the decoder waits meanwhile.
    public var onFrame: (@Sendable (RawFrame) -> Void)?

    /// Looks on while a stream is received: it gets all that comes, and changes nothing of what
    /// others get, of limits and of counters.
    public struct Onlooker: Sendable {
      /// Whether pictures and sound are received for it where nobody else wants them; if not,
      /// it sees what is received for others.
      public var wantsMedia: Bool
      /// Like ``Configuration/onAccessUnit``.
      public var onAccessUnit: @Sendable (AccessUnit) -> Void
      /// Like ``Configuration/onSound``.
      public var onSound: @Sendable (SoundUnit) -> Void

      public init(
        wantsMedia: Bool, onAccessUnit: @escaping @Sendable (AccessUnit) -> Void,
        onSound: @escaping @Sendable (SoundUnit) -> Void = { _ in }
      ) {
        self.wantsMedia = wantsMedia
        (self.onAccessUnit, self.onSound) = (onAccessUnit, onSound)
      }
    }

    /// Whether there is a transport for one connection only.
    var connectsOnce = false

    /// Makes the configuration of a run without outputs, limits or reconnection.
    public init() {}

    /// Whether a closure or an output wants frames.
    var wantsFrames: Bool {
      onFrame != nil || outputs.contains { $0.format.inputs.needDecoding }
    }

    /// Whether recordings alone want pictures, as far as outputs and closures go.
    var onlyRecords: Bool {
      let takers = outputs.filter { $0.format.inputs.contains(.units) }
      return !wantsFrames && onAccessUnit == nil && !takers.isEmpty
        && takers.allSatisfy(\.format.isRecording)
    }

    private var isLookedOn: Bool { onlookers.contains(where: \.wantsMedia) }

    /// Whether a closure or an output wants anything.
    var wantsAnything: Bool {
      wantsFrames || onAccessUnit != nil || onSound != nil || isLookedOn || !outputs.isEmpty
    }

    /// Whether sound by itself is of use: to a closure, to an output, or where nothing is written.
    var wantsSound: Bool {
      onSound != nil || isLookedOn || outputs.isEmpty
        || outputs.contains { $0.format.inputs.contains(.sound) }
    }

    /// Whether a closure or an output wants pictures in any form, or nothing wants anything.
    var wantsPictures: Bool {
      wantsFrames || onAccessUnit != nil || isLookedOn || !wantsAnything
        || outputs.contains { $0.format.inputs.contains(.units) }
    }
  }
}
