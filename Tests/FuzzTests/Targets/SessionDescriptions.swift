import RTPWire

@testable import Transports

extension FuzzTarget {
  /// F3: session descriptions (RFC 8866) with all attributes that are read, keys included.
  static let sessionDescription = FuzzTarget("sdp") { choices in
    var bytes = choices.all()
    guard let description = try? SessionDescription(parsing: bytes) else { return }
    try require(bytes.count <= SessionDescription.maximumLength, "\(bytes.count) bytes are taken")
    try require(
      description.media.count <= SessionDescription.maximumMedia, "\(description.media.count) media"
    )
    for media in description.media {
      try require((0...65_535).contains(media.port), "port \(media.port)")
      try require(media.payloadTypes.allSatisfy { $0 < 128 }, "\(media.payloadTypes)")
      try require(media.description.payloadType.map { $0 < 128 } ?? true, "\(media.description)")
      try require(media.description.clockRate > 0, "a clock that stands still")
      try require(media.controlPort.map { (1...65_535).contains($0) } ?? true, "\(media)")
      try require(media.cryptos.count <= SessionDescription.maximumCryptos, "keys")
      try require(
        media.description.formatParameters.count <= SessionDescription.maximumFormatParameters,
        "\(media.description.formatParameters.count) parameters")
      if let other = media.retransmission {
        try require(description.media.indices.contains(other), "retransmissions of \(other)")
      }
      let filters = media.sourceFilters
      try require(
        filters.count <= SessionDescription.maximumSources
          && filters.allSatisfy { $0.sources.count <= SessionDescription.maximumSources },
        "\(filters.count) filters")
      _ = media.senders
    }
    // Line ends do not matter, nor empty lines.
    let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }
    let again = try? SessionDescription(parsing: Array(lines.joined(separator: [0x0A])))
    try requireEqual(again?.media.count, description.media.count)
    _ = try? SessionDescription(wiping: &bytes)
    try require(bytes.allSatisfy { $0 == 0 }, "the keys are not wiped")
  }
}
