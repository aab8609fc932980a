import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire

extension FuzzTarget {
  /// All formats of sound (RFC 3551, 3640, 6416, 7587, 3389), and the configurations of AAC.
  static let sound = FuzzTarget("sound") { choices in
    let (name, clock, parameters) = choices.pick(soundKinds)
    let media = MediaDescription(
      kind: .audio, encodingName: name, clockRate: clock, channels: choices.number(upTo: 8),
      formatParameters: parameters)
    guard var defragmenter = SoundDefragmenter(media: media) else {
      throw Violation(description: "\(name) is not known")
    }
    var output = (pushed: UInt64(0), units: UInt64(0), lost: 0, told: 0)
    var sequence: Int64 = 0x1_0000
    var ticks: Int64 = 0
    func take() throws {
      while let unit = defragmenter.next() {
        output.units += 1
        output.told += unit.lostBefore
        try require(unit.bytes.readableBytes > 0 && unit.sampleCount > 0, "\(unit)")
        try require(unit.firstArrival <= unit.lastArrival, "\(unit)")
        try require(unit.format.sampleRate > 0, "\(unit.format)")
        try require((1...8).contains(unit.format.channels), "\(unit.format)")
        _ = unit.duration
      }
    }
    while !choices.isEmpty {
      let flags = choices.byte()
      let payload = choices.piece()
      let lost = flags & 8 != 0 ? Int(flags >> 6) : 0
      sequence += 1 + Int64(lost)
      switch flags >> 1 & 3 {
      case 0: break
      case 1: ticks = ticks &+ 1024
      case 2: ticks = ticks &+ Int64(truncatingIfNeeded: choices.number(bytes: 4))
      default: ticks = Int64(bitPattern: choices.number(bytes: 8))
      }
      var bytes = ByteBuffer()
      bytes.writeMultipleIntegers(
        UInt8(0x80), UInt8(97 | (flags & 1 != 0 ? 0x80 : 0)), UInt16(truncatingIfNeeded: sequence),
        UInt32(truncatingIfNeeded: ticks), UInt32(7))
      bytes.writeBytes(payload)
      let buffer = ByteBuffer(sliceOf: bytes.array)
      output.pushed += 1
      output.lost += lost
      defragmenter.push(
        OrderedPacket(
          packet: try RTPPacket(parsing: buffer), extendedSequence: sequence,
          time: MediaTime(ticks: ticks, timescale: media.clockRate),
          arrival: Instant(nanoseconds: sequence * 1_000_000), lostBefore: lost,
          isDiscontinuity: flags & 0x30 == 0x30))
      try take()
      try requireEqual(buffer.array, bytes.array, "the input has changed")
      if flags & 0xE0 == 0xE0 { defragmenter.flush() }
    }
    defragmenter.flush()
    try take()
    let statistics = defragmenter.statistics
    try require(statistics.isBalanced, "the counters do not balance: \(statistics.counts)")
    try requireEqual(statistics.packets, output.pushed)
    try requireEqual(statistics.units, output.units)
    try requireEqual(statistics.lostPackets, UInt64(output.lost))
    try require(output.told <= output.lost, "\(output.told) told of \(output.lost) lost")
  }

  private static let soundKinds: [(String, UInt32, [String: String])] = [
    ("mpeg4-generic", 48_000, generic(["sizelength": "13"])),
    (
      "mpeg4-generic", 48_000,
      generic(["sizelength": "13", "ctsdeltalength": "9", "dtsdeltalength": "9"])
    ),
    ("mpeg4-generic", 48_000, generic(["constantsize": "6"])),
    ("MP4A-LATM", 90_000, [:]),
    ("MP4A-LATM", 90_000, ["cpresent": "0", "config": "400026203fc0"]),
    ("opus", 48_000, [:]), ("PCMU", 8000, [:]), ("PCMA", 8000, [:]), ("G722", 8000, [:]),
    ("G726-16", 8000, [:]), ("G726-24", 8000, [:]), ("G726-32", 8000, [:]),
    ("G726-40", 8000, [:]), ("L8", 8000, [:]), ("L16", 44_100, [:]), ("L24", 48_000, [:]),
  ]

  private static func generic(_ more: [String: String]) -> [String: String] {
    [
      "mode": "AAC-hbr", "config": "1190", "indexlength": "3", "indexdeltalength": "3",
      "profile-level-id": "1",
    ].merging(more) { $1 }
  }

  /// Configurations of AAC as SDP, LATM and ADTS have them (ISO 14496-3).
  static let soundConfiguration = FuzzTarget("aac") { choices in
    let bytes = choices.all()
    let buffer = ByteBuffer(sliceOf: bytes)
    if let config = try? AudioSpecificConfig(parsing: buffer) {
      try require((1...8).contains(config.channels), "\(config)")
      try require(config.samples > 0 && config.sampleRate > 0, "\(config)")
    }
    _ = try? StreamMuxConfig(parsing: buffer)
    _ = ADTSHeader(at: buffer)?.configuration
    var element = buffer
    if let multiplex = try? AudioMuxElement(reading: &element, with: nil, isInBand: true) {
      _ = multiplex
      try require(element.readableBytes <= bytes.count, "reads backwards")
    }
    try requireEqual(buffer.array, bytes, "the input has changed")
  }
}
