import Transports

/// A section of `--help` as a type, since the parser asks types for their options.
protocol DeclaredSection: Sendable {
  static var section: OptionSection { get }
}

enum UDPSection: DeclaredSection {
  static var section: OptionSection { .udp }
}

enum RTSPSection: DeclaredSection {
  static var section: OptionSection { .rtsp }
}

enum HTTPSection: DeclaredSection {
  static var section: OptionSection { .http }
}

enum TLSSection: DeclaredSection {
  static var section: OptionSection { .tls }
}

enum SRTPSection: DeclaredSection {
  static var section: OptionSection { .srtp }
}

enum RecordingsSection: DeclaredSection {
  static var section: OptionSection { .recordings }
}

enum AddedSection: DeclaredSection {
  static var section: OptionSection { .added }
}
