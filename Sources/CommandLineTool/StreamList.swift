import ArgumentParser
import Bitstream
import Defragment
import Outputs
import RTPWire
import Transports

/// The streams of a source, for people or for programs.
struct StreamList {
  /// How the list is shown.
  enum Form: EnumerableFlag {
    case text, json

    static func name(for value: Form) -> NameSpecification {
      switch value {
      case .text: .customLong("list")
      case .json: .customLong("list-json")
      }
    }
  }

  private let streams: [ListedStream]

  /// `media` is what the options say of the media.
  init(of listing: StreamListing, media: MediaDescription) {
    streams = listing.streams.map {
      var stream = $0
      stream.complete(with: media, isRecognized: Self.recognizedEncoding(of: $0) != nil)
      return stream
    }
  }

  func shown(as form: Form) -> String {
    let lines = streams.enumerated().map { number, stream in
      switch form {
      case .text: text(number, stream)
      case .json: json(number, stream).text
      }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private func text(_ number: Int, _ stream: ListedStream) -> String {
    let description = stream.description
    let encoding = description.encodingNames ?? Self.recognizedEncoding(of: stream) ?? "unknown"
    var words = ["\(number)", description.kind.rawValue, encoding]
    if let format = Self.format(of: description) { words.append(format.summary) }
    if let type = description.payloadType { words.append("payload type \(type)") }
    words.append("\(description.clockRate) Hz")
    if let channels = description.channels, channels > 1 { words.append("\(channels) channels") }
    if stream.isBackChannel { words.append("back channel") }
    words += stream.properties.compactMap(\.shown)
    if let flow = stream.flow { words += Self.words(for: flow) }
    if stream.isPlayed { words.append("played by default") }
    return words.joined(separator: "  ")
  }

  private static func words(for flow: FlowFigures) -> [String] {
    var way = [flow.source, flow.destination].compactMap(\.self).joined(separator: " → ")
    if let channel = flow.channel { way += ", channel \(channel)" }
    let share = (100 * flow.lossShare).formatted(digits: 2)
    let words = [
      way, "--ssrc \(flow.ssrcDigits)", flow.packets.counted("packet"),
      flow.repeated > 0 ? "\(flow.repeated) recorded twice" : "", "\(flow.lost) lost (\(share) %)",
      flow.jitter.map { "jitter \(($0.seconds * 1000).formatted(digits: 1)) ms" } ?? "",
      "\(flow.duration.seconds.formatted(digits: 1)) s",
    ]
    return words.filter { !$0.isEmpty }
  }

  private func json(_ number: Int, _ stream: ListedStream) -> JSONLine {
    let description = stream.description
    var line = JSONLine()
    line.add("stream", number)
    line.add("kind", description.kind.rawValue)
    line.add("encoding", Self.encoding(of: stream))
    if let type = description.payloadType { line.add("payload_type", type) }
    line.add("clock_rate", description.clockRate)
    if let channels = description.channels { line.add("channels", channels) }
    if let profile = stream.profile {
      line.add("profile", profile)
      line.add("control", stream.control)
      line.add("back_channel", stream.isBackChannel)
    }
    for property in stream.properties {
      switch property.value {
      case .text(let text): line.add(property.name, text)
      case .number(let number): line.add(property.name, number)
      }
    }
    if let format = Self.format(of: description) { line.add("format", Statistics.format(format)) }
    guard let flow = stream.flow else { return line }
    line.add("source", flow.source)
    line.add("destination", flow.destination)
    if let channel = flow.channel { line.add("channel", channel) }
    line.add("ssrc", flow.ssrc)
    line.add("packets", flow.packets)
    line.add("repeated", flow.repeated)
    line.add("bytes", flow.bytes)
    line.add("lost", flow.lost)
    line.add("loss_percent", 100 * flow.lossShare)
    line.add("jitter_ms", flow.jitter.map { $0.seconds * 1000 })
    line.add("duration_s", flow.duration.seconds)
    return line
  }

  /// The encoding that is described, or else the one that the packets show.
  private static func encoding(of stream: ListedStream) -> String? {
    stream.description.encodingName ?? recognizedEncoding(of: stream)
  }

  private static func recognizedEncoding(of stream: ListedStream) -> String? {
    var recognizer = FormatRecognizer(CommandLineTool.current.formats)
    for sample in stream.flow?.samples ?? [] {
      guard let packet = try? RTPPacket(parsing: sample) else { continue }
      recognizer.observe(packet)
    }
    return recognizer.result?.codec.encodingName
  }

  /// The format by the parameter sets in the description; many servers send these only with the
  /// media.
  private static func format(of description: MediaDescription) -> FormatDescription? {
    let formats = CommandLineTool.current.formats
    return (try? VideoDefragmenter(media: description, formats: formats))?.formatDescription
  }
}

extension ListedStream {
  /// Completes what is recorded with what the options say of the media, which takes precedence, as
  /// when it is played.
  ///
  /// All formats that are recognized have one clock rate (RFC 6184, RFC 7798).
  fileprivate mutating func complete(with media: MediaDescription, isRecognized: Bool) {
    guard let flow, description.kind != .audio else { return }
    if description.encodingName == nil, isRecognized {
      description.clockRate = MediaDescription.videoClockRate
    }
    let types = [media.payloadType, description.payloadType].compactMap(\.self)
    if Set(types).count < 2 {
      description = media.completed(by: description)
      if media.encodingName != nil { description.clockRate = media.clockRate }
    }
    self.flow?.jitter = flow.jitters[description.clockRate]
  }
}

extension FlowFigures {
  /// The share of the packets that are missing, 0 … 1.
  fileprivate var lossShare: Double {
    let expected = (packets - min(repeated, packets)).addingReportingOverflow(lost).partialValue
    return expected == 0 ? 0 : Double(lost) / Double(expected)
  }

  /// As Wireshark shows it, and as `--ssrc` takes it.
  fileprivate var ssrcDigits: String {
    let digits = String(ssrc, radix: 16)
    return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
  }
}
