import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// Other people's elementary streams have exactly as many pictures as they were made of.
///
/// Where all of them can be decoded, FFmpeg's decode tells how many these are. It does not where
/// pictures are missing that others need, nor where slices come in arbitrary order: libavcodec's
/// parser divides a stream by the first macroblocks of slices, which is no rule of the standard.
/// Such streams need a count of their own here.
@Suite(.enabled(if: !ConformanceStreams.paths.isEmpty))
struct ConformanceGroupingTests {
  /// Access units, counted by their slices.
  private static let counts = [
    "BA_MW_D_IDR_LOST.264": 97, "Cisco_Men_whisper_640x320_CABAC_Bframe_9.264": 9,
    "Cisco_Men_whisper_640x320_CAVLC_Bframe_9.264": 9, "FRExt_MMCO4_Sony_B.264": 60,
    "jm_1080p_allslice.264": 1, "test_vd_1d.264": 9,
  ]

  @Test(arguments: ConformanceStreams.paths) func everyPictureIsAnAccessUnit(path: String) throws {
    let isH265 = ConformanceStreams.isH265(path)
    var splitter = AnnexBSplitter()
    var grouper = AccessUnitGrouper(isH265 ? .h265 : .h264)
    var groups: [AccessUnitGrouper.Group] = []
    splitter.append(ByteBuffer(bytes: try Data(contentsOf: URL(fileURLWithPath: path))))
    while let unit = splitter.next() {
      if let group = grouper.take(unit) { groups.append(group) }
    }
    if let unit = splitter.finish(), let group = grouper.take(unit) { groups.append(group) }
    if let group = grouper.finish() { groups.append(group) }
    if let count = Self.counts[URL(fileURLWithPath: path).lastPathComponent] {
      #expect(groups.count == count)
      return
    }
    let frames = try FFmpeg.frameHashes(
      of: path, options: ["-flags", "unaligned", "-f", isH265 ? "hevc" : "h264"],
      conversion: ["-autoscale", "0"]
    ).count
    // A field is an access unit of its own.
    let fields = groups.reduce(0) { $0 + Int($1.fields) }
    #expect(
      fields == 2 * frames,
      "\(groups.count) access units, \(frames) frames; if FFmpeg is wrong, count them by slices")
  }
}
