import Foundation
import TestSupport

/// The end of a stream whose sender says no goodbye by itself, so that nobody has to wait for a
/// silence.
enum Goodbye {
  /// The SSRC that such a sender is given.
  static let source: UInt8 = 7

  /// Says goodbye for `source`, on the port of RTCP above that of the media.
  static func say(toPortAbove port: UInt16, of source: UInt8 = Goodbye.source) throws {
    // An empty report comes first (RFC 3550 §6.1, §6.6).
    let bytes: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, source, 0x81, 203, 0, 1, 0, 0, 0, source]
    let text = bytes.map { String(format: "\\x%02x", $0) }.joined()
    let sender = try RunningProcess(
      "bash", ["-c", "printf '\(text)' > /dev/udp/127.0.0.1/\(port + 1)"])
    try sender.waitForExit()
  }
}
