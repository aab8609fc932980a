public import Impairment

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
  /// The tracks and how they are sent; the destination does not matter.
  public var sending: SenderConfiguration
  public var description: SessionDescription
  /// Of a file, which each client gets from its beginning; `nil` for what is live, which all
  /// clients see at the same time.
  public var survey: FileSurvey?
  /// Whether every run of a file has the SSRC and the first numbers that are configured.
  public var keepsNumbers = false

  public init(name: String, sending: SenderConfiguration, description: SessionDescription) {
    self.name = name
    self.sending = sending
    self.description = description
  }

  /// Says in the description where a file ends, and the key if it is not secret otherwise.
  public mutating func describe(crypto: String?) {
    description.served = SessionDescription.Served(duration: survey?.duration, crypto: crypto)
  }
}
