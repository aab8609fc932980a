import Bitstream
import Defragment
import NIOCore
import RTPWire

@testable import Outputs

extension FuzzTarget {
  /// F15: recordings of pictures and sound whose sizes, formats and times change at any moment.
  static let recording = FuzzTarget("recording") { choices in
    let container = choices.pick(Container.recordings + Container.sounds)
    let isPipe = choices.flag()
    var recorder = Recorder(
      Recorder.Configuration(
        container: container, segment: choices.flag() ? .seconds(2) : nil,
        clock: WallClock { 1_795_428_900_250_000_000 }, canSeek: !isPipe, canContinue: !isPipe))
    var source = RecordedSource()
    var (offered, written, isOpen) = (0, 0, false)
    func perform() throws {
      while let action = recorder.nextAction() {
        switch action {
        case .begin:
          try require(!isOpen, "a second file is begun")
          isOpen = true
        case .write(let record):
          try require(isOpen, "it writes to no file")
          written += record.items
        case .end: isOpen = false
        }
      }
    }
    do {
      while !choices.isEmpty, offered < 200 {
        let item = source.next(&choices)
        if !container.holdsPictures, case .unit = item { continue }
        if !item.isInterruption { offered += 1 }
        try recorder.take(item)
        try perform()
      }
      try recorder.finish()
      try perform()
      try require(!isOpen, "the last file is not ended")
      try require(
        written + recorder.skipped <= offered, "\(written) and \(recorder.skipped) of \(offered)")
    } catch let error as RecordingError {
      try require(isPipe, "\(error)")
    }
  }
}

/// Pictures of two sizes in two codecs, and sound of all kinds.
private struct RecordedSource {
  private var now: Int64 = 1_000_000_000
  private var pictureTicks: Int64 = 90_000
  private var soundTime: Int64 = 0
  private var kind = 0

  private static let sets: [(codec: VideoCodec, sets: [[UInt8]], key: [UInt8], other: [UInt8])] = [
    (
      H264.codec, [unhex("674d401e9a640501eff35010101400000fa00001388010"), unhex("68ee3c80")],
      unhex("6588840021ffd3a1b2c3d4e5f607"), unhex("419a246c414ffed68cb1")
    ),
    (
      H264.codec,
      [unhex("67640015acd9415067e784000003000400000300f03c58b658"), unhex("68ebe3cb22c0")],
      unhex("65888400a1ffd3a1b2c3"), unhex("419a246c414ffed6")
    ),
    (
      H265.codec,
      [
        unhex("40010c01ffff016000000300b0000003000003005aac0c00000300040000030032a8"),
        unhex(
          "420101016000000300b0000003000003005aa0058201e1636b92452fcdc1418141000003000100"
            + "0003000ca1"), unhex("4401c0f2c68d03b340"),
      ], unhex("2601af08421ffd3a1b2c"), unhex("0201d0246c414ffed68c")
    ),
  ]

  private static let sounds: [(format: SoundFormat, samples: Int)] = [
    (G711.muLaw, 8000, 1, 160, []), (G711.aLaw, 16_000, 2, 320, []),
    (LinearPCM.l16, 48_000, 8, 384, []), (LinearPCM.l24, 4000, 3, 80, []),
    (AAC.codec, 48_000, 2, 1024, [0x11, 0x90]), (Opus.codec, 48_000, 2, 960, []),
    (AAC.codec, 24_000, 1, 1024, [0x13, 0x08]),
  ].map { (codec: SoundCodec, rate: Int, channels: Int, samples: Int, bytes: [UInt8]) in
    (
      SoundFormat(
        codec: codec, sampleRate: rate, channels: channels, configuration: bytes), samples
    )
  }

  mutating func next(_ choices: inout Choices) -> OutputItem {
    let flags = choices.byte()
    now += flags & 1 != 0 ? Int64(choices.number(bytes: 4)) : 20_000_000
    if flags == 0xFF { return .interruption }
    return flags & 2 == 0 ? .unit(picture(&choices, flags)) : .sound(sound(&choices, flags))
  }

  private mutating func time(_ choices: inout Choices, _ flags: UInt8) -> Int64? {
    switch flags >> 2 & 7 {
    case 5: Int64(bitPattern: choices.number(bytes: 8))
    case 6: Int64(truncatingIfNeeded: choices.number(bytes: 4))
    default: nil
    }
  }

  private mutating func picture(_ choices: inout Choices, _ flags: UInt8) -> AccessUnit {
    pictureTicks = time(&choices, flags) ?? pictureTicks.addingSaturating(3600)
    let kind = Self.sets[choices.number(upTo: Self.sets.count - 1)]
    let isKey = flags & 0x20 != 0
    var units = isKey ? kind.sets + [kind.key] : [kind.other]
    if flags & 0x40 != 0 { units.append(kind.key.prefix(2) + choices.piece()) }
    units.removeAll { $0.isEmpty }
    var bytes = ByteBuffer()
    var parts: [NALUnit] = []
    for unit in units {
      bytes.writeBytes(AnnexB.startCode)
      let type = kind.codec == H264.codec ? unit[0] & 0x1F : unit[0] >> 1 & 0x3F
      parts.append(NALUnit(offset: bytes.writerIndex, length: unit.count, type: type))
      bytes.writeBytes(unit)
    }
    let timescale: UInt32 = flags & 0x9C == 0x9C ? choices.pick([1, 1000, .max]) : 90_000
    let arrival = Instant(nanoseconds: now)
    let format =
      kind.codec == H264.codec
      ? (try? H264.SequenceParameterSet(parsing: ByteBuffer(bytes: kind.sets[0])))?.format
      : (try? H265.SequenceParameterSet(parsing: ByteBuffer(bytes: kind.sets[1])))?.format
    return AccessUnit(
      codec: kind.codec, bytes: bytes, units: parts,
      time: MediaTime(ticks: pictureTicks, timescale: timescale), firstArrival: arrival,
      lastArrival: arrival, integrity: flags & 0x80 != 0 ? .damaged : .whole,
      isRandomAccess: isKey,
      dependency: PictureDependency(references: isKey ? .none : .earlier), format: format)
  }

  private mutating func sound(_ choices: inout Choices, _ flags: UInt8) -> SoundUnit {
    soundTime = time(&choices, flags) ?? soundTime.addingSaturating(20_000_000)
    if flags & 0x20 != 0 { kind = choices.number(upTo: Self.sounds.count - 1) }
    let (format, samples) = Self.sounds[kind]
    var bytes = choices.piece()
    if bytes.isEmpty { bytes = [UInt8](repeating: 0xF8, count: samples) }
    let arrival = Instant(nanoseconds: now)
    var unit = SoundUnit(
      format: format, bytes: ByteBuffer(bytes: bytes),
      time: MediaTime(ticks: 0, timescale: UInt32(format.sampleRate))
        .advanced(byNanoseconds: soundTime),
      sampleCount: flags & 0x40 != 0 ? Int(choices.number(bytes: 4) >> 2) + 1 : samples,
      firstArrival: arrival, lastArrival: arrival, lostBefore: flags & 0x80 != 0 ? 3 : 0,
      isDiscontinuity: flags & 0xC0 == 0xC0)
    if flags & 4 == 0 { unit.alignedTime = MediaTime(ticks: pictureTicks, timescale: 90_000) }
    return unit
  }
}
