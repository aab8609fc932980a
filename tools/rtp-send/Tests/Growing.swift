import Bitstream
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// Clips of FFmpeg as they look while they are written.
enum Growing {
  /// One file of a writer, and what is in it.
  struct Clip: Sendable {
    var bytes: [UInt8]
    /// The NAL units of each picture, as FFmpeg wrote them, and where each picture ends.
    var pictures: [[ByteBuffer]]
    var ends: [Int]
    var known: KnownVideo

    /// The slices, which tell the pictures.
    var slices: [ByteBuffer?] { pictures.map(\.last) }
  }

  /// The ways in which a file can grow.
  enum Form: CaseIterable { case annexB, fragments, plain }

  static func clip(_ form: Form) async throws -> Clip {
    switch form {
    case .annexB: try annexB(try await plain())
    case .fragments: try await fragmented("empty_moov+frag_every_frame+default_base_moof")
    case .plain: try await plain()
    }
  }

  /// The same pictures as an elementary stream; filler data can make it one of whole pages.
  static func annexB(_ clip: Clip, fillsPages: Bool = false) throws -> Clip {
    var sets = clip.known.ordered
    let pictures = clip.pictures.flatMap { $0 }
    if fillsPages {
      let length = Bitstream.AnnexB.stream(of: sets + pictures).readableBytes
      // A start code and the header come with it; one page more is always enough.
      let filler = 2 * 4096 - length % 4096 - 5
      sets.append(
        ByteBuffer(bytes: [0x0C] + [UInt8](repeating: 0xFF, count: filler - 1) + [0x80]))
    }
    var clip = clip
    clip.bytes = Array(Bitstream.AnnexB.stream(of: sets + pictures).readableBytesView)
    #expect(!fillsPages || clip.bytes.count.isMultiple(of: 4096))
    clip.ends = try ends(of: clip)
    return clip
  }

  /// Each picture ends where its last slice does, which occurs once.
  private static func ends(of clip: Clip) throws -> [Int] {
    let data = Data(clip.bytes)
    return try clip.slices.map { slice in
      let slice = Data(try #require(slice).readableBytesView)
      return try #require(data.range(of: slice)).upperBound
    }
  }

  static let frames = 12
  static let options = [
    "-c:v", "libx264", "-bf", "2", "-g", "6", "-x264-params", "slices=1", "-threads", "1",
  ]

  /// An MP4 as it looks before it is closed: `header` stands where FFmpeg puts that of `mdat`.
  static func plain(
    _ header: [UInt8] = [0, 0, 0, 8] + Array("free".utf8) + [0, 0, 0, 0] + Array("mdat".utf8),
    _ more: [String] = []
  ) async throws -> Clip {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mp4")
    try FFmpeg.makeClip(file, frames: frames, options + more)
    let whole = try [UInt8](Data(contentsOf: file))
    let boxes = topLevel(whole)
    let mdat = try #require(boxes.first { $0.type == "mdat" })
    let first = try #require(boxes.first)
    let moov = try #require(boxes.first { $0.type == "moov" })
    let known = try MovieIndex(
      ByteBuffer(bytes: whole[(moov.range.lowerBound + 8)..<moov.range.upperBound]))
    let bytes = Array(whole[first.range]) + header
    let shift = bytes.count - (mdat.range.lowerBound + 8)
    let payload = whole[(mdat.range.lowerBound + 8)..<mdat.range.upperBound]
    var clip = Clip(bytes: bytes + payload, pictures: [], ends: [], known: known.video)
    var place = payload.startIndex
    var units: [ByteBuffer] = []
    while place < payload.endIndex {
      let length = whole[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
      let unit = ByteBuffer(bytes: whole[place + 4..<place + 4 + length])
      units.append(unit)
      place += 4 + length
      // One slice is a picture.
      if [1, 5].contains(whole[place - length] & 0x1F) {
        clip.pictures.append(units)
        clip.ends.append(place + shift)
        units = []
      }
    }
    #expect(clip.pictures.count == frames)
    return clip
  }

  static func fragmented(_ flags: String, _ more: [String] = []) async throws -> Clip {
    let plain = try await plain()
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mp4")
    try FFmpeg.makeClip(
      file, frames: frames, options + more + ["-movflags", flags])
    let bytes = try [UInt8](Data(contentsOf: file))
    var clip = plain
    clip.bytes = bytes
    clip.ends = try ends(of: clip)
    return clip
  }

  static func topLevel(_ bytes: [UInt8]) -> [(type: String, range: Range<Int>)] {
    var (boxes, place) = ([(type: String, range: Range<Int>)](), 0)
    while let header = BoxHeader(ByteBuffer(bytes: bytes[place...])) {
      // What has no length yet goes on to the end.
      guard header.length > 0 else { return boxes + [(header.type, place..<bytes.count)] }
      boxes.append((header.type, place..<place + Int(header.length)))
      place += Int(header.length)
    }
    return boxes
  }

  /// The slices that came, which tell the pictures.
  static func slices(_ units: [SourceAccessUnit]) -> [ByteBuffer?] { units.map(\.units.last) }
}
