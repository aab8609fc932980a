import Defragment
import Foundation
import NIOCore
import RTPWire
import Testing

/// Streams recorded by other projects; without their files there is nothing to test.
@Suite("Captures")
struct CaptureTests {
  private static let tau = "tau_wilson_h265.pcap"
  private static let str0m = "str0m_h264.pcap"
  private static let membrane = "membrane_h264_before_sr.pcap"
  private static let bunny = "retina_bunny.rtsp"

  @Test("H.265 in aggregation, fragmentation and single packets", .enabled(if: Capture.exists(tau)))
  func aggregatesAndFragments() throws {
    let (units, defragmenter) = try Capture(pcap: Self.tau).accessUnits(
      MediaDescription(payloadType: 104, encodingName: "H265"))
    #expect(units.reduce(0) { $0 + $1.bytes.readableBytes } == 300_340)
    // FNV-1a of the bytes whose MD5 is ea581fcc8c5533daa3910a49213412ed.
    let hash = units.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, unit in
      unit.bytes.readableBytesView.reduce(hash) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
    #expect(hash == Self.tauHash)
    #expect(units.count == 276)
    for unit in units { #expect(unit.isTidy && unit.integrity == .whole) }
    #expect(defragmenter.statistics.troubles == 0)
    #expect(defragmenter.formatDescription?.width == 640)
    #expect(defragmenter.formatDescription?.height == 480)
    if let path = ProcessInfo.processInfo.environment["CAPTURE_OUTPUT"] {
      try Data(units.flatMap { Array($0.bytes.readableBytesView) })
        .write(to: URL(fileURLWithPath: path))
    }
  }

  private static let tauHash: UInt64 = 9_661_579_734_851_260_207

  @Test("Screen share with three packets lost", .enabled(if: Capture.exists(str0m)))
  func losses() throws {
    let (units, defragmenter) = try Capture(pcap: Self.str0m).accessUnits(
      MediaDescription(payloadType: 126, encodingName: "H264"))
    #expect(units.filter { !$0.wholeHex.isEmpty }.count == 265)
    #expect(units.reduce(0) { $0 + $1.lostPackets } == 3)
    for unit in units {
      #expect(unit.isTidy)
      #expect(unit.integrity == .damaged || unit.units.allSatisfy(\.isWhole))
    }
    #expect(defragmenter.formatDescription?.width == 494)
    #expect(defragmenter.formatDescription?.height == 370)
  }

  @Test("Most packets late by up to 22 places", .enabled(if: Capture.exists(membrane)))
  func reordering() throws {
    let (units, defragmenter) = try Capture(pcap: Self.membrane).accessUnits(
      MediaDescription(encodingName: "H264"))
    let whole = units.filter { $0.integrity == .whole }
    #expect(units.first?.isRandomAccess == true)
    #expect(units.first?.units.contains { $0.type == 7 } == true)
    #expect(units.count >= 70)
    #expect(whole.count >= 69)
    #expect(defragmenter.formatDescription?.width == 320)
    #expect(defragmenter.formatDescription?.height == 240)
  }

  @Test("Interleaved in RTSP", .enabled(if: Capture.exists(bunny)))
  func interleaved() throws {
    let (units, defragmenter) = try Capture(interleaved: Self.bunny, channel: 2).accessUnits(
      MediaDescription(
        payloadType: 97, encodingName: "H264",
        formatParameters: ["sprop-parameter-sets": "Z0LAHtkDxWhAAAADAEAAAAwDxYuS,aMuMsg=="]))
    #expect(units.count == 245)
    #expect(units.reduce(0) { $0 + $1.units.count } == 258)
    for unit in units { #expect(unit.isTidy && unit.integrity == .whole) }
    #expect(defragmenter.statistics.troubles == 0)
    #expect(defragmenter.formatDescription?.frameRate?.value == 24)
  }
}
