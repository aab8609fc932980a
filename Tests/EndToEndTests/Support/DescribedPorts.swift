import Foundation
import TestSupport

/// Ports for H.264 of payload type 96 and for sound of type 97, and a file that describes both.
struct DescribedPorts {
  let video: UInt16
  let sound: UInt16
  /// The path of the session description.
  let description: String

  /// Takes free ports; `lines` are the attributes of the sound.
  init(sound lines: String...) throws {
    video = try FreePort.udpPair()
    sound = video + 2
    description = try Scratch.path("sdp")
    let all =
      ["v=0", "c=IN IP4 127.0.0.1", "m=video \(video) RTP/AVP 96", "a=rtpmap:96 H264/90000"]
      + ["m=audio \(sound) RTP/AVP 97"] + lines
    try all.map { $0 + "\n" }.joined()
      .write(toFile: description, atomically: true, encoding: .utf8)
  }
}
