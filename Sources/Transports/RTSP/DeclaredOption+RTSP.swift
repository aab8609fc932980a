extension DeclaredOption {
  /// The options of RTSP.
  static let ofRTSP: [DeclaredOption] = [
    DeclaredOption(
      "rtsp-transport", valueName: "way",
      help: """
        How the media comes: auto (over UDP, else in the connection), tcp, udp, multicast or http \
        (in a connection through HTTP, port 80). \
        (default: \(RTSPConfiguration().lowerTransport.rawValue))
        """, in: .rtsp,
      read: { text -> RTSPConfiguration.LowerTransport? in
        guard let transport = RTSPConfiguration.LowerTransport(rawValue: text) else {
          let known = RTSPConfiguration.LowerTransport.allCases.map(\.rawValue)
          throw OptionFault("--rtsp-transport must be \(DeclaredOption.choices(known))")
        }
        return transport
      },
      apply: { value, options in options.rtsp.lowerTransport = value }),
    stream,
    DeclaredOption(
      flag: "all-streams",
      help: "Set up all streams and discard the others; some recorders send no video otherwise.",
      in: .rtsp,
      apply: { options in options.rtsp.setsUpEverything = true }),
  ]

  /// Which of the streams of a description to play.
  static let stream = DeclaredOption(
    "stream", valueName: "n",
    help: """
      The stream of a server or of FILE.sdp to play alone, a video without its sound, or the \
      profile of an onvif:// camera, counted from 0 as --list shows them; by default the first \
      video, with sound.
      """,
    in: .rtsp, takesDashes: true,
    read: { text -> Int? in
      try DeclaredOption.number(text, in: 0..., "--stream must be at least 0")
    },
    apply: { value, options in options.media.number = value })
}
