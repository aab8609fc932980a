extension FuzzTarget {
  /// In the order of the specification of hostile input, and then the rest.
  static let all: [FuzzTarget] = [
    rtpPacket, controlPackets, sessionDescription, interleavedConnection, framedStream, reordering,
    h264, h265, bitstream, protectedPackets, keyText, headers, reception, decoderReports, frames,
    recording, secondReading, sound, soundConfiguration, capture, network, growing, client, server,
    serverRequests, proxy,
    onvif, fleet, pageRequest, webSocket,
  ]
}
