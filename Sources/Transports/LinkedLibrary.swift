/// A library that is loaded with the program, and the oldest version of it that works.
///
/// The name of its file promises little: each libcurl since 2006 is `libcurl.so.4`. FFmpeg's
/// libraries are compared when they are loaded.
public struct LinkedLibrary: Sendable, Hashable {
  public struct Version: Sendable, Hashable {
    public let major: UInt
    public let minor: UInt
    public let patch: UInt
  }

  public let name: String
  /// The version that is loaded.
  public let version: Version
  /// The oldest version that works.
  public let oldest: Version
  /// What this package needs of ``oldest``.
  let need: String

  /// The libraries that this module is linked with and whose versions matter, each declared where
  /// it is used.
  public static var all: [LinkedLibrary] {
    [HTTPTransfer.library, SRTPContext.library, TLSContext.library]
  }

  /// What is wrong with the first of ``all`` that is too old, and what to do; `nil` if none is.
  ///
  /// A program asks before it does anything.
  public static var firstFault: String? { all.lazy.compactMap(\.fault).first }

  /// What is wrong with it and what to do, or `nil`.
  public var fault: String? {
    guard version < oldest else { return nil }
    return "\(name) \(version) is too old: \(oldest) \(need); install a newer \(name)"
  }
}

extension LinkedLibrary.Version: Comparable, CustomStringConvertible {
  public static func < (one: Self, two: Self) -> Bool {
    (one.major, one.minor, one.patch) < (two.major, two.minor, two.patch)
  }

  public var description: String { "\(major).\(minor).\(patch)" }
}
