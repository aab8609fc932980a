/// The counters of a transport: those that all have, and its own; and what else it has found out.
public struct TransportCounters: Sendable {
  /// Where media is received, as `address:port`; `nil` before the transport is open.
  public var localAddress: String?
  /// Datagrams handed to the sink.
  public var delivered: UInt64 = 0
  public var deliveredBytes: UInt64 = 0
  /// Empty datagrams.
  public var empty: UInt64 = 0
  /// Who else sends, and is not listened to; `nil` if nobody does.
  public var otherSender: OtherSender?
  /// How the media was carried in the end, where that is negotiated or was recorded.
  public var carriage: Carriage?
  /// What was tolerated or chosen, each a sentence for the person who looks after the far end; at
  /// most ``maximumDiagnostics``, see ``note(_:)``.
  public var diagnostics: [TransportDiagnostic] = []
  /// The figures of its own counters, by what they were declared as.
  public private(set) var own: [TransportCounter: UInt64] = [:]
  private var findings: [ObjectIdentifier: any TransportFinding] = [:]

  /// What media is carried by.
  public enum Carriage: String, Sendable, Hashable {
    /// In the connection.
    case tcp
    case udp
    case multicast
  }

  /// Somebody whose datagrams come to the port of the media and are left out, because the media
  /// come from another address.
  public struct OtherSender: Sendable, Hashable {
    /// As `address:port`.
    public var address: String
    /// Its datagrams, since no other one came between.
    public var datagrams: UInt64
    /// Whether it sends although the media have stopped.
    public var outlastsMedia: Bool

    public init(address: String, datagrams: UInt64, outlastsMedia: Bool) {
      (self.address, self.datagrams) = (address, datagrams)
      self.outlastsMedia = outlastsMedia
    }
  }

  public init() {}

  /// The value of a counter; 0 if the transport does not have it.
  public subscript(counter: TransportCounter) -> UInt64 {
    get { own[counter, default: 0] }
    set { own[counter] = newValue }
  }

  /// What was found out of a kind; the initial value where nothing was.
  public subscript<Finding: TransportFinding>(finding type: Finding.Type) -> Finding {
    get { findings[ObjectIdentifier(type)] as? Finding ?? Finding() }
    set { findings[ObjectIdentifier(type)] = newValue }
  }

  /// What came and was lost in this machine, by all counters of that.
  public var lostLocally: UInt64 {
    own.reduce(0) { $1.key.isLocalLoss ? $0 &+ $1.value : $0 }
  }

  /// The most diagnostics kept; more would not help.
  public static let maximumDiagnostics = 64

  /// Adds a diagnostic after the others, unless it is there or there are ``maximumDiagnostics``.
  ///
  /// The first ones stay, each in its place, so that a reader who counts them tells none twice.
  public mutating func note(_ diagnostic: TransportDiagnostic) {
    guard diagnostics.count < Self.maximumDiagnostics, !diagnostics.contains(diagnostic) else {
      return
    }
    diagnostics.append(diagnostic)
  }

  /// The sums with those of earlier connections; what is not a sum keeps its latest value, and
  /// findings are joined as their types say.
  public func added(to earlier: TransportCounters) -> TransportCounters {
    var sum = self
    sum.localAddress = localAddress ?? earlier.localAddress
    sum.otherSender = otherSender ?? earlier.otherSender
    sum.carriage = carriage ?? earlier.carriage
    sum.delivered += earlier.delivered
    sum.deliveredBytes += earlier.deliveredBytes
    sum.empty += earlier.empty
    for (counter, figure) in earlier.own {
      sum.own[counter] = own[counter].map { counter.joined($0, after: figure) } ?? figure
    }
    for finding in earlier.findings.values { sum.join(finding) }
    sum.diagnostics = []
    for diagnostic in earlier.diagnostics + diagnostics { sum.note(diagnostic) }
    return sum
  }

  private mutating func join<Finding: TransportFinding>(_ earlier: Finding) {
    self[finding: Finding.self] = self[finding: Finding.self].joined(after: earlier)
  }
}
