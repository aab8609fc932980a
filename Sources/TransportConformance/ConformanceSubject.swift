public import NIOCore
public import Transports

/// A kind of transport whose conformance is checked, and the far ends that it can have.
///
/// ```swift
/// @Test func hexLinesConform() async {
///   let report = await checkConformance(of: HexLines())
///   #expect(report.isConforming, "\(report)")
/// }
/// ```
public protocol ConformanceSubject: Sendable {
  /// What the report calls it.
  var name: String { get }
  /// What carries the packets, and what cannot be asked of that.
  var carrier: Carrier { get }
  /// Starts a far end of its own on this machine, which is ready when this returns.
  func startFarEnd(_ conduct: Conduct) async throws -> any FarEnd
}

/// How a far end behaves.
public enum Conduct: Sendable, Hashable {
  /// It does what it is told.
  case orderly
  /// The same, but each byte goes out by itself, those of the signalling too.
  case byteByByte
  /// It lets itself be connected to, and says nothing at all.
  case silent
  /// It does one of ``Carrier/hostilities`` when it is connected to.
  case hostile(String)
}

/// The side that sends, driven by the kit: one for each transport that is made.
public protocol FarEnd: Sendable {
  /// Makes a transport that is to receive from this far end; the kit opens it.
  ///
  /// Whatever of the transport is kept here is kept weakly.
  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport
  /// Sends whole packets, framed as the carrier does, and returns when the carrier has taken them.
  ///
  /// The first call waits until the transport is ready to receive. Where ``Carrier/isPrepared``, it
  /// is called before the transport is made.
  func send(_ packets: [ByteBuffer]) async throws
  /// The same on one of the ``Carrier/tracks``, counted from 0.
  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws
  /// Sends bytes as they are, where frames or datagrams are expected; waits as ``send(_:)`` does.
  func sendRaw(_ bytes: ByteBuffer) async throws
  /// Ends in order, behind all that was sent.
  func finish() async throws
  /// Breaks the carrier, behind all that was sent.
  func fail() async throws
  /// What came back as feedback, compound by compound.
  var feedback: [ByteBuffer] { get }
  /// Stops at once, and gives back every descriptor.
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

/// A subject leaves out what its carrier needs by what it says of it.
struct NotProvided: Error, CustomStringConvertible {
  let what: String
  var description: String {
    "the far end does not provide \(what); write it, or name the capability in Carrier.lacks"
  }
}

/// What carries the packets, as far as that decides what can be asked of the transport.
public struct Carrier: Sendable {
  /// What not every carrier can have.
  public enum Capability: Sendable, Hashable, CaseIterable {
    /// Packets arrive in the order in which they were sent.
    case order
    /// The far end can be made to wait.
    case backPressure
    /// The far end can say that there will be no more.
    case orderlyEnd
    /// The transport can notice that the carrier has broken.
    case failure
    /// RTCP can be sent back.
    case feedback
    /// The far end describes the media.
    case description
    /// Bytes can come one at a time, since the carrier keeps no boundaries.
    case byteStream
    /// The far end can be silent, because there is one.
    case silence
    /// Bytes that are no packets can come.
    case garbage
  }

  /// What becomes of an opening whose far end says nothing.
  public enum SilentOpening: Sendable, Hashable {
    /// The transport waits for it, in `open` or behind it.
    case waits
    /// `open` throws within this time.
    case givesUp(within: Duration)
  }

  /// Bytes of the smallest and of the largest packet that fit.
  public var packetSizes = 12...65_535
  /// Bytes that can be on the way at once without the carrier losing any, with 1 KiB for each
  /// packet as such; `nil` for a carrier that never loses any.
  public var burst: Int?
  /// How many media the far end describes, each on a channel of its own.
  public var tracks = 1
  /// Whether all that is sent is there before the transport is opened, as in a file.
  public var isPrepared = false
  /// Why the carrier cannot have a capability; whatever is not named here is checked.
  public var lacks: [Capability: String] = [:]
  /// What ``Conduct/hostile(_:)`` can ask for, by name, such as endless headers.
  public var hostilities: [String] = []
  public var silentOpening = SilentOpening.waits
  /// How long any step may take before it counts as missing.
  public var deadline = Duration.seconds(10)
  /// How long the end of a hostile far end, or one that ends or fails, may take.
  public var endDeadline = Duration.seconds(15)

  public init() {}
}
