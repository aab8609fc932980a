import Decode

/// `.yuv`: the planes of every frame one after the other, as decoded, without any header.
///
/// Samples of more than 8 bits take two bytes, low byte first.
struct YUVOutput: Output {
  static let format = OutputFormat(name: "yuv", inputs: .frames) { YUVOutput() }

  mutating func record(for item: OutputItem) throws(OutputError) -> OutputRecord? {
    guard case .frame(let frame) = item else { return nil }
    return OutputRecord(pieces: [.planes(frame)])
  }
}
