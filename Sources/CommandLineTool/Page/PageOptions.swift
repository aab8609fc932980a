import ArgumentParser
import Serving

/// Where the live page is served.
struct PageOptions: ParsableArguments {
  static let name = "serve"
  /// What a camera is called where there is one.
  static let onlyCamera = "camera"

  @Option(
    name: .customLong(Self.name),
    help: ArgumentHelp(
      """
      Show the stream in a browser: its picture and sound as they are coded, and graphs of rate, loss \
      and jitter. 127.0.0.1:9800 is for this machine alone; with any other address, or :9800 for all \
      of IPv4, the one that is printed has a token: that of RTP_RECV_PAGE_TOKEN in the environment, or \
      a new one. Port 0 is any that is free.
      """, valueName: "host:port"), transform: ListenAddress.read)
  var address: ListenAddress?
}

extension ListenAddress {
  fileprivate static func read(_ text: String) throws -> ListenAddress {
    guard let address = ListenAddress(text) else {
      throw ValidationError("'\(text)' is no address with a port, such as 127.0.0.1:9800")
    }
    return address
  }
}
