import ArgumentParser
import Glibc
import Transports

struct SRTPCommandOptions: ParsableArguments {
  /// The environment variable for a key.
  static let variable = "RTP_RECV_SRTP_KEY"

  @Option(
    name: .customLong("srtp-key-file"),
    help: ArgumentHelp(
      """
      A file of SRTP keys, readable only by its owner, with lines SUITE BASE64(key and salt) [MKI in \
      hexadecimal]. \(variable) in the environment may hold such a line. Suites: \
      \(SRTPSuite.allCases.map(\.name).joined(separator: ", ")).
      """, valueName: "file"))
  var keyFile: String?

  @Option(
    name: .customLong("srtp-key-fd"),
    help: ArgumentHelp("The same, from an open descriptor.", valueName: "n"))
  var keyDescriptor: Int32?

  @Option(
    name: .customLong("srtp-roc"),
    help: ArgumentHelp(
      "The roll-over counter of a stream joined late; by default it is searched for.",
      valueName: "n"))
  var rollover: UInt32?

  @Flag(
    name: .customLong("srtp-allow-weak"),
    help: """
      Accept NULL suites, which do not encrypt, and from an SDP also tags of 32 bits and unencrypted \
      RTCP.
      """)
  var allowsWeak = false

  @Flag(
    name: .customLong("allow-insecure-sdes"),
    help: "Accept keys from an SDP that others can read: over rtsp://, or in a file.")
  var allowsInsecureSDES = false

  func validate() throws {
    guard keyFile == nil || keyDescriptor == nil else {
      throw ValidationError("--srtp-key-file and --srtp-key-fd exclude each other")
    }
    guard keyDescriptor.map({ $0 >= 0 && fcntl($0, F_GETFD) >= 0 }) ?? true else {
      throw ValidationError("--srtp-key-fd: no such descriptor is open")
    }
  }

  /// Throws if there is a roll-over counter but no key, which `isDescribed` sources may bring.
  func check(isDescribed: Bool) throws {
    guard rollover == nil || source != nil || isDescribed else {
      throw ValidationError("--srtp-roc has no effect without a key; give it with --srtp-key-file")
    }
  }

  /// Reads the keys, once, and forbids core dumps and debuggers.
  ///
  /// - Throws: ``SRTPError``.
  func options() throws(SRTPError) -> SRTPOptions {
    var options = SRTPOptions()
    options.rollover = rollover
    options.allowsWeak = allowsWeak
    options.allowsInsecureSDES = allowsInsecureSDES
    guard let source else { return options }
    SRTPKeyMaterial.forbidDumps()
    options.keys = try source.keys()
    return options
  }

  private var source: SRTPKeySource? {
    if let keyFile { return .file(keyFile) }
    if let keyDescriptor { return .descriptor(keyDescriptor) }
    return unsafe getenv(Self.variable) == nil ? nil : .environment(Self.variable)
  }
}
