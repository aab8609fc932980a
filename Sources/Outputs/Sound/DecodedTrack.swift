import Bitstream
import Decode
import Defragment

/// A sound track as samples without holes: what is missing, or cannot be decoded, is made up by the
/// decoder if it can, for a moment, and then silence.
struct DecodedTrack {
  /// The most samples of silence in one piece, a second at the usual rates.
  private static let longestPiece = 48_000
  /// How long a unit that cannot be decoded is silent, at most, in seconds.
  ///
  /// No coded unit lasts longer: 1024 samples of AAC at 7,350 Hz are 0.139 s, a packet of Opus is
  /// at most 0.12 s. What is said of a forged one may be anything.
  private static let longestUnit = 0.14

  /// How much of a hole is made up, in seconds: what is heard of it by then is very soft.
  private static let longestConcealment = 0.25

  private var decoder: SoundDecoder?
  private var timeline = SoundTimeline()
  private var shape: (rate: Int, channels: Int)?

  /// The samples of `unit`, after what belongs before it.
  ///
  /// - Throws: ``OutputError`` when there is no decoder, or when rate or channels change.
  mutating func take(_ unit: SoundUnit) throws(OutputError) -> [SoundSamples] {
    let decoder = try decoder(for: unit.format)
    let rate = unit.format.sampleRate
    var silence = timeline.silence(before: unit)
    let made = unit.isDiscontinuity ? [] : Self.concealed(silence, at: rate, by: decoder)
    silence -= made.reduce(0) { $0 + $1.count }
    if unit.isDiscontinuity || silence > 0 { decoder.restart() }
    let samples = decoder.decode(unit.bytes)
    if samples == nil { silence += min(unit.sampleCount, Int(Self.longestUnit * Double(rate))) }
    if let samples { try note((samples.sampleRate, samples.channels)) }
    guard let shape else { return [] }
    return made + Self.silence(silence * shape.rate / rate, shape) + [samples].compactMap(\.self)
  }

  /// What `decoder` makes up for the first of `missing` samples, if it has their rate.
  private static func concealed(
    _ missing: Int, at rate: Int, by decoder: SoundDecoder
  ) -> [SoundSamples] {
    var rest = min(missing, Int(longestConcealment * Double(rate)))
    var pieces: [SoundSamples] = []
    while rest > 0, let piece = decoder.conceal(), piece.sampleRate == rate, piece.count > 0 {
      pieces.append(piece.count > rest ? piece.prefix(rest) : piece)
      rest -= piece.count
    }
    return pieces
  }

  private mutating func decoder(for format: SoundFormat) throws(OutputError) -> SoundDecoder {
    if let decoder, decoder.format == format { return decoder }
    do {
      let decoder = try SoundDecoder(format)
      self.decoder = decoder
      return decoder
    } catch {
      throw .noSoundDecoder(error)
    }
  }

  private mutating func note(_ found: (rate: Int, channels: Int)) throws(OutputError) {
    guard let shape, shape != found else {
      shape = found
      return
    }
    throw .soundChanged(from: Self.words(for: shape), to: Self.words(for: found))
  }

  private static func words(for shape: (rate: Int, channels: Int)) -> String {
    "\(shape.rate) Hz, \(shape.channels) channel\(shape.channels == 1 ? "" : "s")"
  }

  /// `count` samples of silence, in pieces that share their memory.
  private static func silence(
    _ count: Int, _ shape: (rate: Int, channels: Int)
  ) -> [SoundSamples] {
    func piece(_ length: Int) -> SoundSamples {
      SoundSamples(
        sampleRate: shape.rate, channels: shape.channels,
        values: Array(repeating: 0, count: length * shape.channels))
    }
    let (whole, rest) = count.quotientAndRemainder(dividingBy: longestPiece)
    return (whole > 0 ? Array(repeating: piece(longestPiece), count: whole) : [])
      + (rest > 0 ? [piece(rest)] : [])
  }
}
