internal import BlockingIO

extension DeclaredOption {
  /// The options of HTTP progressive.
  static let ofHTTP: [DeclaredOption] = [
    DeclaredOption(
      "http-proxy", valueName: "url",
      help: "The proxy, as http://HOST:PORT. Variables of the environment are not used.",
      in: .http,
      apply: { value, options in
        // A password of the proxy is in it.
        if value.contains("@") { Secret.forbidCoreDumps() }
        options.http.proxy = value
      })
  ]
}
