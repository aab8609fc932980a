/// What cameras and servers do otherwise than standards say, by name.
public enum Quirk: String, Sendable, Hashable, CaseIterable {
  // Of packets, also those of others.
  case noMarker = "no-marker"
  case markerOnEveryPacket = "marker-on-every-packet"
  case timestampsStuck = "timestamps-stuck"
  case timestampsInMilliseconds = "timestamps-in-milliseconds"
  case extraPackets = "extra-packets"
  case padding
  case rtcpAmongMedia = "rtcp-among-media"
  case reportOfStranger = "report-of-stranger"
  case reportFarAhead = "report-far-ahead"
  case reportJitter = "report-jitter"

  // Of whoever makes the payloads.
  case markerOnEverySlice = "marker-on-every-slice"
  case markerAfterParameterSets = "marker-after-parameter-sets"
  case parameterSetsEarly = "parameter-sets-early"
  case parameterSetsInSDP = "parameter-sets-in-sdp"
  case bytesAfterSPS = "bytes-after-sps"
  case timestampsByDecodingOrder = "timestamps-by-decoding-order"
  case ssrcPerGroup = "ssrc-per-gop"
  case emptyPayloads = "empty-payloads"
  case startCodesInside = "start-codes-inside"
  case fragmentAlone = "fragment-alone"
  case fragmentWithoutStart = "fragment-without-start"
  case fragmentWithoutEnd = "fragment-without-end"
  case fragmentTypeChanges = "fragment-type-changes"
  case fragmentReservedBit = "fragment-reserved-bit"
  case emptyFragments = "empty-fragments"
  case aggregatePadding = "aggregate-padding"
  case emptyUnits = "empty-units"
  case sdesWithoutEnd = "sdes-without-end"
  case adtsInside = "adts-inside"

  // Of descriptions.
  case noOrigin = "sdp-no-origin"
  case originInMedia = "sdp-origin-in-media"
  case textOrigin = "sdp-text-origin"
  case timeNow = "sdp-time-now"
  case brokenConnection = "sdp-broken-connection"
  case oddMedia = "sdp-odd-media"
  case emptyFormat = "sdp-empty-fmtp"
  case formatElsewhere = "sdp-fmtp-elsewhere"
  case formatSemicolon = "sdp-fmtp-semicolon"
  case mapSpaces = "sdp-rtpmap-spaces"
  case rateZero = "sdp-rate-zero"
  case modeZero = "sdp-mode-zero"
  case brokenSets = "sdp-broken-sets"
  case setsWithStartCodes = "sdp-sets-with-start-codes"
  case setsTogether = "sdp-sets-together"
  case backChannels = "sdp-back-channels"
  case keyExchange = "sdp-mikey"
  case soundModeName = "sdp-aac-mode"
  case noIndexLength = "sdp-no-indexlength"

  // Of RTSP servers.
  case infoSequenceZero = "rtp-info-seq-zero"
  case infoTimeNegative = "rtp-info-time-negative"
  case infoSemicolon = "rtp-info-semicolon"
  case ssrcSpace = "transport-ssrc-space"
  case ssrcInvalid = "transport-ssrc-invalid"
  case ssrcFirst = "transport-ssrc-first"
  case oneChannel = "transport-one-channel"
  case transportSaysUDP = "transport-says-udp"
  case sessionChanges = "session-changes"
  case optionsFail = "options-501"
  case optionsMissing = "options-404"
  case keepalivesUnanswered = "keepalives-unanswered"
  case noNumber = "no-cseq"
  case noNumberBelowOne = "no-cseq-below-one"
  case oddHeaders = "odd-headers"
  case noReason = "no-reason"
  case noContentType = "no-content-type"
  case baseWithoutScheme = "content-base-bare"
  case baseTwice = "content-base-twice"
  case baseWithoutSlash = "content-base-no-slash"
  case baseWithoutBrackets = "content-base-no-brackets"
  case controlQuery = "control-query"
  case strayFrames = "stray-frames"
  case oldSession = "old-session-packets"
  case otherChannels = "transport-other-channels"
  case mediaBeforePlay = "media-before-play"
  case keepalivesRefused = "keepalives-refused"
  case shortTimeout = "session-timeout-2s"
  case pauseFails = "pause-551"
  case describeNeeded = "setup-needs-describe"
  case rangeNeeded = "play-needs-range"
  case agentNeeded = "user-agent-needed"
  case everyTrackNeeded = "play-needs-every-track"
  case getParameterAlone = "get-parameter-alone"
  case reportInterval = "rtcp-interval"
  case punchRefused = "punch-refused"
  case tunnelAddress = "tunnel-names-localhost"
  case tunnelLogin = "tunnel-login"

  /// Who can have it.
  public enum Place: Sendable, Hashable, CaseIterable {
    /// Headers and reports, which a proxy can change too.
    case packets
    case payloads, description, session
    /// RTSP in HTTP, which a proxy does not open.
    case tunnel
  }

  public var place: Place {
    switch self {
    case .noMarker, .markerOnEveryPacket, .timestampsStuck, .timestampsInMilliseconds,
      .extraPackets, .padding, .rtcpAmongMedia, .reportOfStranger, .reportFarAhead, .reportJitter:
      .packets
    case .markerOnEverySlice, .markerAfterParameterSets, .parameterSetsEarly, .parameterSetsInSDP,
      .bytesAfterSPS, .timestampsByDecodingOrder, .ssrcPerGroup, .emptyPayloads,
      .startCodesInside, .fragmentAlone, .fragmentWithoutStart, .fragmentWithoutEnd,
      .fragmentTypeChanges, .fragmentReservedBit, .emptyFragments, .aggregatePadding, .emptyUnits,
      .sdesWithoutEnd, .adtsInside:
      .payloads
    case .noOrigin, .originInMedia, .textOrigin, .timeNow, .brokenConnection, .oddMedia,
      .emptyFormat, .formatElsewhere, .formatSemicolon, .mapSpaces, .rateZero, .modeZero,
      .brokenSets, .setsWithStartCodes, .setsTogether, .backChannels, .keyExchange,
      .soundModeName, .noIndexLength:
      .description
    case .infoSequenceZero, .infoTimeNegative, .infoSemicolon, .ssrcSpace, .ssrcInvalid,
      .ssrcFirst, .oneChannel, .transportSaysUDP, .sessionChanges, .optionsFail,
      .keepalivesUnanswered, .noNumber, .oddHeaders, .noReason, .noContentType,
      .baseWithoutScheme, .baseTwice, .strayFrames, .oldSession, .otherChannels, .mediaBeforePlay,
      .keepalivesRefused, .shortTimeout, .pauseFails, .describeNeeded, .rangeNeeded,
      .agentNeeded, .everyTrackNeeded, .getParameterAlone, .baseWithoutSlash, .reportInterval,
      .optionsMissing, .noNumberBelowOne, .baseWithoutBrackets, .controlQuery, .punchRefused:
      .session
    case .tunnelAddress, .tunnelLogin: .tunnel
    }
  }

  /// What is sent, and who does it.
  public var summary: String {
    switch self {
    case .noMarker: "no packet has the marker (FLIR M400)"
    case .markerOnEveryPacket: "every packet has the marker"
    case .timestampsStuck: "all timestamps are the same"
    case .timestampsInMilliseconds: "timestamps count milliseconds"
    case .extraPackets: "packets of type 50 repeat a sequence number (Geovision)"
    case .padding: "packets are padded (RFC 3550 §5.1)"
    case .rtcpAmongMedia: "RTCP comes on the port or channel of the media"
    case .reportOfStranger: "sender reports name another SSRC (Tapo C320WS)"
    case .reportFarAhead: "sender reports are an hour ahead of the media"
    case .reportJitter: "the times in sender reports jitter by half a second (Xenon)"
    case .markerOnEverySlice:
      "each slice is in packets of its own, the last of which has the marker (live555)"
    case .markerAfterParameterSets:
      "each parameter set and SEI has the marker (Reolink, Tapo TC70, LV-IP22IR40DVBL)"
    case .parameterSetsEarly:
      "parameter sets and SEI have the time of the picture before (Reolink)"
    case .parameterSetsInSDP: "parameter sets are in the SDP file alone"
    case .bytesAfterSPS: "more bytes follow the SPS (Reolink)"
    case .timestampsByDecodingOrder: "timestamps say when to decode; use with --bframes"
    case .ssrcPerGroup: "the SSRC changes with each group of pictures (Uniview)"
    case .emptyPayloads: "some packets have no payload"
    case .startCodesInside: "a NAL unit holds several, with start codes (V380, Amatek)"
    case .fragmentAlone: "a fragment is start and end (CostarHD, OpenIPC)"
    case .fragmentWithoutStart: "no fragment is the start"
    case .fragmentWithoutEnd: "no fragment is the end"
    case .fragmentTypeChanges: "the NAL unit type changes among fragments (Tiandy)"
    case .fragmentReservedBit: "the reserved bit of fragments is set (Longse)"
    case .emptyFragments: "fragments without bytes lie between the others"
    case .aggregatePadding: "zeros follow the last unit of an aggregate"
    case .emptyUnits: "aggregates have units without bytes"
    case .sdesWithoutEnd: "source descriptions have no end (Hanwha)"
    case .adtsInside: "AAC has ADTS headers inside the payloads of RFC 3640 (Sony)"
    case .noOrigin: "no o="
    case .originInMedia: "o= stands in a media section"
    case .textOrigin: "o= has text and fractions where numbers belong"
    case .timeNow: "t=now- (FLIR)"
    case .brokenConnection:
      "c= in five wrong forms, such as c=IN IPV4 (Uniview, Vurix, Altasec, Verint)"
    case .oddMedia:
      "sections m=application/TP-LINK, metadata, meta and text (TP-Link, Mercury, Wisenet)"
    case .emptyFormat: "fmtp without parameters (Ubiquiti)"
    case .formatElsewhere: "fmtp stands in another section"
    case .formatSemicolon: "fmtp ends with a semicolon (Reolink)"
    case .mapSpaces: "rtpmap ends with a space (macro-video)"
    case .rateZero: "the clock rate is 0"
    case .modeZero: "packetization-mode=0, whatever is sent"
    case .brokenSets: "the parameter sets are invalid (VStarcam)"
    case .setsWithStartCodes: "the parameter sets begin with start codes (Revotech)"
    case .setsTogether:
      "H.264's parameter sets are one text, with a start code between them (GW4089IP)"
    case .backChannels: "every section says that it is a back channel"
    case .keyExchange: "key-mgmt with a byte too many, which belongs to nobody (Axis)"
    case .soundModeName: "mode=aac_hbr (Sony, AVOID)"
    case .noIndexLength: "AAC without indexlength and indexdeltalength"
    case .infoSequenceZero: "RTP-Info says seq=0 (Hikvision DS-2CD2032-I)"
    case .infoTimeNegative: "RTP-Info says a negative rtptime (OMNY M5S2A)"
    case .infoSemicolon: "RTP-Info ends with a semicolon (Laureii)"
    case .ssrcSpace: "a space before the SSRC in Transport (Hikvision iDS-2CD9396)"
    case .ssrcInvalid: "the SSRC in Transport is none (Uniden)"
    case .ssrcFirst: "ssrc= before ports and channels in Transport (Luckfox)"
    case .oneChannel: "interleaved= has one number"
    case .transportSaysUDP: "Transport says RTP/AVP where it is TCP (Escam Q6)"
    case .sessionChanges: "each SETUP is answered with another session (H264DVR)"
    case .optionsFail: "OPTIONS is answered with 501 (Foscam)"
    case .optionsMissing: "OPTIONS is answered with 404"
    case .keepalivesUnanswered: "GET_PARAMETER and OPTIONS in a session are not answered"
    case .noNumber: "no CSeq in responses"
    case .noNumberBelowOne: "a CSeq below 1 is not copied"
    case .oddHeaders: "header names in odd case, spaces behind CSeq (Longse)"
    case .noReason: "no reason in the status line"
    case .noContentType: "no Content-Type"
    case .baseWithoutScheme: "Content-Base without its scheme (Anjvision)"
    case .baseTwice: "Content-Base with its scheme twice"
    case .baseWithoutSlash:
      "Content-Base without a slash at its end: the track is appended, not resolved"
    case .baseWithoutBrackets: "Content-Base with an IPv6 address without brackets"
    case .controlQuery: "control URLs have a query that SETUP needs (Axis Companion)"
    case .strayFrames: "frames on a channel that nobody set up (H264DVR)"
    case .oldSession:
      "in TCP, packets of an older session follow each SETUP (live555 before 2017.06.04, Reolink)"
    case .otherChannels: "other interleaved channels than the client asks for"
    case .mediaBeforePlay: "media comes before the answer to PLAY (Reolink, v4l2rtspserver)"
    case .keepalivesRefused:
      "GET_PARAMETER and SET_PARAMETER are answered with 400 and the CSeq before (C520WS)"
    case .shortTimeout: "sessions are said to end after two seconds (FLIR, Dahua: some more)"
    case .pauseFails: "PAUSE is answered with 551 (Hikvision DS-2CD2732F)"
    case .describeNeeded: "SETUP needs a DESCRIBE in the same connection (Hikvision)"
    case .rangeNeeded: "PLAY needs Range (Parrot)"
    case .agentNeeded: "requests without User-Agent are answered with 401"
    case .everyTrackNeeded: "no media come until every track is set up (H264DVR)"
    case .getParameterAlone:
      "other signs of life than GET_PARAMETER end the connection (VLC, rtsp-simple-server 0.19)"
    case .reportInterval: "the answer to PLAY says RTCP-Interval"
    case .punchRefused:
      "over UDP, what is sent to the port of the media is refused (ICMP), as closed ports do"
    case .tunnelAddress:
      "the answer that opens RTSP in HTTP names 127.0.0.1 as the server's address"
    case .tunnelLogin:
      "RTSP in HTTP needs the login for HTTP already, and 401 ends the connection"
    }
  }

  /// What proxies of RTSP can do.
  public static let ofProxies: Set<Place> = [.packets, .description, .session]

  /// Those of some places, a line each.
  public static func list(_ places: Set<Place>) -> String {
    let quirks = allCases.filter { places.contains($0.place) }
    let width = quirks.map(\.rawValue.count).max() ?? 0
    return quirks.map { quirk in
      quirk.rawValue + String(repeating: " ", count: width + 2 - quirk.rawValue.count)
        + quirk.summary
    }.joined(separator: "\n")
  }
}
