import NIOCore
import RTPWire
import TestPattern
import Testing

@testable import RTPSend

@Suite struct SoundTests {
  static func units(
    _ format: String, seconds: Double, packetTime: Int = 20
  ) throws -> (units: [SourceAccessUnit], source: any SoundSource) {
    let source = try SoundRecipe.tone(try SoundFormat(format), seconds: seconds)
      .make(packetTime: packetTime)
    var units: [SourceAccessUnit] = []
    while let unit = try source.next().element { units.append(unit) }
    return (units, source)
  }

  @Test(arguments: [0, 200, -200, 5000]) func clicksBeginWithTheSeconds(deviation: Double) {
    let tone = Tone(samplingRate: 8000, channels: 2, deviation: deviation, seconds: 20)
    let rate = 8000 * (1 + deviation / 1e6)
    let samples = tone.samples(0..<(tone.end ?? 0))
    #expect(samples.count == 2 * Int((20 * rate).rounded()))
    var onsets: [Int] = []
    for index in 0..<samples.count / 2
    where samples[2 * index] == Tone.clickLoudness && (onsets.last.map { index > $0 + 40 } ?? true)
    {
      onsets.append(index)
    }
    #expect(onsets == (0..<20).map { Int((Double($0) * rate).rounded()) })
    // Any part of it is the same.
    #expect(tone.samples(7990..<8100) == Array(samples[2 * 7990..<2 * 8100]))
  }

  @Test func theToneIsQuietAndDiffersByChannel() {
    let samples = Tone(samplingRate: 48_000, channels: 2).samples(10_000..<10_048)
    #expect(samples.allSatisfy { abs($0) <= Tone.loudness })
    #expect(samples[2 * 8] == samples[2 * 8])
    #expect(stride(from: 0, to: 96, by: 2).contains { samples[$0] != samples[$0 + 1] })
  }

  @Test(arguments: [
    ("pcmu", "PCMU/8000", 0), ("PCMA", "PCMA/8000", 8), ("pcma/16000", "PCMA/16000", nil),
    ("pcmu/8000/2", "PCMU/8000/2", nil), ("g722", "G722/8000", 9),
    ("g722/16000", "G722/16000", nil), ("g726-32", "G726-32/8000", nil),
    ("AAL2-G726-40", "AAL2-G726-40/8000", nil), ("l8", "L8/48000/2", nil),
    ("l16/44100", "L16/44100/2", 10), ("l16/44100/1", "L16/44100", 11),
    ("l24/96000/6", "L24/96000/6", nil), ("opus", "opus/48000/2", nil),
    ("opus/48000/1", "opus/48000/2", nil), ("aac", "mpeg4-generic/48000/2", nil),
    ("mpeg4-generic/16000/1", "mpeg4-generic/16000", nil), ("aac-lbr", "mpeg4-generic/48000", nil),
    ("latm/44100", "MP4A-LATM/44100/2", nil), ("latm-inband", "MP4A-LATM/48000/2", nil),
  ])
  func formatsAreReadAsInSDP(text: String, map: String, payloadType: UInt8?) throws {
    let format = try SoundFormat(text)
    #expect(format.map == map)
    #expect(format.staticPayloadType == payloadType)
  }

  @Test(arguments: [
    "", "mp3", "pcmu/8000/1/1", "g722/48000", "g726-32/16000", "opus/16000", "aac/47999",
    "aac-lbr/8000", "pcmu/0", "pcmu/x", "l16/48000/9", "opus/48000/3", "g722/8000/2",
  ])
  func otherFormatsAreRefused(text: String) {
    #expect(throws: SendError.self) { try SoundFormat(text) }
  }

  @Test(arguments: SoundFormat.Coding.allCases)
  func framesFollowEachOtherToTheEnd(coding: SoundFormat.Coding) throws {
    let (units, source) = try Self.units(coding.rawValue, seconds: 1.5)
    let format = source.format
    let lengths = units.map { unit in
      source.frameLength
        ?? unit.units[0].readableBytes / (format.sampleGroup?.bytes ?? 1)
        * (format.sampleGroup?.ticks ?? 1)
    }
    var expected = units[0].presentationTicks
    #expect(expected <= 0)
    for (unit, length) in zip(units, lengths) {
      #expect(unit.presentationTicks == expected)
      expected += Int64(length)
    }
    // The last frame of a codec with frames may be longer than what is left.
    let end = Int64(Double(format.clockRate) * 1.5)
    #expect((end - 30...end + Int64(source.frameLength ?? 0)).contains(expected))
  }

  @Test func lowBitRateFramesFitInSixBits() throws {
    let (units, _) = try Self.units("aac-lbr", seconds: 10)
    #expect(units.allSatisfy { $0.units[0].readableBytes < 64 })
  }

  @Test func adtsHeadersAreReadBackAsWritten() throws {
    let (units, source) = try Self.units("adts/44100", seconds: 0.5)
    for unit in units {
      let header = try #require(AudioSpecificConfig(adts: unit.units[0]))
      #expect(header.bytes == source.configuration)
      let length = try #require(unit.units[0].getInteger(at: 3, as: UInt32.self)) >> 13 & 0x1FFF
      #expect(Int(length) == unit.units[0].readableBytes)
    }
    // AAC LC, 44.1 kHz, two channels.
    #expect(source.configuration == [0x12, 0x10])
  }

  /// A decoder of HE-AAC gives twice the rate, and two channels out of one: that is what
  /// libavformat says of such a stream.
  @Test func theHeaderOfADTSSaysWhatIsSent() {
    let header = AudioSpecificConfig(rate: 24_000, channels: 1).adtsHeader(of: 100)
    let config = AudioSpecificConfig(
      describing: ByteBuffer(bytes: header), rate: 48_000, channels: 2)
    #expect(config.rate == 24_000)
    #expect(config.channels == 1)
    let silent = AudioSpecificConfig(describing: nil, rate: 44_100, channels: 2)
    #expect(silent.rate == 44_100 && silent.channels == 2)
  }

  @Test(arguments: [
    ("pcmu", 20, 1400, 160), ("pcma/8000/2", 20, 1400, 320), ("l16", 20, 1400, 1400),
    ("l24/48000/1", 1, 1400, 144), ("l8", 5, 100, 100), ("g722", 30, 1400, 240),
    ("g722/16000", 20, 1400, 160), ("g726-24", 20, 1400, 60), ("g726-40", 25, 61, 60),
    ("aal2-g726-16", 20, 1400, 40), ("l24/48000/8", 20, 16, 24),
  ])
  func samplesFillPacketsOfOneLength(
    format: String, packetTime: Int, limit: Int, length: Int
  ) throws {
    let (units, source) = try Self.units(format, seconds: 1, packetTime: packetTime)
    var packetization = SoundPacketization()
    (packetization.packetTime, packetization.payloadLimit) = (packetTime, limit)
    var packetizer = packetization.packetizer(for: source)
    let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
    #expect(payloads.dropLast().allSatisfy { $0.bytes.readableBytes == length })
    #expect(payloads.map(\.marker) == payloads.indices.map { $0 == 0 })
    let sent = payloads.flatMap { Array($0.bytes.readableBytesView) }
    #expect(sent == units.flatMap { Array($0.units[0].readableBytesView) })
    // Ticks go with bytes.
    let perPacket = try #require(payloads.dropFirst().first).ticks - payloads[0].ticks
    let bytesPerSecond = Double(length) / Double(perPacket) * Double(source.format.clockRate)
    #expect(abs(Double(sent.count) / bytesPerSecond - 1) < 0.01)
    for (index, payload) in payloads.enumerated() {
      #expect(payload.ticks == payloads[0].ticks + Int64(index) * perPacket)
    }
  }

  @Test func aGapOfSamplesBeginsAPacketWithAMarker() {
    var packetizer = SamplePacketizer((ticks: 1, bytes: 1), packetTicks: 10, payloadLimit: 100)
    func unit(_ ticks: Int64, _ count: Int) -> SourceAccessUnit {
      SourceAccessUnit(
        units: [ByteBuffer(repeating: 7, count: count)], presentationTicks: ticks,
        decodingTicks: ticks, isRandomAccess: true)
    }
    var payloads: [RTPPayload] = []
    for (ticks, count) in [(0, 7), (7, 6), (13, 9), (100, 5), (105, 5)] {
      payloads += packetizer.packetize(unit(Int64(ticks), count))
    }
    payloads += packetizer.finish()
    #expect(payloads.map(\.ticks) == [0, 10, 20, 100])
    #expect(payloads.map(\.bytes.readableBytes) == [10, 10, 2, 10])
    #expect(payloads.map(\.marker) == [true, false, false, true])
  }

  @Test(
    arguments: ["aac", "adts/16000/1", "aac-lbr"],
    [(20, 1, 1400), (100, 1, 1400), (100, 3, 1400), (60, 2, 1400), (100, 4, 300), (20, 1, 60)])
  func genericFramesAreReadBack(
    format: String, _ options: (packetTime: Int, interleaving: Int, limit: Int)
  ) throws {
    let (units, source) = try Self.units(format, seconds: 1)
    var packetization = SoundPacketization()
    packetization.packetTime = options.packetTime
    packetization.interleaving = options.interleaving
    packetization.payloadLimit = options.limit
    var packetizer = packetization.packetizer(for: source)
    let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
    let isLowRate = source.format.coding == .aacLowRate
    // Frames at a low bit rate are never cut.
    #expect(
      payloads.allSatisfy { $0.bytes.readableBytes <= max(options.limit, isLowRate ? 66 : 0) })
    let frames = try ReferenceSoundDepacketizer.generic(
      payloads, sizeBits: isLowRate ? 6 : 13, indexBits: isLowRate ? 2 : 3,
      frameLength: try #require(source.frameLength))
    #expect(
      frames
        == units.map {
          .init(bytes: Array($0.units[0].readableBytesView), ticks: $0.presentationTicks)
        })
    let isInOrder = zip(payloads, payloads.dropFirst()).allSatisfy { $0.ticks <= $1.ticks }
    #expect(isInOrder)
    if options.packetTime == 100, options.limit == 1400, source.format.clockRate == 48_000 {
      #expect(payloads.count < units.count / 2)
    }
  }

  @Test(
    arguments: ["latm", "latm/16000/1", "latm-inband", "latm-inband/44100"],
    [(20, 1400), (100, 1400), (20, 50), (100, 100)])
  func muxElementsAreReadBack(format: String, _ options: (packetTime: Int, limit: Int)) throws {
    let (units, source) = try Self.units(format, seconds: 2)
    var packetization = SoundPacketization()
    (packetization.packetTime, packetization.payloadLimit) = options
    var packetizer = packetization.packetizer(for: source)
    let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
    #expect(payloads.allSatisfy { $0.bytes.readableBytes <= options.limit })
    let length = try #require(source.frameLength)
    let perElement = max(1, source.format.clockRate * options.packetTime / 1000 / length)
    let isInBand = source.format.coding == .latmInBand
    let configuration = LATMPacketizer.streamMuxConfig(
      AudioSpecificConfig(rate: source.format.clockRate, channels: source.format.channels),
      frames: perElement)
    let frames = try ReferenceSoundDepacketizer.mux(
      payloads, configuration: isInBand ? nil : configuration)
    // Without a configuration in the stream, the last element has to be as long as the others.
    let count = isInBand ? units.count : units.count / perElement * perElement
    #expect(frames.map(\.bytes) == units[..<count].map { Array($0.units[0].readableBytesView) })
    let times = stride(from: 0, to: count, by: perElement).map { units[$0].presentationTicks }
    #expect(Set(frames.map(\.ticks)) == Set(times))
  }

  /// As FFmpeg and GStreamer write it: AAC LC, 44.1 kHz, two channels.
  @Test func aStreamMuxConfigByHand() {
    let configuration = LATMPacketizer.streamMuxConfig(
      AudioSpecificConfig(rate: 44_100, channels: 2), frames: 1)
    #expect(configuration == [0x40, 0x00, 0x24, 0x20, 0x3F, 0xC0])
  }

  @Test func opusFramesArePayloads() throws {
    let (units, source) = try Self.units("opus", seconds: 1, packetTime: 40)
    var packetizer = SoundPacketization().packetizer(for: source)
    let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
    #expect(payloads.map(\.bytes) == units.map { $0.units[0] })
    #expect(
      payloads.map(\.ticks) == units.indices.map { units[0].presentationTicks + 1920 * Int64($0) })
    #expect(payloads.map(\.marker) == payloads.indices.map { $0 == 0 })
  }

  @Test(arguments: [256, 320, 1280, 1920], [25, 30, 5, 60])
  func theFlashLastsATenthOfASecond(width: Int, rate: Int) {
    let height = width * 9 / 16
    let painter = PatternPainter(width: width, height: height, framesPerSecond: rate)
    for number in 0..<UInt32(2 * rate) {
      let picture = painter.picture(number: number)
      let isLit = PatternFlash.read(
        luma: picture.luma.span, stride: picture.width, width: picture.width,
        height: picture.height)
      #expect(isLit == (Int(number) % rate * 10 < rate))
    }
  }

  @Test func planesThatAreTooSmallHaveNoFlash() {
    let luma = [UInt8](repeating: 235, count: 256 * 100)
    for (stride, width, height) in [(0, 0, 0), (256, 256, 144), (10, 256, 100), (256, 4, 4)] {
      #expect(
        PatternFlash.read(luma: luma.span, stride: stride, width: width, height: height) == nil)
    }
  }
}
