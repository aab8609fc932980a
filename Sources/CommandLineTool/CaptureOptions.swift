import ArgumentParser
import Transports

struct CaptureOptions: ParsableArguments {
  @Option(
    name: .customLong("capture"),
    help: ArgumentHelp(
      """
      Write every packet, decrypted, to a .pcapng file that can be played again and opened in \
      Wireshark (tell it: UDP port 5004 is RTP). An existing file is replaced when the first packet \
      comes.
      """, valueName: "file"), completion: .file(), transform: CommandLineSecrets.path)
  var path: String?
}

extension CaptureCounters {
  /// Why the capture at `path` is incomplete; `nil` if it is complete.
  func complaint(about path: String) -> String? {
    if let failure {
      let loss = dropped > 0 ? ", and \(dropped.counted("packet")) after it are missing" : ""
      return "\(path) cannot be written: \(failure); it ends on a whole packet\(loss)"
    }
    guard dropped > 0 else { return nil }
    let cause = isFile ? "the disk" : "its reader"
    return "\(path) lacks \(dropped.counted("packet")): \(cause) was too slow"
  }
}
