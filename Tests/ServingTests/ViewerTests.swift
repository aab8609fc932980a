import Bitstream
import BlockingIO
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Serving

/// What a viewer gets next.
struct ViewerTests {
  /// A stream of pictures of `size` bytes at 25 a second.
  private struct Stream {
    var stream = BrowserStream()
    var number: Int64 = 0
    var size = 1000

    /// The next picture; a key picture has parameter sets unless `sets` says otherwise.
    mutating func next(
      isKey: Bool = false, sets: [[UInt8]] = Material.h264.parameterSets, time: Int64? = nil,
      gaps: [AccessUnit.Gap] = []
    ) -> BrowserUnit {
      var bytes = ByteBuffer()
      var units: [NALUnit] = []
      let slice = [isKey ? 0x65 : 0x41] + [UInt8](repeating: 0x88, count: size)
      for part in (isKey ? sets : []) + [slice] {
        bytes.writeBytes(AnnexB.startCode)
        units.append(
          NALUnit(offset: bytes.writerIndex, length: part.count, type: part[0] & 31))
        bytes.writeBytes(part)
      }
      number += 1
      let arrival = Instant(nanoseconds: number * 40_000_000)
      return stream.take(
        AccessUnit(
          codec: H264.codec, bytes: bytes, units: units,
          time: MediaTime(ticks: (time ?? number) * 3600, timescale: 90_000),
          firstArrival: arrival, lastArrival: arrival, gaps: gaps, isRandomAccess: isKey))
    }
  }

  private static func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  private static func all(_ queue: inout ViewerQueue) -> [ViewerQueue.Element] {
    var elements: [ViewerQueue.Element] = []
    while let element = queue.next() { elements.append(element) }
    return elements
  }

  @Test func aNewViewerBeginsWithTheLastKeyPicture() {
    var stream = Stream()
    var group = PictureGroup()
    group.append(stream.next())
    #expect(group.units.isEmpty)
    for isKey in [true, false, false, true, false] { group.append(stream.next(isKey: isKey)) }
    var queue = ViewerQueue(group, at: Self.at(0))
    queue.append(stream.next(), at: Self.at(1))
    let units = Self.all(&queue)
    #expect(units.map(\.unit.isKey) == [true, false, false])
    #expect(units.allSatisfy { $0.skipped == 0 })
  }

  @Test func whatAViewerBeginsWithComesWholeAndFirst() {
    var backlog = ViewerBacklog()
    for text in 0..<100 as Range<UInt32> { backlog.append(ByteBuffer(integer: text)) }
    backlog.begin(with: (1000..<1300 as Range<UInt32>).map { ByteBuffer(integer: $0) })
    var texts: [UInt32] = []
    while case .text(let text)? = backlog.next() {
      texts += text.getInteger(at: text.readerIndex).map { [$0] } ?? []
    }
    #expect(texts == Array(1000..<1300) + Array(36..<100))
  }

  @Test func ofAGroupThatIsTooLongTheBeginningIsKeptAndNoViewerBeginsWithIt() {
    var stream = Stream()
    stream.size = 1 << 20
    var group = PictureGroup()
    group.append(stream.next(isKey: true))
    for _ in 0..<20 { group.append(stream.next()) }
    #expect(group.units.map(\.isKey) == [true] + [Bool](repeating: false, count: 6))
    var queue = ViewerQueue(group, at: Self.at(0))
    queue.append(stream.next(), at: Self.at(1))
    #expect(queue.isEmpty)
    // Nobody watches any more.
    group.append(stream.next(), within: 3 << 20)
    #expect(group.units.count == 2)
    group.append(stream.next(isKey: true))
    group.append(stream.next())
    #expect(group.beginning.map(\.isKey) == [true, false])
    group.append(stream.next(isKey: true), within: 1 << 20)
    #expect(group.units.isEmpty)
  }

  @Test func ofAGroupOfTooManyPicturesTheBeginningIsKept() {
    var stream = Stream()
    var group = PictureGroup()
    for number in 0...PictureGroup.limits.count { group.append(stream.next(isKey: number == 0)) }
    #expect(group.units.count == PictureGroup.limits.count)
    #expect(group.beginning.isEmpty)
  }

  @Test func aViewerThatLagsIsTakenToTheNewestKeyPicture() {
    var stream = Stream()
    var group = PictureGroup()
    group.append(stream.next(isKey: true))
    var queue = ViewerQueue(group, at: Self.at(0))
    for time in 1..<30 {
      queue.append(stream.next(isKey: time == 20), at: Self.at(40 * Int64(time)))
    }
    // Not late yet.
    queue.append(stream.next(), at: Self.at(1500))
    queue.append(stream.next(), at: Self.at(1540))
    let units = Self.all(&queue)
    #expect(units.first?.unit.isKey == true)
    #expect(units.first?.skipped == 20)
    #expect(units.count == 12)
    #expect(units.dropFirst().allSatisfy { $0.skipped == 0 && !$0.unit.isKey })
  }

  @Test func whereNoKeyPictureWaitsItIsTheNextOneThatComes() {
    var stream = Stream()
    var group = PictureGroup()
    group.append(stream.next(isKey: true))
    var queue = ViewerQueue(group, at: Self.at(0))
    for time in 1..<100 { queue.append(stream.next(), at: Self.at(40 * Int64(time))) }
    #expect(queue.isEmpty)
    queue.append(stream.next(isKey: true), at: Self.at(4000))
    let units = Self.all(&queue)
    #expect(units.count == 1)
    #expect(units.first?.skipped == 100)
  }

  @Test func whatWaitsIsBoundedInBytesWhateverTheTime() {
    var stream = Stream()
    stream.size = 1 << 20
    var queue = ViewerQueue(PictureGroup(), at: Self.at(0))
    for number in 0..<1000 {
      queue.append(stream.next(isKey: number % 50 == 0), at: Self.at(0))
    }
    let bytes = Self.all(&queue).reduce(0) { $0 + $1.unit.size }
    #expect(bytes <= ViewerQueue.limits.bytes)
  }

  @Test func camerasHaveTheirTurnAndWordsGoFirst() {
    var backlog = ViewerBacklog()
    var streams = [Stream(), Stream()]
    for camera in 0..<2 {
      var group = PictureGroup()
      group.append(streams[camera].next(isKey: true))
      group.append(streams[camera].next())
      backlog.watch(UInt16(camera), group: group, at: Self.at(0))
    }
    backlog.append(ByteBuffer(string: "{}"))
    var order: [String] = []
    while let message = backlog.next() {
      switch message {
      case .text: order.append("text")
      case .format(let camera, _): order.append("format \(camera)")
      case .picture(let camera, _): order.append("picture \(camera)")
      default: order.append("other")
      }
    }
    #expect(
      order == [
        "text", "format 0", "picture 0", "format 1", "picture 1", "picture 0", "picture 1",
      ])
    backlog.stop(0)
    backlog.append(streams[0].next(isKey: true), of: 0, at: Self.at(0))
    #expect(backlog.next() == nil)
  }

  @Test func aKeyPictureWithoutItsSetsGetsThemAndOneWithThemHasThemOnce() throws {
    var stream = Stream()
    let first = stream.next(isKey: true)
    let second = stream.next(isKey: true, sets: [])
    #expect(first.format === second.format)
    for unit in [first.unit, second.unit] {
      #expect(unit.units.map(\.type) == [7, 8, 5])
      #expect(
        AnnexB.units(of: unit.bytes).map { $0.readableBytesView.first.map { $0 & 31 } }
          == [7, 8, 5])
    }
    let format = try #require(first.format)
    #expect(try H264.SequenceParameterSet(parsing: format.sets[0]).format.reorderDepth == 0)
    #expect(format.codecsParameter?.hasPrefix("avc1.") == true)
    #expect(stream.next().format == nil)
  }

  @Test func aKeyPictureWhoseSetsWereLostGetsThem() {
    var stream = Stream()
    _ = stream.next(isKey: true)
    let before = AccessUnit.Gap(unitIndex: 0, packets: 1)
    let bare = stream.next(isKey: true, sets: [], gaps: [before]).unit
    #expect(bare.units.map(\.type) == [7, 8, 5])
    #expect(bare.gaps == [before])
    // One packet is missing behind a set, and others behind the slice.
    let gaps = [1, 2].map { AccessUnit.Gap(unitIndex: $0, packets: 2) }
    let torn = stream.next(
      isKey: true, sets: [Material.h264.parameterSets[0]], gaps: gaps
    ).unit
    #expect(torn.units.map(\.type) == [7, 8, 5])
    #expect(torn.gaps.map(\.unitIndex) == [2, 3])
  }

  @Test func aPictureThatIsOfferedTwiceComesOnce() {
    var stream = Stream()
    var group = PictureGroup()
    let key = stream.next(isKey: true)
    group.append(key)
    var queue = ViewerQueue(group, at: Self.at(0))
    queue.append(key, at: Self.at(1))
    #expect(Self.all(&queue).count == 1)
  }

  @Test func theFormatOfTheSoundIsToldForEachCamera() {
    var backlog = ViewerBacklog()
    let sound = SoundUnit(
      format: SoundFormat(codec: G711.muLaw, sampleRate: 8000, channels: 1),
      bytes: ByteBuffer(repeating: 0, count: 160), time: MediaTime(ticks: 0, timescale: 8000),
      sampleCount: 160, firstArrival: Self.at(0), lastArrival: Self.at(0))
    for camera in [0, 0, 1] as [UInt16] { backlog.append(sound, of: camera) }
    var told: [UInt16] = []
    while let message = backlog.next() {
      if case .soundFormat(let camera, _) = message { told.append(camera) }
    }
    #expect(told == [0, 1])
  }

  @Test func aStreamThatReordersKeepsItsSets() throws {
    var stream = Stream()
    _ = stream.next(isKey: true, time: 0)
    _ = stream.next(time: 4)
    _ = stream.next(time: 2)
    let format = try #require(stream.next(isKey: true, time: 8).format)
    #expect(format.sets == format.sentSets)
    // A player that is told a format begins anew, and shows nothing of what it holds.
    _ = stream.next(time: 12)
    _ = stream.next(time: 10)
    #expect(stream.next(isKey: true, time: 16).format === format)
  }

  @Test(
    "commands of a page",
    arguments: [
      ("watch front", .watch("front", .coded)), ("jpeg a-1", .watch("a-1", .jpeg)),
      ("stop front", .stop("front")), ("listen x", .listen("x")), ("mute", .mute), ("", nil),
      ("watch", nil), ("watch a b", nil), ("mute a", nil), ("delete a", nil),
      ("watch " + String(repeating: "a", count: 100), nil), ("\u{0}", nil),
    ] as [(String, ViewerCommand?)])
  func command(_ text: String, _ command: ViewerCommand?) {
    #expect(ViewerCommand(text) == command)
  }

  @Test func theHeadOfAMessageIsAsThePageReadsIt() {
    let head = MediaHead(
      kind: .picture, isKey: true, hasSkipped: true, camera: 258, age: .milliseconds(2),
      time: MediaTime(ticks: 90_000, timescale: 90_000),
      captureTime: WallClockTime(nanoseconds: 5_000_000_000))
    #expect(
      Array(head.bytes.readableBytesView) == [
        1, 5, 1, 2, 0, 0, 7, 208, 0, 0, 0, 0, 0, 15, 66, 64, 0, 0, 0, 0, 0, 0, 19, 136,
      ])
  }
}
