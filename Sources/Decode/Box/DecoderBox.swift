import Glibc
import Synchronization

/// Says that libavcodec works in a process of its own, with walls around it: no network, no files,
/// no other processes, and limits.
///
/// What a hostile stream makes of the decoder stays in there. If that process dies, does not answer
/// or grows, another one takes its place at the next key picture.
public struct DecoderBox: Sendable, Hashable {
  /// The program that is started, by default this one.
  ///
  /// It calls ``DecoderService/runIfAsked(codecs:)`` first of all, as `rtp-recv` does.
  public var executable: String
  /// Whether nothing is decoded where a wall cannot be built.
  ///
  /// Otherwise decoding goes on without that wall, or in this process where there can be no other,
  /// and ``DecoderBoxEvent`` says so.
  public var isRequired: Bool
  /// How long an answer may take, without the time in which the process waits for a processor or a
  /// disk that others have.
  package var patience = Duration.seconds(2)
  /// How long it may work on one access unit, or on all that is left, however much it says
  /// meanwhile.
  package var longestWork = Duration.seconds(10)
  /// Bytes of memory for pictures: for 20 of the largest size.
  package var pictureMemory = 2 << 30
  /// The same until a new process is ready, on a busy machine; three times as long by the clock.
  package var startingPatience = Duration.seconds(10)
  /// The least time from the start of one process to that of the next; it grows while processes
  /// come to nothing.
  package var restartPause = Duration.milliseconds(500)

  public init(executable: String = "/proc/self/exe", isRequired: Bool = false) {
    self.executable = executable
    self.isRequired = isRequired
  }

  /// Starts a process ahead, for a decoder that will soon be opened: loading its libraries takes
  /// some 30 ms.
  public func prepare() -> PreparedDecoderBox { PreparedDecoderBox(self) }
}

/// A process for a decoder that will soon be opened, which ends if none is.
public final class PreparedDecoderBox: Sendable {
  private let process: Mutex<BoxProcess?>

  init(_ box: DecoderBox) { process = Mutex(try? BoxProcess(box.executable)) }

  /// Hands over the process, once.
  func take() -> BoxProcess? {
    process.withLock { process in
      defer { process = nil }
      return process
    }
  }
}

/// What happened to a decoder's box.
public enum DecoderBoxEvent: Sendable, Hashable {
  /// The process was ended, or ended by itself, for this cause; another one goes on at the next key
  /// picture.
  case lost(cause: String)
  /// Some walls cannot be built here, for this reason; decoding goes on without them.
  case incomplete(reason: String)
  /// There can be no such process, for this reason; decoding goes on in this one.
  case absent(reason: String)
  /// Nothing can be decoded.
  case failed(DecoderError)
}
