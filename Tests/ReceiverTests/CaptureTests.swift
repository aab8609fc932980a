import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPProcessor
import RTPWire
import Receiver
import Reception
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
}
