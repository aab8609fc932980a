import ArgumentParser
import RTPWire

struct FeedbackOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What the sender may be asked for by RTCP: nack (lost packets once more), pli or fir (a key \
      picture), separated by commas. SDP says it by itself.
      """, valueName: "names"))
  var feedback: FeedbackArgument?

  @Option(
    help: ArgumentHelp(
      """
      The payload type of packets that are sent again in a stream of their own (RFC 4588); without \
      it they are expected as they were. SDP says it by itself.
      """, valueName: "n"))
  var retransmissionPayloadType: UInt8?

  @Option(
    help: ArgumentHelp(
      """
      The port to which packets come that are sent again in a session of their own (RFC 4588 §5.3). An \
      SDP file or an RTSP server says it by itself; in a capture of --capture it is 5010.
      """, valueName: "n"))
  var retransmissionPort: Int?

  func validate() throws {
    if let port = retransmissionPort, !(1...65_535).contains(port) {
      throw ValidationError("--retransmission-port is 1 to 65535")
    }
    guard (retransmissionPayloadType ?? 0) < 128 else {
      throw ValidationError("--retransmission-payload-type is 0 to 127")
    }
  }

  /// `media` with these options added.
  ///
  /// - Throws: that a payload type would have two meanings.
  func completed(_ media: MediaDescription) throws -> MediaDescription {
    var completed = media
    completed.feedback.requests.formUnion(feedback?.requests ?? [])
    if retransmissionPort != nil {
      // The session has payload types of its own.
      let formats = retransmissionPayloadType.map { [$0: RetransmissionFormat()] } ?? [:]
      completed.retransmissionSession = media.retransmissionSession ?? formats
      return completed
    }
    guard let type = retransmissionPayloadType else { return completed }
    let others = [media.payloadType, media.redundancyPayloadType].compactMap(\.self)
    guard !others.contains(type), media.correctionFormats[type] == nil else {
      throw ValidationError("--retransmission-payload-type needs a payload type of its own")
    }
    completed.retransmissionFormats[type] =
      completed.retransmissionFormats[type] ?? RetransmissionFormat()
    return completed
  }
}

/// Names of requests such as `nack,pli`.
struct FeedbackArgument: ExpressibleByArgument {
  let requests: Set<FeedbackRequest>

  init?(argument: String) {
    guard let requests = FeedbackRequest.requests(named: argument) else { return nil }
    self.requests = requests
  }
}
