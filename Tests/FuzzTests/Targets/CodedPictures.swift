import Bitstream
import Defragment
import NIOCore
import RTPWire

@testable import Decode

extension FuzzTarget {
  /// F10: parameter sets, slice headers and supplemental information, one NAL unit after another.
  static let bitstream = FuzzTarget("bitstream") { choices in
    let codec = choices.flag() ? H265.codec : H264.codec
    guard var reader = codec.makeReader?() else { return }
    var parameters = (H264.CodingParameterSets(), H265.CodingParameterSets())
    var units: [ByteBuffer] = []
    // Those of the current picture.
    var picture: [ByteBuffer] = []
    var order = OrderConsumers()
    while !choices.isEmpty, units.count < 64 {
      let bytes = choices.piece()
      let unit = ByteBuffer(sliceOf: bytes)
      units.append(unit)
      picture.append(unit)
      try check(unit, of: codec)
      if codec == H264.codec { parameters.0.take(unit) } else { parameters.1.take(unit) }
      reader.take(parameterSet: unit)
      let head = NALUnitHead(of: unit)
      let body = unit.dropping(bytes: codec == H264.codec ? 1 : 2)
      if codec == H264.codec {
        _ = try? H264.SliceHeader(head: head, body: body, with: parameters.0)
        _ = H264.SliceHeader.pictureSet(of: unit)
      } else {
        _ = try? H265.SliceHeader(parsing: unit, with: parameters.1)
        _ = H265.SliceHeader.pictureSet(of: unit)
      }
      _ = reader.identity(ofSlice: head, body: body)
      _ = reader.hash(of: picture)
      if choices.byte() & 3 == 3 {
        try order.take(reader.order(of: picture))
        picture = []
      }
      if bytes.isEmpty { reader.restart() }
      try requireEqual(unit.array, bytes, "the input has changed")
    }
    try order.take(reader.order(of: units))
    _ = codec.configurationRecord(of: units)
    _ = codec.codecsParameter(of: units)

    // What is written is read again.
    let stream = AnnexB.stream(of: units)
    let found = AnnexB.units(of: stream)
    if units.allSatisfy({ isPlain($0.array) }) { try requireEqual(found, units) }
    try require(
      found.reduce(0) { $0 + $1.readableBytes } <= stream.readableBytes, "more than there was")
    for size in LengthPrefixed.LengthSize.allCases {
      guard let sample = try? LengthPrefixed.sample(of: units, lengthSize: size) else { continue }
      try requireEqual(
        try LengthPrefixed.units(of: sample, lengthSize: size),
        units.filter { $0.readableBytes > 0 })
      _ = try? LengthPrefixed.units(of: stream, lengthSize: size)
    }
  }

  private static func check(_ unit: ByteBuffer, of codec: VideoCodec) throws {
    if codec == H264.codec {
      try check((try? H264.SequenceParameterSet(parsing: unit))?.format)
      _ = try? H264.PictureParameterSet(parsing: unit)
      _ = H264.PictureParameterSet.identifier(of: unit)
      _ = H264.PictureParameterSet.sequenceIdentifier(of: unit)
    } else {
      try check((try? H265.SequenceParameterSet(parsing: unit))?.format)
      _ = try? H265.PictureParameterSet(parsing: unit)
      _ = H265.PictureParameterSet.identifier(of: unit)
      _ = H265.PictureParameterSet.sequenceIdentifier(of: unit)
    }
    if let ordered = codec.withoutReordering(unit) {
      try requireEqual(
        format(of: ordered, codec), format(of: unit, codec), "without reordering: \(ordered.array)")
      try require(codec.withoutReordering(ordered) == nil, "\(ordered.array) is not in order")
    }
    let plain = EmulationPrevention.removed(from: unit)
    try require(plain.readableBytes <= unit.readableBytes, "longer without emulation prevention")
    for type in [0, 1, 4, 5, 6, 132] {
      if let message = SupplementalInformation.message(ofType: type, in: unit) {
        try require(message.readableBytes <= plain.readableBytes, "a message of \(message)")
      }
    }
  }

  /// The format by a parameter set, apart from the order of pictures.
  private static func format(of unit: ByteBuffer, _ codec: VideoCodec) -> FormatDescription? {
    var format =
      codec == H264.codec
      ? (try? H264.SequenceParameterSet(parsing: unit))?.format
      : (try? H265.SequenceParameterSet(parsing: unit))?.format
    format?.reorderDepth = nil
    return format
  }

  private static func check(_ format: FormatDescription?) throws {
    guard let format else { return }
    let sides = 1...FormatDescription.maximumSide
    try require(sides.contains(format.width) && sides.contains(format.height), "\(format)")
    try require(format.width * format.height <= FormatDescription.maximumArea, "\(format)")
    try require((8...16).contains(format.lumaBitDepth), "\(format)")
    _ = format.summary
  }

  /// Whether a unit has nothing that looks like a start code, or is lost with one.
  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    guard let last = bytes.last, last != 0, bytes.first != 0 else { return false }
    return !zip(bytes, bytes.dropFirst()).contains { $0 == 0 && $1 == 0 }
  }
}

/// What reads picture order counts in a decoder.
private struct OrderConsumers {
  private var timeline = PictureTimeline()
  private var output = OutputOrder<Int>()
  private var wait = RandomAccessWait(VideoDecoder.Configuration())
  private var pictures = 0
  private var shown = 0

  mutating func take(_ order: PictureOrder?) throws {
    pictures += 1
    _ = timeline.position(of: order)
    let time = Int64(pictures)
    output.insert(pictures, at: order.map { OutputOrder.Place(order: $0, time: time) })
    while output.next() != nil { shown += 1 }
    // More than the largest decoder holds do not wait.
    try require((0...17).contains(pictures - shown), "\(shown) of \(pictures) pictures came out")
    let unit = AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(), units: [],
      time: MediaTime(ticks: time, timescale: 90_000), firstArrival: Instant(nanoseconds: time),
      lastArrival: Instant(nanoseconds: time), isRandomAccess: order?.beginsSequence ?? false)
    if wait.admits(unit, at: order) { wait.noteDecoding(of: unit, at: order) }
  }
}
