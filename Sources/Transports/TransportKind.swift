public import NIOCore

/// A transport as a catalogue knows it: all that is said of it outside of its own folder.
public struct TransportKind: Sendable {
  /// Makes a transport for a source, which opens nothing yet.
  public typealias Maker =
    @Sendable (_ source: String, TransportOptions, any EventLoop) throws -> any RTPTransport
  /// Asks what there is to receive.
  public typealias Describer =
    @Sendable (_ source: String, TransportOptions, any EventLoop) async throws -> StreamListing

  /// What `--transport` calls it.
  public var name: String
  /// The schemes of its URLs, in lower case.
  public var schemes: [String]
  /// What stands for a source by itself, such as `-`.
  public var arguments: [String] = []
  /// Ends of file names, with their dot, in lower case.
  public var endings: [String] = []
  /// Whether it takes a file for its own, by how that begins, or for what else there is to know.
  public var recognizes: @Sendable (SourceFile, TransportOptions) -> Bool = { _, _ in false }
  /// Whether it takes a file that nobody recognizes, to say what it is.
  public var takesAnyFile = false
  /// Whether there are ports beside that of the media, for SMPTE ST 2022-1 and for retransmissions.
  public var hasRepairPorts = false
  /// What it counts by itself, in the order in which statistics show it.
  public var counters: [TransportCounter] = []
  public var make: Maker
  /// `nil` where nobody can be asked.
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
