import Foundation

/// A clip as a file of one of the forms that can grow, picture by picture.
struct GrowingClip {
  enum Form: String, CaseIterable {
    case annexB = "Annex B"
    case fragments = "MP4 in fragments"
    case plain = "MP4 without its index"

    var ending: String { self == .annexB ? "h264" : "mp4" }
  }

  let form: Form
  /// What comes before the first picture.
  let head: [UInt8]
  let pictures: [[UInt8]]
  /// The slices of the pictures, which have one each.
  let slices: [[UInt8]]
  /// A file with the parameter sets.
  let sets: String

  /// The clip `name` in all forms.
  static func all(
    _ name: String, size: String, frames: Int, _ encoding: [String], in folder: String
  ) throws -> [GrowingClip] {
    let path = "\(folder)/\(name)"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30"]
        + ["-frames:v", "\(frames)", "-pix_fmt", "yuv420p", "-c:v", "libx264"] + encoding
        + ["\(path).mp4"])
    func copy(_ options: [String], _ output: String) throws -> [UInt8] {
      try run(
        ["ffmpeg", "-v", "error", "-y", "-i", "\(path).mp4", "-c", "copy"] + options + [output])
      return try bytes(output)
    }
    let stream = try copy([], "\(path).h264")
    let fragments = try copy(
      ["-movflags", "frag_every_frame+empty_moov+default_base_moof"], "\(path)-fragments.mp4")
    let whole = try bytes("\(path).mp4")
    let clips = [
      elementaryStream(stream, path), inFragments(fragments, path), plain(whole, path),
    ]
    for clip in clips where clip.pictures.count != frames {
      throw BenchError(
        description: "\(clip.form.rawValue): \(clip.pictures.count) of \(frames) pictures")
    }
    let slices = clips[0].slices
    return clips.map {
      GrowingClip(
        form: $0.form, head: $0.head, pictures: $0.pictures, slices: slices, sets: $0.sets)
    }
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
  }

  private static func isSlice(_ header: UInt8) -> Bool { [1, 5].contains(header & 0x1F) }

  private static func elementaryStream(_ bytes: [UInt8], _ path: String) -> GrowingClip {
    // Where start codes begin, and behind the last unit.
    var starts = bytes.indices.dropLast(3).filter {
      bytes[$0] == 0 && bytes[$0 + 1] == 0 && bytes[$0 + 2] == 1
    }
    starts.append(bytes.count)
    var (pictures, slices, begin) = ([[UInt8]](), [[UInt8]](), 0)
    for (start, next) in zip(starts, starts.dropFirst()) where isSlice(bytes[start + 3]) {
      // A zero before a start code belongs to it.
      let end = next < bytes.count && bytes[next - 1] == 0 ? next - 1 : next
      pictures.append(Array(bytes[begin..<end]))
      slices.append(Array(bytes[start + 3..<end]))
      begin = end
    }
    return GrowingClip(
      form: .annexB, head: [], pictures: pictures, slices: slices, sets: "\(path).h264")
  }

  private static func boxes(_ bytes: [UInt8]) -> [(type: String, bytes: [UInt8])] {
    var (boxes, place) = ([(type: String, bytes: [UInt8])](), 0)
    while place + 8 <= bytes.count {
      let length = bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
      let type = String(decoding: bytes[place + 4..<place + 8], as: UTF8.self)
      boxes.append((type, Array(bytes[place..<min(bytes.count, place + max(8, length))])))
      place += max(8, length)
    }
    return boxes
  }

  private static func inFragments(_ bytes: [UInt8], _ path: String) -> GrowingClip {
    let boxes = boxes(bytes)
    let fragments = boxes.indices.filter { boxes[$0].type == "moof" }
    return GrowingClip(
      form: .fragments, head: boxes[..<(fragments.first ?? 0)].flatMap(\.bytes),
      pictures: fragments.map { boxes[$0].bytes + boxes[$0 + 1].bytes }, slices: [],
      sets: "\(path).h264")
  }

  /// What FFmpeg has written before it closes the file: the length of `mdat` is 0, and no index
  /// follows.
  private static func plain(_ bytes: [UInt8], _ path: String) -> GrowingClip {
    let boxes = boxes(bytes)
    let media = boxes.first { $0.type == "mdat" }?.bytes.dropFirst(8) ?? []
    let head = boxes.prefix { $0.type != "mdat" }.flatMap(\.bytes) + [0, 0, 0, 0]
    var (pictures, place, begin) = ([[UInt8]](), media.startIndex, media.startIndex)
    while place + 4 < media.endIndex {
      let header = media[place + 4]
      place += 4 + media[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
      guard isSlice(header) else { continue }
      pictures.append(Array(media[begin..<place]))
      begin = place
    }
    return GrowingClip(
      form: .plain, head: head + Array("mdat".utf8), pictures: pictures, slices: [],
      sets: "\(path).h264")
  }
}
