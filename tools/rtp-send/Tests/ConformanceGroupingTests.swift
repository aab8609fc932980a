import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// Other people's elementary streams have as many pictures as FFmpeg decodes, or where one that
/// decoding needs is missing, as it finds.
@Suite(.enabled(if: !ConformanceStreams.paths.isEmpty))
struct ConformanceGroupingTests {
  @Test(arguments: ConformanceStreams.paths) func everyPictureIsAnAccessUnit(path: String) throws {
    let isH265 = ConformanceStreams.isH265(path)
    let frames = try FFmpeg.frameHashes(
      of: path, options: ["-flags", "unaligned", "-f", isH265 ? "hevc" : "h264"],
      conversion: ["-autoscale", "0"]
    ).count
    var splitter = AnnexBSplitter()
    var grouper = AccessUnitGrouper(isH265 ? .h265 : .h264)
    var groups: [AccessUnitGrouper.Group] = []
    splitter.append(ByteBuffer(bytes: try Data(contentsOf: URL(fileURLWithPath: path))))
    while let unit = splitter.next() {
      if let group = grouper.take(unit) { groups.append(group) }
    }
    if let unit = splitter.finish(), let group = grouper.take(unit) { groups.append(group) }
    if let group = grouper.finish() { groups.append(group) }
    // A field is an access unit of its own.
    let fields = groups.reduce(0) { $0 + Int($1.fields) }
    let found = try RunningProcess.output(
      of: "ffprobe",
      ["-v", "error", "-f", isH265 ? "hevc" : "h264", "-count_packets"]
        + ["-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", path])
    let packets = Int(String(decoding: found, as: UTF8.self).filter(\.isNumber))
    #expect(
      fields == 2 * frames || groups.count == packets,
      "\(groups.count) access units, \(frames) frames")
  }
}
