import ArgumentParser
import OptionNames
import RTPWire

struct FeedbackOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What to request from the sender by RTCP: nack (lost packets), pli or fir (a key picture), \
      separated by commas. Not needed with SDP.
      """, valueName: "names"),
    transform: FeedbackArgument.reading(or: "it is nack, pli or fir, or several with commas"))
  var feedback: FeedbackArgument?

  @Option(
    help: ArgumentHelp(
      """
      The payload type of retransmissions in a separate stream (RFC 4588); without it, packets are \
      expected again unchanged. Not needed with SDP.
      """, valueName: "n"))
  var retransmissionPayloadType: UInt8?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      The port of retransmissions in a separate session (RFC 4588 §5.3). Not needed with an SDP \
      file or an RTSP server; in a file of --capture it is 5010.
      """, valueName: "n"))
  var retransmissionPort: Int?

  func validate() throws {
    if let port = retransmissionPort, !(1...65_535).contains(port) {
      throw ValidationError("--retransmission-port must be 1 to 65535")
    }
    guard (retransmissionPayloadType ?? 0) < 128 else {
      throw ValidationError("--retransmission-payload-type must be 0 to 127")
    }
  }

  /// `media` with these options added.
  ///
  /// - Throws: that a payload type would have two meanings.
  func completed(_ media: MediaDescription) throws -> MediaDescription {
    var completed = media
    completed.feedback.requests.formUnion(feedback?.requests ?? [])
    if retransmissionPort != nil {
      // The session has its own payload types.
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
