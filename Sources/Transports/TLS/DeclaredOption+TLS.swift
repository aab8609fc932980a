extension DeclaredOption {
  /// The options of those who use TLS.
  static let ofTLS: [DeclaredOption] = [
    DeclaredOption(
      "tls-ca", valueName: "file",
      help: "A PEM file of the authorities to trust, instead of the system's.", in: .tls,
      apply: { value, options in options.tls.authorities = value }),
    DeclaredOption(
      "tls-pin", valueName: "hex",
      help: "The SHA-256 of the server's certificate; nothing else is checked then.", in: .tls,
      read: { text -> [UInt8]? in
        guard let bytes = [UInt8](hexadecimal: text), bytes.count == 32 else {
          throw OptionFault("--tls-pin takes a SHA-256: 64 hexadecimal digits")
        }
        return bytes
      },
      apply: { value, options in options.tls.pin = value }),
    DeclaredOption(
      "tls-certificate", valueName: "file",
      help: "A PEM file with the certificate to show the server.", in: .tls, partner: "tls-key",
      apply: { value, options in options.tls.clientCertificate = value }),
    DeclaredOption(
      "tls-key", valueName: "file", help: "The PEM file of that certificate's private key.",
      in: .tls, partner: "tls-certificate",
      apply: { value, options in options.tls.clientKey = value }),
    DeclaredOption(
      flag: "tls-insecure", help: "Trust any server.", in: .tls,
      apply: { options in options.tls.acceptsAnything = true }),
  ]
}
