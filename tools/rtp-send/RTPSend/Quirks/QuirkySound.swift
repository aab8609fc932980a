import Impairment
import NIOCore

/// The frames of sound as cameras with quirks make them.
struct QuirkySound {
  /// What ADTS says of a frame; `nil` where the frames are in something else, or their channels do
  /// not fit three bits.
  private let header: AudioSpecificConfig?

  init(_ format: SoundFormat) {
    header =
      format.coding == .aac && format.channels < 8
      ? AudioSpecificConfig(rate: format.samplingRate, channels: format.channels) : nil
  }

  func change(_ unit: inout SourceAccessUnit, _ quirks: Set<Quirk>) {
    guard quirks.contains(.adtsInside), let header else { return }
    for index in unit.units.indices {
      var frame = ByteBuffer(bytes: header.adtsHeader(of: unit.units[index].readableBytes))
      frame.writeImmutableBuffer(unit.units[index])
      unit.units[index] = frame
    }
  }
}
