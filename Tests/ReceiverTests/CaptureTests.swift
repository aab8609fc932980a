import Bitstream
import Decode
import Defragment
import Foundation
import NIOCore
import RTPProcessor
import RTPWire
import Receiver
import Reception
import TestSupport
import Testing

@Suite(.enabled(if: Captures.areAtHand, "the captures are not beside this checkout"))
struct CaptureTests {
  @Test func aTauSenderWithAggregatesAndFragments() async throws {
    let playback = try Playback(try await Captures.datagrams(of: "tau_wilson_h265.pcap"))
    let stream = playback.accessUnits.reduce(into: Data()) {
      $0.append(contentsOf: $1.bytes.readableBytesView)
    }
    #expect(playback.accessUnits.count == 276)
    #expect(stream.count == 300_340)
    #expect(try stream.md5() == "ea581fcc8c5533daa3910a49213412ed")
    #expect(playback.stream.reception.isBalanced)
  }

  @Test func aSenderWhoseFirstPacketArrivesBehindItsSecond() async throws {
    let playback = try Playback(try await Captures.datagrams(of: "membrane_h264_before_sr.pcap"))
    #expect(playback.stream.reception.late == 0)
    #expect(playback.stream.reception.lost == 6)
    let whole = playback.accessUnits.filter { $0.units.allSatisfy(\.isWhole) }
    let (frames, bytes) = try await Playback.decode(whole)
    #expect(frames == 70)
    #expect(try bytes.md5() == "4203e97a5a409aed51f231ac6386235c")
  }

  @Test func aSenderOfWowzaInterleavedWithAudio() async throws {
    let playback = try Playback(try Captures.interleaved(of: "retina_bunny.rtsp", channel: 2))
    #expect(playback.accessUnits.count == 245)
    #expect(playback.accessUnits.reduce(0) { $0 + $1.units.count } == 258)
    let (frames, bytes) = try await Playback.decode(playback.accessUnits)
    #expect(frames == 245)
    #expect(try bytes.md5() == "e3918c7120f5604d9441f03ff57254f5")
  }

  @Test func aScreenShareThatLostThreePackets() async throws {
    let playback = try Playback(try await Captures.datagrams(of: "str0m_h264.pcap"))
    let whole = playback.accessUnits.filter { unit in
      unit.integrity == .whole || unit.units.allSatisfy(\.isWhole) && unit.lostPackets > 0
    }
    #expect(playback.stream.reception.lost == 3)
    #expect(playback.accessUnits.filter { $0.integrity == .whole }.count <= 265)
    #expect(whole.allSatisfy { $0.units.allSatisfy(\.isWhole) })
  }

  @Test func aSenderOfGStreamerWithParameterSetsBeforeEachSlice() async throws {
    let datagrams = try await Captures.datagrams(
      of: "gst_zerolatency_sets_before_each_slice.pcapng")
    let playback = try Playback(datagrams)
    #expect(playback.stream.reception.lost == 0 && playback.stream.reception.isBalanced)
    #expect(playback.accessUnits.count == 51)
    #expect(playback.accessUnits.allSatisfy { $0.integrity == .whole })
    let frames = try await Playback.decode(playback.accessUnits) { frame in
      (condition: frame.condition, samples: Playback.samples(of: frame))
    }
    #expect(frames.count == 51)
    #expect(frames.allSatisfy { $0.condition == .intact })
    let expected = try FFmpeg.output(
      ["-f", "h264", "-i", "pipe:0", "-fps_mode", "passthrough", "-f", "rawvideo", "-"],
      input: Self.streamWithSetsOnce(datagrams))
    let size = 51 * 320 * 240 * 3 / 2
    #expect(expected.count == size)
    // Not the bytes themselves: a report of their differences would help nobody.
    let isEqual = Data(frames.map { $0.samples }.joined()) == expected
    #expect(isEqual)
  }

  /// The elementary stream of single NAL units and FU-A (RFC 6184 §5.6, §5.8), each parameter set
  /// only once: FFmpeg takes none between slices.
  private static func streamWithSetsOnce(_ datagrams: [Datagram]) throws -> [UInt8] {
    var units: [[UInt8]] = []
    for datagram in datagrams {
      let payload = Array(try datagram.packet().payload.readableBytesView)
      if payload[0] & 0x1F != 28 {
        units.append(payload)
      } else if payload[1] & 0x80 != 0 {
        units.append([payload[0] & 0xE0 | payload[1] & 0x1F] + payload[2...])
      } else {
        units[units.count - 1] += payload[2...]
      }
    }
    var sets: Set<[UInt8]> = []
    units = units.filter { ![7, 8].contains($0[0] & 0x1F) || sets.insert($0).inserted }
    return units.flatMap { [0, 0, 0, 1] + $0 }
  }
}
