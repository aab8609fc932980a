import ArgumentParser
import RTPSend
import RTPWire

struct FeedbackOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Answer what the receiver asks for by RTCP: nack (packets again), pli or fir (a key picture, \
      which the pattern has at once and a file when its next one comes), separated by commas.
      """, valueName: "names"))
  var feedback: FeedbackArgument?

  @Option(
    help: ArgumentHelp(
      "Retransmit in a separate stream (RFC 4588) with this payload type.",
      valueName: "n"))
  var retransmissionPayloadType: UInt8?

  @Flag(
    help: """
      Retransmit in a separate session: the SSRC of the media, the port two above.
      """)
  var retransmissionSession = false

  func check(_ packets: PacketOptions, _ protection: ProtectionOptions) throws {
    guard feedback == nil || !packets.noRtcp else {
      throw ValidationError("--feedback needs RTCP; leave out --no-rtcp")
    }
    if retransmissionSession {
      guard retransmissionPayloadType != nil else {
        throw ValidationError("--retransmission-session needs --retransmission-payload-type")
      }
      guard protection.keyFile == nil else {
        throw ValidationError(
          "--retransmission-session would need a separate key; leave out --srtp-key-file")
      }
      guard packets.fec?.matrix == nil else {
        throw ValidationError("--retransmission-session and st2022-1 would share a port")
      }
    }
    guard let type = retransmissionPayloadType else { return }
    guard feedback?.requests.contains(.nack) == true else {
      throw ValidationError("--retransmission-payload-type needs --feedback nack")
    }
    let others = [packets.payloadType] + (packets.fec?.correction?.payloadTypes ?? [])
    guard type <= 127, !others.contains(type) else {
      throw ValidationError(
        "--retransmission-payload-type must be 0 to 127, and not a type that is used already")
    }
  }

  var configuration: FeedbackConfiguration {
    var configuration = FeedbackConfiguration()
    configuration.requests = feedback?.requests ?? []
    configuration.retransmissionPayloadType = retransmissionPayloadType
    configuration.hasRetransmissionSession = retransmissionSession
    return configuration
  }
}
