import ArgumentParser
import Bitstream
import Defragment
import RTPWire
import Transports

/// What a source says about its streams, for people or for programs.
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

  private let media: [SessionDescription.Media]

  init(of description: SessionDescription) { media = description.media }

  func shown(as form: Form) -> String {
    let lines = media.enumerated().map { number, media in
      switch form {
      case .text: text(number, media)
      case .json: json(number, media).text
      }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private func text(_ number: Int, _ media: SessionDescription.Media) -> String {
    let description = media.description
    var words = ["\(number)", media.kind, description.encodingName ?? "unknown"]
    if let format = Self.format(of: media) { words.append(format.summary) }
    if let type = description.payloadType { words.append("payload type \(type)") }
    words.append("\(description.clockRate) Hz")
    if media.isBackChannel { words.append("back channel") }
    return words.joined(separator: "  ")
  }

  private func json(_ number: Int, _ media: SessionDescription.Media) -> JSONLine {
    let description = media.description
    var line = JSONLine()
    line.add("stream", number)
    line.add("kind", media.kind)
    line.add("encoding", description.encodingName)
    if let type = description.payloadType { line.add("payload_type", type) }
    line.add("clock_rate", description.clockRate)
    line.add("profile", media.profile)
    line.add("control", media.control)
    line.add("back_channel", media.isBackChannel)
    if let format = Self.format(of: media) { line.add("format", Statistics.format(format)) }
    return line
  }

  /// What the parameter sets in the description say; many servers send them with the media only.
  private static func format(of media: SessionDescription.Media) -> FormatDescription? {
    (try? VideoDefragmenter(media: media.description))?.formatDescription
  }
}
