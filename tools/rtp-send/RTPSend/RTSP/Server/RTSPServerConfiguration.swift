public import Impairment
import NIOCore

/// Streams that are served by RTSP from one address.
public struct RTSPServerConfiguration: Sendable {
  public var streams: [ServedStream]
  public var host: String
  public var port: Int
  /// For RTSPS.
  public var identity: Identity?
  public var login: RTSPLogin?
  /// Where multicast goes that clients may ask for: each track of what is live has two ports of it.
  public var group: MulticastGroup?
  /// Those of servers, which every connection has.
  public var quirks: Set<Quirk> = []
  /// What the numbers are drawn from with which clients' runs begin.
  public var seed: UInt64 = 0
  /// Whether to end when the first client that played has gone.
  public var servesOnce = false
  /// What clients may have at most.
  var limits = Limits()

  struct Limits: Sendable, Hashable {
    /// All connections; more are closed at once, because a process has not many descriptors.
    var connections = 800
    /// Those of one address, so that nobody alone can keep all others out.
    var connectionsOfOneAddress = 400
    /// The sessions of all connections together.
    var sessions = 1600
    /// The addresses of this machine by which clients come for datagrams.
    var addresses = 32
  }

  /// Files in PEM.
  public struct Identity: Sendable, Hashable {
    public var certificates: String
    public var key: String

    public init(certificates: String, key: String) {
      self.certificates = certificates
      self.key = key
    }
  }

  public init(streams: [ServedStream], host: String, port: Int) {
    self.streams = streams
    self.host = host
    self.port = port
  }
}

/// What is served under one name.
public struct ServedStream: Sendable {
  /// The path, without slashes at its ends.
  public var name: String
  /// How many tracks it has, which is known before what is in them.
  public let trackCount: Int
  /// `nil` before a source has begun that is still being made.
  public internal(set) var content: Content?
  /// Of a file, which each client gets from its beginning; `nil` for what is live, which all
  /// clients see at the same time.
  public var survey: FileSurvey?
  /// Whether every run has the first numbers that are configured, and without a key the SSRC.
  public var keepsNumbers = false
  /// The value of `a=crypto` (RFC 4568), where TLS hides it.
  public var crypto: String?
  /// What tells the content later.
  let awaited: Awaited?

  /// How a stream is sent and described.
  public struct Content: Sendable {
    /// The tracks and how they are sent; the destination does not matter.
    public var sending: SenderConfiguration
    /// With the parameter sets at the beginning.
    public var description: SessionDescription

    public init(_ sending: SenderConfiguration, _ description: SessionDescription) {
      self.sending = sending
      self.description = description
    }
  }

  struct Awaited: Sendable {
    let source: LiveStream
    let content: @Sendable () throws -> Content
  }

  /// A source of which all is known.
  public init(name: String, _ content: Content) {
    self.name = name
    self.content = content
    trackCount = content.sending.tracks.count
    awaited = nil
  }

  /// A source that is still being made.
  ///
  /// As soon as it is known what comes, `content` is called, on any thread; until then, clients
  /// wait for this stream alone.
  public init(
    name: String, trackCount: Int, awaiting source: LiveStream,
    _ content: @escaping @Sendable () throws -> Content
  ) {
    self.name = name
    self.trackCount = trackCount
    awaited = Awaited(source: source, content: content)
  }

  /// The description with the parameter sets in force, if these are known to be others.
  func text(with sets: [Codec.ParameterSet: [ByteBuffer]]?) -> String? {
    guard var description = content?.description else { return nil }
    if let sets { description.description?.parameterSets = sets }
    description.served = SessionDescription.Served(duration: survey?.duration, crypto: crypto)
    return description.text
  }
}
