extension DeclaredOption {
  /// The options of HTTP progressive.
  static let ofHTTP: [DeclaredOption] = [
    DeclaredOption(
      "http-proxy", valueName: "url",
      help: "The proxy, as http://HOST:PORT. Variables of the environment are not used.",
      in: .http,
      apply: { value, options in options.http.proxy = value })
  ]
}
