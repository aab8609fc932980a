import ArgumentParser
import Impairment
import OptionNames
import RTPSend
import RTPWire

struct PacketOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The longest RTP payload.", valueName: "bytes"))
  var packetSize = 1400

  @Option(
    help: ArgumentHelp(
      """
      non-interleaved (STAP-A or AP, and FU), single (a packet for each NAL unit: H.264 \
      packetization-mode 0), interleaved (H.264 packetization-mode 2, H.265 with DONL), mtap16 or \
      mtap24 (H.264), paci (H.265).
      """, valueName: "mode"))
  var packetization = Packetization.nonInterleaved

  @Flag(help: "Do not aggregate NAL units.")
  var noAggregation = false

  @Option(help: ArgumentHelp("0 to 127.", valueName: "n"))
  var payloadType: UInt8 = 96

  @Option(
    help: ArgumentHelp("Decimal, or with 0x hexadecimal (default: random).", valueName: "n"),
    transform: UnsignedNumber.reading(or: "it is 0 to 4294967295, or 0x0 to 0xffffffff"))
  var ssrc: UnsignedNumber?

  @Option(
    help: ArgumentHelp("The first sequence number (default: random).", valueName: "n"),
    transform: UInt16.reading(or: "it is 0 to 65535"))
  var initialSequence: UInt16?

  @Option(
    help: ArgumentHelp("The RTP timestamp of media time 0 (default: random).", valueName: "n"),
    transform: UInt32.reading(or: "it is 0 to 4294967295"))
  var initialTimestamp: UInt32?

  @Option(
    help: ArgumentHelp(
      "After AT packets, continue with a sequence number BY too high.", valueName: "at,by"))
  var sequenceJump: NumberPair?

  @Option(
    help: ArgumentHelp(
      "Change the SSRC after this many packets, or with every 'gop'.", valueName: "n|gop"))
  var ssrcChange: SourceChangeArgument?

  @Option(
    help: ArgumentHelp(
      """
      Add correction packets of payload type PT, one for every K packets, 1 to 48: K of 5 adds 20 %. \
      The format is ulpfec (RFC 5109), flexfec (RFC 8627) or flexfec-03; with ,red:PT all of it comes \
      in RED packets (RFC 2198). Or st2022-1,L,D (SMPTE ST 2022-1): L columns to the port two above, \
      D rows to the one four above, 1 to 20 each.
      """, valueName: "format:pt,k|st2022-1,l,d"))
  var fec: CorrectionArgument?

  @Flag(
    help: """
      Send no sender reports and no BYE; otherwise they come on the port of the media, or with sound \
      to udp:// on the port above.
      """)
  var noRtcp = false

  func check() throws {
    guard (16...65_000).contains(packetSize) else {
      throw ValidationError("--packet-size must be 16 to 65000 bytes")
    }
    guard packetization != .paci || packetSize >= ContentInformationPacketizer.minimumLimit else {
      throw ValidationError(
        "--packetization paci needs --packet-size \(ContentInformationPacketizer.minimumLimit) or "
          + "more")
    }
    guard payloadType <= 127 else { throw ValidationError("--payload-type must be 0 to 127") }
    guard fec?.correction?.payloadTypes.contains(payloadType) != true else {
      throw ValidationError("--fec needs payload types that are not that of the media")
    }
  }

  /// Whether the numbers that a stream begins with are chosen, even if only in part.
  var setsNumbers: Bool {
    ssrc != nil || initialSequence != nil || initialTimestamp != nil
  }

  /// The header fields; those not given are drawn from `dice`.
  func stream(_ dice: inout SplitMix64) -> RTPStream.Configuration {
    var configuration = RTPStream.Configuration(
      ssrc: UInt32(truncatingIfNeeded: dice.next()),
      initialSequence: UInt16(truncatingIfNeeded: dice.next()),
      initialTimestamp: UInt32(truncatingIfNeeded: dice.next()))
    if let ssrc { configuration.ssrc = ssrc.value }
    if let initialSequence { configuration.initialSequence = initialSequence }
    if let initialTimestamp { configuration.initialTimestamp = initialTimestamp }
    configuration.payloadType = payloadType
    configuration.correction = fec?.correction
    configuration.sequenceJump = sequenceJump.map {
      RTPStream.SequenceJump(after: $0.first, by: $0.second)
    }
    configuration.sourceChange = ssrcChange?.change
    return configuration
  }
}
