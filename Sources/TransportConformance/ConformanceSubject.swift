public import NIOCore
public import Transports

/// A kind of transport to check, and its far ends.
///
/// ```swift
/// @Test func hexLinesConform() async {
///   let report = await checkConformance(of: HexLines())
///   #expect(report.isConforming, "\(report)")
/// }
/// ```
public protocol ConformanceSubject: Sendable {
  /// Its name in the report.
  var name: String { get }
  /// The carrier, and what it does not allow.
  var carrier: Carrier { get }
  /// Starts a separate far end on this machine, which is ready on return.
  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd
}

/// The behaviour of a far end.
public enum FarEndBehaviour: Sendable, Hashable {
  /// It does as it is told.
  case orderly
  /// The same, but each byte is sent by itself, signalling included.
  case byteByByte
  /// As ``orderly``, and then it sends nothing for longer than the transport may be silent, so that
  /// this time may be a short one.
  case pausing
  /// It accepts connections and never sends anything.
  case silent
  /// It does one of ``Carrier/hostilities`` once connected.
  case hostile(String)
}

/// The sending side, driven by the kit; each transport has its own.
public protocol FarEnd: Sendable {
  /// Makes a transport that will receive from this far end; the kit opens it.
  ///
  /// The far end may keep only weak references to the transport.
  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport
  /// Sends whole packets, framed for the carrier, and returns when the carrier has accepted them.
  ///
  /// The first call waits until the transport is ready to receive. If ``Carrier/isPrepared``, it
  /// precedes the making of the transport.
  func send(_ packets: [ByteBuffer]) async throws
  /// The same on one of the ``Carrier/tracks``, counted from 0.
  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws
  /// Sends raw bytes where frames or datagrams are expected; waits as ``send(_:)`` does.
  func sendRaw(_ bytes: ByteBuffer) async throws
  /// Ends normally, after everything sent.
  func finish() async throws
  /// Breaks the carrier, after everything sent.
  func fail() async throws
  /// The received feedback, by compound packet.
  var feedback: [ByteBuffer] { get }
  /// Stops at once, and closes every descriptor.
  func close() async
}

extension FarEnd {
  public func send(_ packets: [ByteBuffer], onTrack track: Int) async throws {
    guard track == 0 else { throw NotProvided(what: "send(_:onTrack:)") }
    try await send(packets)
  }

  public func sendRaw(_ bytes: ByteBuffer) async throws { try await send([bytes]) }
  public func finish() async throws { throw NotProvided(what: "finish()") }
  public func fail() async throws { throw NotProvided(what: "fail()") }
  public var feedback: [ByteBuffer] { [] }
}

/// The error of far-end functions that a subject does not provide.
struct NotProvided: Error, CustomStringConvertible {
  let what: String
  var description: String {
    "the far end does not provide \(what); write it, or name the capability in Carrier.lacks"
  }
}

/// The properties of a carrier that decide what can be required of the transport.
public struct Carrier: Sendable {
  /// Properties that not every carrier has.
  public enum Capability: Sendable, Hashable, CaseIterable {
    /// Packets arrive in the order in which they were sent.
    case order
    /// The far end can be held.
    case backPressure
    /// The far end can signal the end.
    case orderlyEnd
    /// The transport can notice that the carrier has broken.
    case failure
    /// RTCP can be sent back.
    case feedback
    /// The far end describes the media.
    case description
    /// Bytes can come one at a time, because the carrier has no boundaries.
    case byteStream
    /// There is a far end, which can be silent.
    case silence
    /// Bytes that are not packets can come.
    case garbage
  }

  /// The result of opening with a silent far end.
  public enum SilentOpening: Sendable, Hashable {
    /// The transport waits, in `open` or afterwards.
    case waits
    /// `open` throws within this time.
    case givesUp(within: Duration)
  }

  /// The sizes of the smallest and the largest packet, in bytes.
  public var packetSizes = 12...65_535
  /// Up to this one every size is sent, and of the larger ones a sample, those around the powers of
  /// two and the largest among them.
  ///
  /// A transport around others need not repeat what their own checks do with each size.
  public var everySizeUpTo = Int.max
  /// How many bytes can be in flight without loss, counting 1 KiB extra per packet; `nil` for a
  /// carrier that never loses any.
  public var burst: Int?
  /// How many media the far end describes, each on its own channel.
  public var tracks = 1
  /// Whether everything is sent before the transport opens, as with a file.
  public var isPrepared = false
  /// Why the carrier lacks a capability; everything else is checked.
  public var lacks: [Capability: String] = [:]
  /// The names of what ``FarEndBehaviour/hostile(_:)`` can do, such as endless headers.
  public var hostilities: [String] = []
  public var silentOpening = SilentOpening.waits
  /// How long any step may take before it counts as missing.
  public var deadline = Duration.seconds(10)
  /// How long a transport may take to end after a far end that is hostile, ends or fails.
  public var endDeadline = Duration.seconds(15)

  public init() {}
}
