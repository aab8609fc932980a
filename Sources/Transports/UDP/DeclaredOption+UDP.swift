internal import NIOCore

extension DeclaredOption {
  /// The options of the hello and the heartbeats.
  static let ofHello: [DeclaredOption] = [
    DeclaredOption(
      "hello", valueName: "bytes",
      help: "The content of the hello: text, @FILE, or hex:DIGITS; at most 64 bytes.", in: .udp,
      read: { text -> HelloBytes? in try HelloBytes(parsing: text, for: "hello") },
      apply: { value, options in options.hello.hello = ByteBuffer(bytes: value.bytes) }),
    DeclaredOption(
      "heartbeat", valueName: "bytes",
      help: "The content of each heartbeat, in the same forms.", in: .udp,
      read: { text -> HelloBytes? in try HelloBytes(parsing: text, for: "heartbeat") },
      apply: { value, options in options.hello.heartbeat = ByteBuffer(bytes: value.bytes) }),
    DeclaredOption(
      "heartbeat-interval", valueName: "s",
      help: """
        The time between two heartbeats, 1 to 3600. \
        (default: \(usualInterval))
        """, in: .udp, takesDashes: true,
      read: { text -> Double? in
        try DeclaredOption.number(
          text, in: 1.0...3600.0, "--heartbeat-interval must be 1 to 3600 s")
      },
      apply: { value, options in options.hello.interval = .seconds(value) }),
  ]

  /// In seconds.
  private static let usualInterval: Double =
    UDPTransport.HelloConfiguration().interval / .seconds(1)

  /// The options of those who open sockets.
  static let ofConnections: [DeclaredOption] = [
    DeclaredOption(
      "bind", valueName: "address:port",
      help: """
        The local address and port to receive on; a group is joined by the interface that has it.
        """, in: .udp,
      read: { text -> UDPTransport.LocalAddress? in
        do {
          return try UDPTransport.LocalAddress(parsing: text)
        } catch TransportError.source(_, .missingPort) {
          throw OptionFault("--bind: the port is missing, as in 192.0.2.1:5004 or :5004")
        } catch TransportError.source(_, let fault) {
          throw OptionFault("--bind: \(fault)")
        }
      },
      apply: { value, options in options.sockets.bind = value }),
    DeclaredOption(
      "interface", valueName: "name",
      help: "The network interface to receive on alone, or to join a group by.", in: .udp,
      apply: { value, options in options.sockets.interface = value }),
  ]

  /// The options of those who receive datagrams.
  static let ofSockets: [DeclaredOption] = ofConnections + [receiveBuffer]

  private static let receiveBuffer = DeclaredOption(
    "receive-buffer", valueName: "bytes",
    help: """
      The size of the socket's receive buffer. \
      (default: \(UDPTransport.SocketConfiguration().receiveBuffer))
      """, in: .udp, takesDashes: true,
    read: { text -> Int? in
      try DeclaredOption.number(
        text, in: 4096...(1 << 30), "--receive-buffer must be 4096 bytes to 1 GiB")
    },
    apply: { value, options in options.sockets.receiveBuffer = value })
}
