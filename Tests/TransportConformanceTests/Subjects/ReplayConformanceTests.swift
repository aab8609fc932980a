import Foundation
import NIOCore
import RTPWire
import Synchronization
import Testing
import TransportConformance
import Transports

@Suite(.serialized) struct ReplayConformanceTests {
  @Test(arguments: Recording.allCases)
  fileprivate func replayConforms(recording: Recording) async {
    let report = await checkConformance(of: ReplaySubject(recording: recording))
    #expect(report.isConforming, "\(report)")
  }

  @Test func replayConformsWrappedInSRTP() async {
    let report = await checkConformance(of: ProtectedSubject(ReplaySubject(recording: .pcap)))
    #expect(report.isConforming, "\(report)")
  }
}

/// The forms of a recording.
private enum Recording: String, CaseIterable, Sendable { case pcap, rtp4, rfc4571 }

/// A recording, with its file for a far end.
private struct ReplaySubject: ConformanceSubject {
  let recording: Recording

  var name: String { "replay of a .\(recording.rawValue)" }

  var carrier: Carrier {
    var carrier = Carrier()
    if recording == .pcap { carrier.packetSizes = 12...65_507 }
    carrier.isPrepared = true
    carrier.lacks = [
      .feedback: "nobody reads what is sent to a file",
      .description: "these files say nothing of the media",
      .byteStream: "the kernel hands out files in blocks",
      .silence: "a file is there, or is not",
      .failure: "a file that is cut is played up to there",
    ]
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    RecordingEnd(recording)
  }
}

private final class RecordingEnd: FarEnd {
  private let recording: Recording
  private let path: String
  private let content: Mutex<ByteBuffer>
  private let count = Mutex<UInt32>(0)

  init(_ recording: Recording) {
    self.recording = recording
    path = NSTemporaryDirectory() + "/conformance-\(UUID().uuidString).\(recording.rawValue)"
    var head = ByteBuffer()
    if recording == .pcap {
      // Microseconds, in network byte order; link type 101: raw IP.
      head.writeMultipleIntegers(
        UInt32(0xA1B2_C3D4), UInt16(2), UInt16(4), UInt64(0), UInt32(262_144), UInt32(101))
    }
    content = Mutex(head)
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    try content.withLock {
      try Data($0.readableBytesView).write(to: URL(fileURLWithPath: path))
    }
    var configuration = ReplayConfiguration()
    configuration.framing = PacketFraming(rawValue: recording.rawValue)
    return ReplayTransport(path: path, configuration: configuration, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws {
    let bytes = PacketFraming(rawValue: recording.rawValue)?.frame(packets) ?? records(of: packets)
    _ = content.withLock { $0.writeImmutableBuffer(bytes) }
  }

  func sendRaw(_ bytes: ByteBuffer) async throws {
    let file = FileHandle(forWritingAtPath: path)
    try file?.seekToEnd()
    try file?.write(contentsOf: Data(bytes.readableBytesView))
    try file?.close()
  }

  func finish() async throws {}

  func close() async { try? FileManager.default.removeItem(atPath: path) }

  /// Records of UDP in IPv4, without checksums as a network card of today leaves them.
  private func records(of packets: [ByteBuffer]) -> ByteBuffer {
    var bytes = ByteBuffer()
    for packet in packets {
      let number = count.withLock { count in
        count += 1
        return count
      }
      let (datagram, whole) = (8 + packet.readableBytes, 28 + packet.readableBytes)
      bytes.writeMultipleIntegers(
        number / 1_000_000, number % 1_000_000, UInt32(whole), UInt32(whole))
      bytes.writeMultipleIntegers(
        UInt16(0x4500), UInt16(whole), UInt16(0), UInt16(0x4000), UInt16(0x4011), UInt16(0))
      bytes.writeMultipleIntegers(UInt32(0xC000_0201), UInt32(0xC000_0202))
      bytes.writeMultipleIntegers(UInt16(5004), UInt16(5004), UInt16(datagram), UInt16(0))
      bytes.writeImmutableBuffer(packet)
    }
    return bytes
  }
}
