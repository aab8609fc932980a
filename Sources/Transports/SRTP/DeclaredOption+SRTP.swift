internal import Glibc

extension DeclaredOption {
  /// The options of SRTP, whatever carries it.
  static let ofSRTP: [DeclaredOption] = [
    DeclaredOption(
      "srtp-key-file", valueName: "file",
      help: """
        A file of SRTP keys, readable only by its owner, with lines SUITE BASE64(key and salt) \
        [MKI in hexadecimal]. \(SRTPKeySource.variable) in the environment may hold such a line. \
        Suites: \(SRTPSuite.allCases.map(\.name).joined(separator: ", ")).
        """, in: .srtp,
      apply: { value, options in options.srtp.keySource = .file(value) }),
    DeclaredOption(
      "srtp-key-fd", valueName: "n", help: "The same, from an open descriptor.", in: .srtp,
      read: { text -> Int32? in
        guard let number = Int32(text) else { return nil }
        guard number >= 0, fcntl(number, F_GETFD) >= 0 else {
          throw OptionFault("--srtp-key-fd: no such descriptor is open")
        }
        return number
      },
      apply: { value, options in
        if case .file? = options.srtp.keySource {
          throw OptionFault("--srtp-key-file and --srtp-key-fd exclude each other")
        }
        options.srtp.keySource = .descriptor(value)
      }),
    DeclaredOption(
      "srtp-roc", valueName: "n",
      help: "The roll-over counter of a stream joined late; by default it is searched for.",
      in: .srtp,
      read: { text -> UInt32? in UInt32(text) },
      apply: { value, options in options.srtp.rollover = value }),
    DeclaredOption(
      flag: "srtp-allow-weak",
      help: """
        Accept NULL suites, which do not encrypt, and from an SDP also tags of 32 bits and \
        unencrypted RTCP.
        """, in: .srtp,
      apply: { options in options.srtp.allowsWeak = true }),
    DeclaredOption(
      flag: "allow-insecure-sdes",
      help: "Accept keys from an SDP that others can read: over rtsp://, or in a file.",
      in: .srtp,
      apply: { options in options.srtp.allowsInsecureSDES = true }),
  ]
}
