public import Impairment
public import NIOCore
import RTPWire
import Transports

/// What a receiver needs to know of a stream before its first packet.
public struct StreamDescription: Sendable {
  public var codec: Codec
  /// The parameter sets at the beginning of the source, one of each that differs.
  public var parameterSets: [Codec.ParameterSet: [ByteBuffer]]
  /// Pictures a second, where that is known.
  public var frameRate: Double?

  /// Access units that are searched for parameter sets: some seconds of video.
  private static let searchLimit = 300

  /// Reads the beginning of a source.
  ///
  /// - Throws: ``SendError`` when the source cannot be opened, or has no picture.
  public init(of recipe: SourceRecipe) throws {
    if case .live(let stream) = recipe {
      guard let video = stream.knownContents?.video else {
        throw SendError.noVideo(path: stream.name)
      }
      (codec, parameterSets) = (video.codec, video.parameterSets)
      return
    }
    let source = try recipe.make()
    codec = source.codec
    frameRate = source.frameRate
    parameterSets = [:]
    var isEmpty = true
    for _ in 0..<Self.searchLimit {
      guard let unit = try source.next().element else { break }
      isEmpty = false
      for nalUnit in unit.units {
        guard let kind = codec.parameterSet(nalUnit) else { continue }
        if parameterSets[kind]?.contains(nalUnit) != true {
          parameterSets[kind, default: []].append(nalUnit)
        }
      }
      if parameterSets[.sequence] != nil, parameterSets[.picture] != nil { break }
    }
    if isEmpty, case .file(let path, _) = recipe { throw SendError.noVideo(path: path) }
  }
}

/// Writes a session description (RFC 8866) with the parameters of RFC 6184 §8.2 and RFC 7798 §7.2.
public struct SessionDescription: Sendable {
  /// The video, if there is any.
  public var description: StreamDescription?
  public var payloadType: UInt8
  public var packetization: Packetization
  /// Where the media goes to, or comes from when it waits for a hello.
  public var address: SocketAddress
  /// Whether RTCP comes on the port of the media (RFC 5761).
  public var multiplexesRTCP: Bool
  /// Whether all of it is SRTP, with a key that is given elsewhere.
  public var isProtected: Bool
  public var correction: RTPStream.Correction?
  /// What the receiver may ask for.
  public var feedback = FeedbackConfiguration()
  public var sound: SoundDescription?
  /// Of devices, those that are not of descriptions have no effect.
  public var quirks: Set<Quirk> = []
  /// How it is served by RTSP, which has addresses and ports of its own.
  var served: Served?

  /// What a description says only in RTSP (RFC 2326 C.1).
  struct Served: Sendable {
    /// Nanoseconds; `nil` for what is live.
    var duration: Int64?
    /// The value of `a=crypto` (RFC 4568), where TLS hides it.
    var crypto: String?
  }

  public init(
    _ description: StreamDescription?, payloadType: UInt8, packetization: Packetization,
    address: SocketAddress, multiplexesRTCP: Bool, isProtected: Bool = false,
    correction: RTPStream.Correction? = nil
  ) {
    self.correction = correction
    self.isProtected = isProtected
    self.description = description
    self.payloadType = payloadType
    self.packetization = packetization
    self.address = address
    self.multiplexesRTCP = multiplexesRTCP
  }

  /// The whole text, lines ended by CR LF.
  public var text: String {
    if let served { return text(of: served) }
    let host = address.ipAddress ?? "0.0.0.0"
    let family = host.contains(":") ? "IP6" : "IP4"
    // RFC 8866 §5.7: IPv4 multicast addresses carry a time to live.
    let suffix = address.isMulticast && family == "IP4" ? "/1" : ""
    var lines = [
      "v=0", "o=- 1 1 IN \(family) \(host)", "s=rtp-send", "c=IN \(family) \(host)\(suffix)",
      "t=0 0",
    ]
    if separateRetransmission != nil { lines.append("a=group:FID 1 2") }
    if isBundled { lines.append("a=group:BUNDLE 1 3") }
    if let description { lines += video(description) }
    if let sound { lines += section(of: sound) }
    return text(of: lines)
  }

  /// The text for clients of RTSP: addresses are left to SETUP, because VLC joins a group that
  /// stands here, and control URLs are relative and decimal, as Grandstream's clients want them.
  private func text(of served: Served) -> String {
    let range = served.duration.map { "0-\(PlayRange.text($0))" } ?? "now-"
    var lines = [
      "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=rtp-send", "c=IN IP4 0.0.0.0", "t=0 0", "a=control:*",
      "a=range:npt=\(range)",
    ]
    let crypto = served.crypto.map { ["a=crypto:\($0)"] } ?? []
    var sections: [[String]] = []
    if let description {
      sections.append(video(description))
      if let rate = description.frameRate {
        sections[0].append("a=framerate:\(PlayRange.text(Int64(clamping: rate * 1e9)))")
      }
    }
    if let sound { sections.append(section(of: sound)) }
    for (index, section) in sections.enumerated() {
      lines += section + crypto + ["a=control:trackID=\(index + 1)"]
    }
    return text(of: lines)
  }

  private func text(of lines: [String]) -> String {
    let text = lines.map { $0 + "\r\n" }.joined()
    return quirks.isEmpty ? text : QuirkyDescription.apply(quirks, to: text)
  }

  /// Whether sound and video share a port (RFC 9143).
  private var isBundled: Bool { served == nil && description != nil && sound?.portOffset == 0 }

  private var multiplexing: [String] { served == nil && multiplexesRTCP ? ["a=rtcp-mux"] : [] }

  /// The port of the media.
  private var port: Int { served == nil ? address.port ?? 0 : 0 }

  private var profile: String { isProtected ? "RTP/SAVP" : "RTP/AVP" }

  /// The payload type of retransmissions, if there are any.
  private var retransmission: UInt8? {
    feedback.requests.contains(.nack) ? feedback.retransmissionPayloadType : nil
  }

  /// The same, if they have a section of their own.
  private var separateRetransmission: UInt8? {
    feedback.hasRetransmissionSession ? retransmission : nil
  }

  private func section(of sound: SoundDescription) -> [String] {
    let port = served == nil ? port + sound.portOffset : 0
    return ["m=audio \(port) \(profile) \(sound.payloadType)"] + sound.attributes
      + (isBundled ? ["a=mid:3"] : []) + multiplexing
  }

  private func video(_ description: StreamDescription) -> [String] {
    let isApart = separateRetransmission != nil
    let types =
      [payloadType] + (correction?.payloadTypes ?? [])
      + (isApart ? [] : retransmission.map { [$0] } ?? [])
    let profile = profile + (feedback.requests.isEmpty ? "" : "F")
    var lines = [
      "m=video \(port) \(profile) "
        + types.map { "\($0)" }.joined(separator: " "),
      "a=rtpmap:\(payloadType) \(description.codec.encodingName)/90000",
    ]
    let parameters = formatParameters(description)
    if !parameters.isEmpty {
      lines.append("a=fmtp:\(payloadType) " + parameters.joined(separator: ";"))
    }
    if let correction {
      lines.append("a=rtpmap:\(correction.payloadType) \(correction.format.rawValue)/90000")
      if let type = correction.redundancyPayloadType { lines.append("a=rtpmap:\(type) red/90000") }
    }
    for request in FeedbackRequest.allCases where feedback.requests.contains(request) {
      let message = [.nack: "nack", .pli: "nack pli", .fir: "ccm fir"][request] ?? ""
      lines.append("a=rtcp-fb:\(payloadType) \(message)")
    }
    if let retransmission {
      if isApart {
        let port = (address.port ?? 0) + feedback.portOffset
        lines +=
          multiplexing + ["a=mid:1", "m=video \(port) \(profile) \(retransmission)", "a=mid:2"]
      }
      lines += [
        "a=rtpmap:\(retransmission) rtx/90000", "a=fmtp:\(retransmission) apt=\(payloadType)",
      ]
    }
    return lines + (isBundled && !isApart ? ["a=mid:1"] : []) + multiplexing
  }

  private func formatParameters(_ description: StreamDescription) -> [String] {
    let isInterleaved = packetization.isInterleaved
    var parameters: [String] = []
    switch description.codec {
    case .h264:
      let mode = isInterleaved ? 2 : packetization == .single ? 0 : 1
      parameters.append("packetization-mode=\(mode)")
      if isInterleaved {
        parameters.append("sprop-interleaving-depth=\(Interleaver.depth)")
        parameters.append("sprop-deint-buf-req=\(description.interleavedBytes)")
        parameters.append("sprop-max-don-diff=\(Interleaver.maximumDifference)")
      }
      // profile_idc, the constraint flags and level_idc follow the header of the SPS.
      if let set = description.parameterSets[.sequence]?.first,
        let profile = set.getBytes(at: set.readerIndex + 1, length: 3)
      {
        parameters.append("profile-level-id=\(Self.hexadecimal(profile))")
      }
      let sets = [Codec.ParameterSet.sequence, .sequenceExtension, .picture]
        .flatMap { Self.base64(description, $0) }
      if !sets.isEmpty {
        parameters.append("sprop-parameter-sets=" + sets.joined(separator: ","))
      }
    case .h265:
      if isInterleaved {
        parameters.append("sprop-max-don-diff=\(Interleaver.maximumDifference)")
        parameters.append("sprop-depack-buf-nalus=\(Interleaver.depth)")
        parameters.append("sprop-depack-buf-bytes=\(description.interleavedBytes)")
      }
      let named: [(String, Codec.ParameterSet)] = [
        ("sprop-vps", .video), ("sprop-sps", .sequence), ("sprop-pps", .picture),
      ]
      for (name, kind) in named {
        let sets = Self.base64(description, kind)
        if !sets.isEmpty { parameters.append("\(name)=" + sets.joined(separator: ",")) }
      }
    }
    return parameters
  }

  private static func base64(
    _ description: StreamDescription, _ kind: Codec.ParameterSet
  ) -> [String] {
    (description.parameterSets[kind] ?? []).map { base64($0) }
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
  }

  /// RFC 4648 §4, with padding.
  static func base64(_ bytes: ByteBuffer) -> String {
    String(decoding: bytes.readableBytesView.base64, as: UTF8.self)
  }
}
