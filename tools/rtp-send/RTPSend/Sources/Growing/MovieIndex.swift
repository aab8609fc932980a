import Bitstream
import NIOCore

/// What a `moov` box says of the track of video (ISO/IEC 14496-12 §8.2, 14496-15 §5.3 and §8.3).
struct MovieIndex: Equatable {
  /// More tracks are those of no recording.
  static let mostTracks = 100

  var track: UInt32
  var video: KnownVideo
  /// Ticks a second.
  var timescale: UInt32
  /// Whether there are tracks of sound too.
  var hasSound: Bool
  /// What a sample has where a fragment does not say (`trex`).
  var defaults = SampleDefaults()
  /// Whether the pictures come in fragments (`mvex`).
  var isFragmented: Bool

  struct SampleDefaults: Equatable {
    var duration: UInt32 = 0
    var size: UInt32 = 0
  }

  /// Reads the content of a `moov` box.
  init(_ body: ByteBuffer) throws(GrowingFault) {
    let moov = Box(type: "moov", body: body)
    let tracks = Array(
      Boxes(in: body).lazy.filter { $0.type == "trak" }.prefix(Self.mostTracks + 1))
    guard tracks.count <= Self.mostTracks else { throw .malformed("moov") }
    let kinds = tracks.map { Self.handler(of: $0) }
    hasSound = kinds.contains("soun")
    guard let place = kinds.firstIndex(of: "vide") else { throw .noVideo }
    let trak = tracks[place]
    guard var header = trak.first("tkhd"), var media = trak.first(["mdia", "mdhd"]),
      let identifier = Self.field(of: &header), let scale = Self.field(of: &media), scale > 0,
      var entries = trak.first(["mdia", "minf", "stbl", "stsd"]), entries.readVersion() != nil,
      entries.body.readInteger(as: UInt32.self) != nil,
      let entry = Boxes(in: entries.body).first(where: { _ in true })
    else { throw .malformed("trak") }
    (track, timescale) = (identifier, scale)
    video = try Self.video(entry)
    isFragmented = moov.first("mvex") != nil
    for var trex in Boxes(in: moov.first("mvex")?.body ?? ByteBuffer())
    where trex.type == "trex" {
      guard trex.readVersion() != nil, let words = trex.body.words(5), words[0] == track else {
        continue
      }
      defaults = SampleDefaults(duration: words[2], size: words[3])
    }
  }

  private static func handler(of trak: Box) -> String? {
    guard let body = trak.first(["mdia", "hdlr"])?.body,
      let name = body.getBytes(at: body.readerIndex + 8, length: 4)
    else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// What follows the times of creation and modification: the track's number, the timescale.
  private static func field(of box: inout Box) -> UInt32? {
    guard let version = box.readVersion()?.version else { return nil }
    return box.body.getInteger(at: box.body.readerIndex + (version == 1 ? 16 : 8))
  }

  /// The sample entry of H.264 or H.265.
  private static func video(_ entry: Box) throws(GrowingFault) -> KnownVideo {
    // VisualSampleEntry has 78 bytes before the boxes inside.
    guard
      var inner = entry.body.getSlice(
        at: entry.body.readerIndex + 78, length: max(0, entry.body.readableBytes - 78))
    else { throw .malformed("stsd") }
    inner = inner.slice()
    let boxes = Boxes(in: inner)
    switch entry.type {
    case "avc1", "avc2", "avc3", "avc4":
      guard let box = boxes.first(where: { $0.type == "avcC" }),
        let configuration = DecoderConfiguration(avcC: box.body)
      else { throw .malformed("avcC") }
      return KnownVideo(.h264, configuration)
    case "hvc1", "hev1":
      guard let box = boxes.first(where: { $0.type == "hvcC" }),
        let configuration = DecoderConfiguration(hvcC: box.body)
      else { throw .malformed("hvcC") }
      return KnownVideo(.h265, configuration)
    default: throw .codec(entry.type)
    }
  }
}

extension ByteBuffer {
  /// The next `count` words of 32 bits, which are taken out.
  mutating func words(_ count: Int) -> [UInt32]? {
    guard readableBytes >= 4 * count else { return nil }
    return (0..<count).compactMap { _ in readInteger(as: UInt32.self) }
  }
}
