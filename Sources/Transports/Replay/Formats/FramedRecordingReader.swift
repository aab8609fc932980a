internal import NIOCore
internal import RTPWire

/// Reads files of length-prefixed packets.
///
/// They contain no times, so the RTP timestamps are used.
struct FramedRecordingReader: RecordingReader {
  private var packets: FramedPackets
  private var clock = TimestampClock()
  private var bytesBefore: UInt64 = 0
  private var bytesOfRead: UInt64 = 0

  init(_ framing: PacketFraming) { packets = FramedPackets(framing) }

  var unfinished: Int { packets.isInsidePacket ? 1 : 0 }

  var oddities: [String] {
    packets.emptyPackets == 0
      ? [] : ["\(packets.emptyPackets.counted("length")) of 0, without a packet"]
  }

  mutating func append(_ bytes: ByteBuffer) {
    bytesBefore += bytesOfRead
    bytesOfRead = UInt64(bytes.readableBytes)
    packets.append(bytes)
  }

  mutating func next() throws(DamagedRecording) -> Recording? {
    do throws(FramedPackets.ImpossibleLength) {
      guard let packet = try packets.next() else { return nil }
      return Recording(time: clock.time(of: packet), content: .packet(packet, .media))
    } catch {
      throw DamagedRecording(
        offset: bytesBefore, reason: .recordTooLong(UInt64(error.length), limit: error.limit))
    }
  }
}
