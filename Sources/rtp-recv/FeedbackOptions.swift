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

  func validate() throws {
    guard (retransmissionPayloadType ?? 0) < 128 else {
      throw ValidationError("--retransmission-payload-type is 0 to 127")
    }
  }

  /// What the options add to `media`.
  ///
  /// - Throws: that one payload type would stand for two things.
  func completed(_ media: MediaDescription) throws -> MediaDescription {
    var completed = media
    completed.feedback.requests.formUnion(feedback?.requests ?? [])
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
