/// How NAL units are put into packets.
public enum Packetization: String, Sendable, CaseIterable {
  /// In decoding order: H.264 packetization-mode 1 (STAP-A, FU-A), H.265 without DONL (AP, FU).
  case nonInterleaved = "non-interleaved"
  /// A packet for each NAL unit, however long: H.264 packetization-mode 0 (RFC 6184 §6.2), and
  /// the same for H.265.
  case single
  /// Out of decoding order, with decoding order numbers: H.264 packetization-mode 2 (STAP-B, FU-B),
  /// H.265 with DONL.
  case interleaved
  /// H.264 packetization-mode 2 with MTAP16 where units of several times share a packet.
  case mtap16
  /// The same with MTAP24.
  case mtap24
  /// H.265 in decoding order, each payload behind payload content information (RFC 7798 §4.4.4).
  case paci

  /// Checks that the mode exists for `codec`.
  ///
  /// - Throws: ``SendError/invalid(option:reason:)`` when it does not.
  public func check(for codec: Codec) throws(SendError) {
    let isDefined =
      switch self {
      case .nonInterleaved, .single, .interleaved: true
      case .mtap16, .mtap24: codec == .h264
      case .paci: codec == .h265
      }
    guard isDefined else {
      throw .invalid(
        option: "--packetization \(rawValue)",
        reason: "does not exist for \(codec == .h264 ? "H.264" : "H.265")")
    }
  }

  /// Whether units are sent out of decoding order.
  public var isInterleaved: Bool {
    switch self {
    case .interleaved, .mtap16, .mtap24: true
    case .nonInterleaved, .single, .paci: false
    }
  }

  /// Makes the packetizer of `codec` for this mode, or for one next to it where ``check(for:)``
  /// throws.
  public func packetizer(
    for codec: Codec, payloadLimit: Int, aggregates: Bool
  ) -> any Packetizer {
    switch (self, codec) {
    case (.single, _):
      SingleUnitPacketizer(codec)
    case (.nonInterleaved, .h264), (.paci, .h264):
      H264Packetizer(payloadLimit: payloadLimit, aggregates: aggregates)
    case (.nonInterleaved, .h265):
      H265Packetizer(payloadLimit: payloadLimit, aggregates: aggregates)
    case (.interleaved, .h264), (.mtap16, .h264), (.mtap24, .h264):
      H264InterleavedPacketizer(
        payloadLimit: payloadLimit, aggregates: aggregates, aggregation: self)
    case (.interleaved, .h265), (.mtap16, .h265), (.mtap24, .h265):
      H265Packetizer(
        payloadLimit: payloadLimit, aggregates: aggregates, interleaver: Interleaver())
    case (.paci, .h265):
      ContentInformationPacketizer(payloadLimit: payloadLimit, aggregates: aggregates)
    }
  }
}
