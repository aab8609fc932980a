import ArgumentParser

struct ListeningOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What a client says to be served: text, @FILE, or hex:48656c6c6f (default: Hello).",
      valueName: "bytes"),
    transform: { try BytesArgument(parsing: $0) })
  var hello: BytesArgument?

  @Option(
    help: ArgumentHelp(
      "The expected time between heartbeats; after three times that, a client is gone.",
      valueName: "seconds"))
  var heartbeatInterval = 3.0

  @Flag(
    help: """
      End when the first client has gone, instead of waiting for the next; with rtsp:// also when \
      its stream has ended.
      """)
  var once = false

  func check() throws {
    guard heartbeatInterval >= 0.01, heartbeatInterval <= 86_400 else {
      throw ValidationError("--heartbeat-interval must be 0.01 to 86400 seconds")
    }
  }
}
