import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend
@testable import TestPattern

@Suite struct PatternTests {
  @Test(arguments: [256, 320, 1280, 1920]) func paintedNumbersAreRead(width: Int) {
    let painter = PatternPainter(width: width, height: 144, framesPerSecond: 30)
    for number: UInt32 in [0, 1, 2, 255, 65_535, 0xAAAAAA, 0x555555, 0xFFFFFF] {
      let picture = painter.picture(number: number)
      #expect(FrameNumberStrip.read(luma: picture.luma.span, stride: width, width: width) == number)
    }
  }

  @Test(arguments: [
    (0, 0xA000_0000), (1, 0xA000_0011), (0x123456, 0xA123_4567), (0xFFFFFF, 0xAFFF_FFF0),
  ])
  func stripsAreLaidOutAsDescribed(number: UInt32, bits: UInt32) {
    #expect(FrameNumberStrip.bits(of: number) == bits)
  }

  @Test func numbersBeyondTheStripWrap() {
    let picture = PatternPainter(width: 256, height: 144, framesPerSecond: 30)
      .picture(number: 0x0100_0007)
    #expect(FrameNumberStrip.read(luma: picture.luma.span, stride: 256, width: 256) == 7)
  }

  @Test func everySingleWrongBlockIsNoticed() {
    let painter = PatternPainter(width: 256, height: 144, framesPerSecond: 30)
    for block in 0..<FrameNumberStrip.blockCount {
      var luma = painter.picture(number: 1234).luma
      for row in 0..<8 {
        for column in block * 8..<block * 8 + 8 {
          luma[row * 256 + column] = 251 - luma[row * 256 + column]
        }
      }
      #expect(FrameNumberStrip.read(luma: luma.span, stride: 256, width: 256) == nil)
    }
  }

  @Test(arguments: [
    (0, 0, 0), (0, 256, 256), (100, 256, 256), (65_536, 0, 256), (65_536, 100, 256),
  ])
  func planesWithoutStripHaveNoNumber(count: Int, stride: Int, width: Int) {
    let luma = [UInt8](repeating: 128, count: count)
    #expect(FrameNumberStrip.read(luma: luma.span, stride: stride, width: width) == nil)
    #expect(FrameNumberStrip.read(luma: luma.span, stride: 256, width: 256) == nil)
  }

  @Test(arguments: Codec.allCases, [0, 2])
  func stripsSurviveHardCompression(codec: Codec, bidirectionalPictures: Int) async throws {
    var configuration = PatternConfiguration()
    configuration.codec = codec
    configuration.width = 320
    configuration.height = 180
    configuration.bitRate = 60_000
    configuration.groupLength = 20
    configuration.bidirectionalPictures = bidirectionalPictures
    configuration.frameLimit = 50
    let source = try PatternSource(configuration)
    var stream: [UInt8] = []
    var shown: Set<Int64> = []
    var decoding = Int64.min
    while let unit = try source.next().element {
      for nalUnit in unit.units { stream += [0, 0, 0, 1] + Array(nalUnit.readableBytesView) }
      shown.insert(unit.presentationTicks)
      #expect(unit.decodingTicks > decoding)
      decoding = unit.decodingTicks
      #expect(unit.isRandomAccess == unit.units.contains { codec.isRandomAccess($0) })
    }
    #expect(shown == Set((0..<50).map { $0 * 3000 }))
    let folder = try TemporaryFolder()
    let file = folder.url("pattern.\(codec.rawValue)")
    try Data(stream).write(to: file)
    let numbers = try await FFmpeg.frameNumbers(of: file, width: 320, height: 180)
    #expect(numbers == Array(0..<50))
  }

  @Test(arguments: [
    (254, 144, 30, 0), (257, 144, 30, 0), (256, 143, 30, 0), (256, 144, 0, 0), (256, 144, 30, 17),
  ])
  func settingsOutOfRangeAreRefused(width: Int, height: Int, rate: Int, bidirectional: Int) {
    var configuration = PatternConfiguration()
    configuration.width = width
    configuration.height = height
    configuration.framesPerSecond = rate
    configuration.bidirectionalPictures = bidirectional
    #expect(throws: SendError.self) { try PatternSource(configuration) }
  }
}
