public import NIOCore

/// A transport's entry in a catalogue: everything that is said of it outside its folder.
public struct TransportKind: Sendable {
  /// Makes a transport for a source without opening anything.
  public typealias Maker =
    @Sendable (_ source: String, TransportOptions, any EventLoop) throws -> any RTPTransport
  /// Queries which streams there are.
  public typealias Describer =
    @Sendable (_ source: String, TransportOptions, any EventLoop) async throws -> StreamListing

  /// Its name for `--transport`.
  public var name: String
  /// The schemes of its URLs, in lower case.
  public var schemes: [String]
  /// Schemes that only redirects still have, in lower case.
  public var formerSchemes: [String] = []
  /// Arguments that name a source by themselves, such as `-`.
  public var arguments: [String] = []
  /// File name endings, with their dot, in lower case.
  public var endings: [String] = []
  /// Whether a file is this transport's, by its first bytes or other properties.
  public var recognizes: @Sendable (SourceFile, TransportOptions) -> Bool = { _, _ in false }
  /// Whether it takes files that no transport recognizes, to report what they are.
  public var takesAnyFile = false
  /// Whether there are ports beside the media's, for SMPTE ST 2022-1 and for retransmissions.
  public var hasRepairPorts = false
  /// Whether its URLs may contain a user name and a password, which must not be shown.
  public var hasLogin = false
  /// Whether a source may bring a description of the media, in which there may be keys.
  public var describesMedia: @Sendable (_ source: String) -> Bool = { _ in false }
  /// The port of this machine that a source names, where it names one to listen on.
  public var listeningPort: @Sendable (_ source: String) -> Int? = { _ in nil }
  /// Its own counters, in the order of the statistics.
  public var counters: [TransportCounter] = []
  /// What counters tell people about its sources, the more telling hints first.
  public var hints: [TransportHint] = []
  /// The options of the command line that have an effect on all its sources, and which the tool
  /// therefore has.
  public var options: [DeclaredOption] = []
  /// What else has an effect on its sources, by their sort; the first scope that includes a source
  /// counts.
  public var scopes: [OptionScope] = []
  /// How its sources are written, for the help.
  public var usage: [SourceForm] = []
  /// Sets in the options what a run's earlier connections teach about the next one: their counters
  /// and what else they have found out (``TransportFinding``).
  public var learn: @Sendable (inout TransportOptions, _ former: TransportCounters) -> Void = {
    _, _ in
  }
  public var make: Maker
  /// `nil` if nothing can be queried.
  public var describe: Describer?

  public init(
    name: String, schemes: [String], make: @escaping Maker, describe: Describer? = nil
  ) {
    self.name = name
    self.schemes = schemes
    self.make = make
    self.describe = describe
  }
}
