extension DeclaredOption {
  /// The options of length-prefixed packets.
  static let ofFraming: [DeclaredOption] = [
    DeclaredOption(
      "framing", valueName: "name",
      help: """
        The framing of a file, a pipe or a tcp:// connection: packets after a length of 4 bytes \
        (rtp4) or 2 bytes (rfc4571). A file may then have any name.
        """, in: .recordings,
      read: { text -> PacketFraming? in
        guard let framing = PacketFraming(rawValue: text) else {
          let known = PacketFraming.allCases.map(\.rawValue)
          throw OptionFault("--framing must be \(DeclaredOption.choices(known))")
        }
        return framing
      },
      apply: { value, options in options.framed.framing = value })
  ]
}
