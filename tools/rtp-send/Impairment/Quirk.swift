/// What cameras do to their packets, by name.
///
/// Those of a session (answers, SDP) are the business of an RTSP server.
public enum Quirk: String, Sendable, Hashable, CaseIterable {
  case noMarker = "no-marker"
  case markerOnEveryPacket = "marker-on-every-packet"
  case markerAfterParameterSets = "marker-after-parameter-sets"
  case parameterSetsEarly = "parameter-sets-early"
  case parameterSetsInSDP = "parameter-sets-in-sdp"
  case bytesAfterSPS = "bytes-after-sps"
  case timestampsStuck = "timestamps-stuck"
  case timestampsByDecodingOrder = "timestamps-by-decoding-order"
  case timestampsInMilliseconds = "timestamps-in-milliseconds"
  case ssrcPerGroup = "ssrc-per-gop"
  case extraPackets = "extra-packets"
  case padding
  case emptyPayloads = "empty-payloads"
  case startCodesInside = "start-codes-inside"
  case fragmentAlone = "fragment-alone"
  case fragmentWithoutStart = "fragment-without-start"
  case fragmentWithoutEnd = "fragment-without-end"
  case fragmentTypeChanges = "fragment-type-changes"
  case fragmentReservedBit = "fragment-reserved-bit"
  case aggregatePadding = "aggregate-padding"
  case emptyUnits = "empty-units"
  case rtcpAmongMedia = "rtcp-among-media"
  case sdesWithoutEnd = "sdes-without-end"
  case reportOfStranger = "report-of-stranger"
  case reportFarAhead = "report-far-ahead"
  case reportJitter = "report-jitter"

  /// What is sent, and who does it.
  public var summary: String {
    switch self {
    case .noMarker: "no packet has the marker (FLIR M400)"
    case .markerOnEveryPacket: "every packet has the marker"
    case .markerAfterParameterSets:
      "each parameter set and SEI has the marker (Reolink, Tapo TC70, LV-IP22IR40DVBL)"
    case .parameterSetsEarly:
      "parameter sets and SEI have the time of the picture before (Reolink)"
    case .parameterSetsInSDP: "parameter sets are in the SDP file alone"
    case .bytesAfterSPS: "more bytes follow the SPS (Reolink)"
    case .timestampsStuck: "all timestamps are the same"
    case .timestampsByDecodingOrder: "timestamps say when to decode; use with --bframes"
    case .timestampsInMilliseconds: "timestamps count milliseconds"
    case .ssrcPerGroup: "the SSRC changes with each group of pictures (Uniview)"
    case .extraPackets: "packets of type 50 repeat a sequence number (Geovision)"
    case .padding: "packets are padded (RFC 3550 §5.1)"
    case .emptyPayloads: "some packets have no payload"
    case .startCodesInside: "a NAL unit holds several, with start codes (V380, Amatek)"
    case .fragmentAlone: "a fragment is start and end (CostarHD, OpenIPC)"
    case .fragmentWithoutStart: "no fragment is the start"
    case .fragmentWithoutEnd: "no fragment is the end"
    case .fragmentTypeChanges: "the NAL unit type changes among fragments (Tiandy)"
    case .fragmentReservedBit: "the reserved bit of fragments is set (Longse)"
    case .aggregatePadding: "zeros follow the last unit of an aggregate"
    case .emptyUnits: "aggregates have units without bytes"
    case .rtcpAmongMedia: "RTCP comes on the port of the media"
    case .sdesWithoutEnd: "source descriptions have no end (Hanwha)"
    case .reportOfStranger: "sender reports name another SSRC (Tapo C320WS)"
    case .reportFarAhead: "sender reports are an hour ahead of the media"
    case .reportJitter: "the times in sender reports jitter by half a second (Xenon)"
    }
  }

  /// All of them, a line each.
  public static var list: String {
    let width = allCases.map(\.rawValue.count).max() ?? 0
    return allCases.map { quirk in
      quirk.rawValue + String(repeating: " ", count: width + 2 - quirk.rawValue.count)
        + quirk.summary
    }.joined(separator: "\n")
  }
}
