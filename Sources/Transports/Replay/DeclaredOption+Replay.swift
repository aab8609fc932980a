extension DeclaredOption {
  /// The options of recordings, in files and on standard input.
  static let ofRecordings: [DeclaredOption] = [speed] + ofFlows + ofFraming

  private static let speed = DeclaredOption(
    "speed", valueName: "n",
    help: "The pace, where 1 is as recorded; by default as fast as possible.", in: .recordings,
    takesDashes: true,
    read: { text -> Double? in
      try DeclaredOption.number(
        text, in: Double.leastNonzeroMagnitude...1e6,
        "--speed must be above 0, and at most 1000000")
    },
    apply: { value, options in options.replay.speed = value })

  /// The options of those who choose among the flows of a capture.
  static let ofFlows: [DeclaredOption] = [
    DeclaredOption(
      "ssrc", valueName: "ssrc",
      help: "The SSRC of the RTP to play, such as 0x1234abcd; by default what looks like video.",
      in: .recordings,
      // In decimal, or in hexadecimal after `0x`, as Wireshark shows it.
      read: { text -> UInt32? in
        let digits = text.lowercased()
        return digits.hasPrefix("0x") ? UInt32(digits.dropFirst(2), radix: 16) : UInt32(digits)
      },
      apply: { value, options in options.replay.ssrc = value }),
    DeclaredOption(
      "port", valueName: "n", help: "The port, of either end, of the RTP to play.",
      in: .recordings, takesDashes: true,
      read: { text -> UInt16? in UInt16(text) },
      apply: { value, options in options.replay.port = value }),
  ]
}
