import NIOCore
import Testing

@testable import Transports

/// Length-prefixed packets.
@Suite("Length-prefixed packets")
struct FramedPacketsTests {
  private static let packets = [
    rtp(1), rtp(2, payload: 300), ByteBuffer(repeating: 7, count: 11),
    ByteBuffer(integer: UInt8(1)),
  ]

  private static func read(
    _ reads: [ByteBuffer], _ framing: PacketFraming
  ) throws -> ([ByteBuffer], FramedPackets) {
    var framed = FramedPackets(framing)
    var packets: [ByteBuffer] = []
    for read in reads {
      framed.append(read)
      while let packet = try framed.next() { packets.append(packet) }
    }
    return (packets, framed)
  }

  /// With a length of 0 in front, in the middle and at the end.
  private static func stream(_ framing: PacketFraming) -> ByteBuffer {
    var list = packets
    list.insert(ByteBuffer(), at: 2)
    return RecordingBytes.framed([ByteBuffer()] + list + [ByteBuffer()], framing)
  }

  @Test(arguments: PacketFraming.allCases)
  func everyChunkingGivesTheSamePackets(framing: PacketFraming) throws {
    let stream = Self.stream(framing)
    for length in 1...stream.readableBytes {
      let (packets, framed) = try Self.read(stream.shifted.cut(into: length), framing)
      #expect(packets == Self.packets)
      #expect(framed.emptyPackets == 3)
      #expect(!framed.isInsidePacket)
    }
    // Each pair of places where a read ends.
    for first in 0..<40 {
      for second in first..<40 {
        var rest = stream
        let reads = [rest.readSlice(length: first), rest.readSlice(length: second - first), rest]
        #expect(try Self.read(reads.compactMap(\.self), framing).0 == Self.packets)
      }
    }
  }

  @Test(arguments: PacketFraming.allCases)
  func aStreamThatEndsAnywhereIsToldFromOneThatIsWhole(framing: PacketFraming) throws {
    let stream = Self.stream(framing)
    var ends = Set([0])
    for packet in [ByteBuffer(), Self.packets[0], Self.packets[1], ByteBuffer()]
      + Self.packets[2...] + [ByteBuffer()]
    {
      ends.insert((ends.max() ?? 0) + (framing == .rtp4 ? 4 : 2) + packet.readableBytes)
    }
    for count in 0...stream.readableBytes {
      let part = try #require(stream.getSlice(at: 0, length: count))
      let (packets, framed) = try Self.read([part], framing)
      #expect(packets == Array(Self.packets.prefix(packets.count)))
      #expect(framed.isInsidePacket == !ends.contains(count))
    }
  }

  @Test(arguments: [
    (0, false), (1, false), (11, false), (65_535, false), (65_536, true), (0x7FFF_FFFF, true),
    (0x8000_0000, true), (0xFFFF_FFFF, true),
  ])
  func aLengthAboveTheLimitEndsTheFraming(length: UInt32, isLost: Bool) throws {
    for cut in 1...5 {
      var stream = RecordingBytes.framed([Self.packets[0]], .rtp4)
      stream.writeInteger(length)
      stream.writeRepeatingByte(3, count: min(Int(length), 70_000))
      var framed = FramedPackets(.rtp4)
      var packets: [ByteBuffer] = []
      var lost: FramedPackets.ImpossibleLength?
      for read in stream.cut(into: cut * 9) {
        framed.append(read)
        do { while let packet = try framed.next() { packets.append(packet) } } catch {
          lost = error
          break
        }
      }
      #expect(
        lost == (isLost ? .init(length: Int(length), limit: FramedPackets.defaultLimit) : nil))
      let expected = isLost || length == 0 ? 1 : 2
      #expect(packets.count == expected)
      if expected == 2 { #expect(packets.last?.readableBytes == Int(length)) }
    }
  }

  @Test func packetsOfOneReadAreSlicesOfIt() throws {
    var framed = FramedPackets(.rfc4571)
    var read = ByteBufferAllocator().buffer(capacity: 4096)
    var stream = RecordingBytes.framed(Self.packets, .rfc4571)
    read.writeBuffer(&stream)
    framed.append(read)
    let start = read.withUnsafeReadableBytes { $0.baseAddress }
    let packet = try #require(try framed.next())
    let first = packet.withUnsafeReadableBytes { $0.baseAddress }
    #expect(first == start.map { $0 + 2 })
  }
}
