import Bitstream
import BlockingIO
import Defragment
import NIOCore
import NIOHTTP1
import RTPWire
import TestSupport
import Testing

@testable import Serving

/// Which frame somebody gets who asks for one.
struct SnapshotTests {
  private static let hour: Int64 = 3_600_000_000_000

  /// Two pictures of an hour ago, and two of now, of which the first has lost packets.
  private static func group() throws -> PictureGroup {
    let stream = try FFmpeg.made(
      ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30", "-frames:v", "4"]
        + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-threads", "1", "-bf", "0"]
        + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264"])
    var pictures: [[[UInt8]]] = []
    for unit in nalUnits(of: [UInt8](stream)) {
      if unit[0] & 31 == 9 { pictures.append([]) }
      pictures[pictures.count - 1].append(unit)
    }
    #expect(pictures.count == 4)
    let now = Instant.now.nanoseconds
    var browser = BrowserStream()
    var group = PictureGroup()
    for (number, picture) in pictures.enumerated() {
      var bytes = ByteBuffer()
      var units: [NALUnit] = []
      for unit in picture {
        bytes.writeBytes(AnnexB.startCode)
        units.append(
          NALUnit(offset: bytes.writerIndex, length: unit.count, type: unit[0] & 31))
        bytes.writeBytes(unit)
      }
      let arrival = Instant(nanoseconds: number < 2 ? now - hour : now)
      let unit = AccessUnit(
        codec: H264.codec, bytes: bytes, units: units,
        time: MediaTime(ticks: Int64(number) * 3000, timescale: 90_000), firstArrival: arrival,
        lastArrival: arrival, integrity: number == 2 ? .damaged : .whole,
        isRandomAccess: number == 0)
      group.append(browser.take(unit))
    }
    return group
  }

  /// The NAL units of an Annex B stream.
  private static func nalUnits(of stream: [UInt8]) -> [[UInt8]] {
    var starts: [Int] = []
    for place in stream.indices.dropLast(3)
    where stream[place] == 0 && stream[place + 1] == 0 && stream[place + 2] == 1 {
      starts.append(place + 3)
    }
    return zip(starts, starts.dropFirst().map { $0 - 3 } + [stream.count]).map { start, end in
      let unit = stream[start..<end]
      return Array(unit.last == 0 ? unit.dropLast() : unit)
    }
  }

  @Test("an intact frame that is recent enough comes before a newer one that is not intact")
  func intact() async throws {
    let group = try Self.group()
    func headers(notOlderThan age: Double) async -> [String: String] {
      let answer = await Snapshot.answer(of: group, in: nil, notOlderThan: age) { _ in }
      let headers = Dictionary(answer.headers.map { ($0.name, $0.value) }) { first, _ in first }
      #expect(headers["Content-Type"] == "image/jpeg")
      return headers
    }
    let intact = await headers(notOlderThan: 7200)
    #expect(try #require(intact["X-Picture-Age"].flatMap { Double($0) }) >= 3600)
    #expect(intact["X-Picture-Condition"] == nil)
    let damaged = await headers(notOlderThan: 1800)
    #expect(try #require(damaged["X-Picture-Age"].flatMap { Double($0) }) < 1800)
    #expect(damaged["X-Picture-Condition"] == "damaged")
  }

  @Test(
    "of a group that is too long to be kept, it is of those that were kept",
    arguments: [
      (0, 7200, "too large to be kept"), (1, 1800, "the newest picture that was kept is 36"),
      (1, 7200, nil), (3, 1800, nil),
    ] as [(Int, Double, String?)])
  func cutGroup(kept: Int, greatestAge: Double, refusal: String?) async throws {
    let units = try Self.group().units
    let room = units.prefix(kept).reduce(0) { $0 + $1.size }
    var group = PictureGroup()
    for unit in units { group.append(unit, within: room) }
    #expect(group.units.count == kept)
    let answer = await Snapshot.answer(of: group, in: nil, notOlderThan: greatestAge) { _ in }
    let status: HTTPResponseStatus = refusal == nil ? .ok : .serviceUnavailable
    #expect(answer.status == status)
    if let refusal { #expect(String(buffer: answer.body).contains(refusal)) }
  }
}
