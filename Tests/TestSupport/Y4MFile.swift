import CAVHash
import Foundation

/// A file of raw frames (YUV4MPEG2), as this project writes it.
struct Y4MFile {
  private let content: Data
  private let firstFrame: Int
  private let frameSize: Int

  private static let frameHeader = Data("FRAME\n".utf8)

  /// `nil` where the file, if there is one, is of another kind.
  init?(path: String) {
    guard let content = try? Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped),
      let end = content.prefix(200).firstIndex(of: UInt8(ascii: "\n"))
    else { return nil }
    var words = String(decoding: content[..<end], as: UTF8.self).split(separator: " ")
    guard words.first == "YUV4MPEG2" else { return nil }
    words.removeFirst()
    func value(_ key: Character) -> Substring? {
      words.first { $0.first == key }?.dropFirst()
    }
    guard let width = value("W").flatMap({ Int($0) }), let height = value("H").flatMap({ Int($0) }),
      let chroma = value("C")
    else { return nil }
    let bytes = chroma.contains(/\dp1\d/) || chroma.hasPrefix("mono1") ? 2 : 1
    let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
    let samples: Int
    switch chroma.prefix(3) {
    case "420": samples = width * height + 2 * halfWidth * halfHeight
    case "422": samples = width * height + 2 * halfWidth * height
    case "444": samples = 3 * width * height
    case "mon": samples = width * height
    default: return nil
    }
    (self.content, firstFrame, frameSize) = (content, end + 1, samples * bytes)
  }

  /// The MD5 of every whole frame, as `ffmpeg -f framemd5` prints it.
  func hashes() -> [String]? {
    var computation: OpaquePointer?
    guard av_hash_alloc(&computation, "MD5") >= 0 else { return nil }
    defer { av_hash_freep(&computation) }
    var (hashes, start): ([String], Int) = ([], firstFrame)
    while content.count - start >= Self.frameHeader.count + frameSize {
      let planes = start + Self.frameHeader.count
      guard content[start..<planes] == Self.frameHeader else { return nil }
      start = planes + frameSize
      var digest = [UInt8](repeating: 0, count: 16)
      av_hash_init(computation)
      content[planes..<start].withUnsafeBytes {
        av_hash_update(computation, $0.baseAddress, $0.count)
      }
      av_hash_final_bin(computation, &digest, CInt(digest.count))
      hashes.append(digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
    }
    return hashes
  }
}
