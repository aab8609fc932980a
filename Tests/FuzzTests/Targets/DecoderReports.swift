import Bitstream
import Defragment
import Glibc
import NIOCore
import RTPWire

@testable import Decode

extension FuzzTarget {
  /// F14: what a decoder's process says, whoever is in it: anything at any time.
  static let decoderReports = FuzzTarget("box") { choices in
    let walls = BoxWalls(rawValue: UInt32(choices.byte()))
    let units = choices.number(upTo: 4)
    let (own, other) = try channels()
    // All of it waits before the first request is made.
    var messages: [ByteBuffer] =
      choices.flag()
      ? [] : [BoxReport.ready(walls).message, BoxReport.opened.message]
    while messages.count < 24, !choices.isEmpty { messages.append(report(&choices)) }
    for message in messages where message.readableBytes > 0 {
      try requireStable(message)
      try? other.send(message)
    }
    var box = DecoderBox()
    (box.patience, box.startingPatience, box.pictureMemory) = (.zero, .zero, 1 << 20)
    var configuration = VideoDecoder.Configuration()
    configuration.maximumPixels = 4096
    do throws(BoxFault) {
      let session = try BoxSession(
        over: own, of: box, codec: H264.codec, configuration: configuration, pool: FramePool()
      ) { _ throws(BoxFault) in }
      for number in 0..<Int64(units) {
        let unit = unit(number)
        try session.begin(unit, number: number)
        var frames: [RawFrame] = []
        _ = try session.reports { report throws(BoxFault) in
          guard case .frame(let frame) = report else { return }
          frames.append(try session.frame(frame, of: UnitRecord(unit, condition: .intact)))
        }
        for frame in frames { check(frame, most: configuration.maximumPixels) }
      }
    } catch {
      // Whatever is wrong has words for people.
      precondition(!error.words(status: 0).isEmpty)
    }
  }

  /// Two ends of a socket that keeps messages apart.
  private static func channels() throws -> (own: BoxChannel, other: BoxChannel) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
    try require(socketpair(AF_UNIX, type, 0, &ends) == 0, "no sockets: \(errno)")
    return (BoxChannel(ends[0], waits: false), BoxChannel(ends[1], waits: false))
  }

  private static func unit(_ number: Int64) -> AccessUnit {
    AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(repeating: 0, count: 64), units: [],
      time: MediaTime(ticks: number, timescale: 90_000), firstArrival: Instant(nanoseconds: 0),
      lastArrival: Instant(nanoseconds: 0))
  }

  /// What is read is the same after it was written again.
  private static func requireStable(_ message: ByteBuffer) throws {
    guard let once = (try? BoxReport(message))?.message else { return }
    try requireEqual(try BoxReport(once).message, once, "a report")
  }

  /// All samples are there to be read.
  private static func check(_ frame: RawFrame, most: Int) {
    precondition(frame.width * frame.height <= most)
    var sum = 0
    for plane in 0..<frame.planeCount {
      frame.withPlane(plane) { span, layout in
        for row in 0..<layout.rows {
          for column in 0..<layout.rowBytes {
            sum &+= Int(
              span.unsafeLoad(fromByteOffset: row * layout.stride + column, as: UInt8.self))
          }
        }
      }
    }
    precondition(sum >= 0)
  }

  private static func report(_ choices: inout Choices) -> ByteBuffer {
    switch choices.byte() % 9 {
    case 0: return ByteBuffer(bytes: choices.piece())
    case 1: return BoxReport.needsMemory(count: choices.number(upTo: 70_000)).message
    case 2: return BoxReport.dropsMemory(number: UInt32(choices.byte())).message
    case 3, 4: return BoxReport.frame(frame(&choices)).message
    case 5:
      let kinds = Array(DecodeFailure.Kind.allCases)
      let reason = BoxedReason(choices.pick(kinds))
      return BoxReport.failure(units: 0...Int64(choices.byte()), reason).message
    case 6:
      return BoxReport.done(threads: Int(choices.byte()), permille: Int(choices.byte())).message
    case 7:
      // A true report, but for one byte.
      var message = BoxReport.frame(frame(&choices)).message
      let place = choices.number(upTo: message.readableBytes - 1)
      message.setInteger(choices.byte(), at: place)
      return message
    default: return choices.flag() ? BoxReport.opened.message : BoxReport.ready(.all).message
    }
  }

  /// A frame that may be in memory, or beside it.
  private static func frame(_ choices: inout Choices) -> BoxedFrame {
    let format = Int32(Int8(truncatingIfNeeded: Int(choices.byte())))
    let (width, height) = (Int(choices.byte()), Int(choices.byte()))
    let planes = (0..<Int(choices.byte() % 5)).map { _ in
      BoxedFrame.Plane(
        offset: choices.number(upTo: 70_000), stride: choices.number(upTo: 1000))
    }
    let flags = choices.byte()
    return BoxedFrame(
      units: 0...Int64(flags & 3), number: UInt32(choices.byte()),
      memory: UInt32(choices.byte() % 4), planes: planes, width: width, height: height,
      properties: BoxedFrame.Properties(
        format: format, type: Int32(choices.byte() % 9),
        isInterlaced: flags & 8 != 0, isTopFieldFirst: flags & 16 != 0, primaries: 1,
        transfer: 1, matrix: Int32(choices.byte() % 20), range: 1, chromaLocation: 0,
        aspectRatio: flags & 32 != 0 ? Rational(UInt32(choices.byte()), 3) : nil),
      frameRate: nil, condition: .intact, damage: nil,
      decodingTime: Int64(choices.number(bytes: 2)))
  }
}
