import Bitstream
import CFFmpeg
import Defragment
import NIOCore
import RTPWire

@testable import Decode
@testable import Outputs

extension FuzzTarget {
  /// F15: frames of any size and layout, as files have them and as other formats take them.
  static let frames = FuzzTarget("frames") { choices in
    let makesY4M = choices.flag()
    func begin() -> any Output { makesY4M ? Y4MOutput() : YUVOutput() }
    var output = begin()
    var file = WrittenFile()
    var converter: FrameConverter?
    let jpeg = JPEGEncoder(size: nil)
    var geometry: RawFrame.Geometry?
    var ticks: Int64 = 0
    for _ in 0..<8 where !choices.isEmpty {
      ticks = ticks &+ Int64(choices.number(bytes: 2))
      let layouts = [
        AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P,
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_YUV444P12LE,
      ]
      let side = (choices.byte(), choices.byte())
      guard
        var frame = painted(
          width: 1 + Int(side.0) % 80, height: 1 + Int(side.1) % 80,
          layout: choices.pick(layouts), flags: choices.byte(), ticks: ticks)
      else { throw Violation(description: "there is no frame") }
      switch choices.byte() & 7 {
      case 4: converter = FrameConverter(like: frame)
      case 5:
        let shape = FrameShape(
          pixelFormat: choices.pick(PixelFormat.targets.map(\.value)),
          size: FrameShape.Size(width: 1 + Int(side.1) % 80, height: 1 + Int(side.0) % 80))
        converter = FrameConverter(to: shape, quality: choices.flag() ? .exact : .fast)
      case 6:
        converter = FrameConverter(
          to: FrameShape(pixelFormat: choices.pick(PixelFormat.targets.map(\.value))))
      case 7:
        let picture = try jpeg.encode(frame)
        try require(picture.array.starts(with: [0xFF, 0xD8]), "no JPEG")
      default: break
      }
      if let converter {
        do throws(OutputError) { frame = try converter.converted(frame) } catch { continue }
      }
      if frame.geometry != geometry {
        try file.write(output.finish())
        try file.end()
        (output, file, geometry) = (begin(), WrittenFile(), frame.geometry)
      }
      do { try file.write(output.record(for: .frame(frame))) } catch is OutputError { continue }
      file.frames += 1
      file.frameLength = frame.byteCount
    }
    try file.write(output.finish())
    try file.end()
  }

  /// A frame whose samples are all different from those of its neighbours.
  private static func painted(
    width: Int, height: Int, layout: AVPixelFormat, flags: UInt8, ticks: Int64
  ) -> RawFrame? {
    let pool = FramePool()
    guard let frame = pool.take() else { return nil }
    frame.pointee.width = Int32(width)
    frame.pointee.height = Int32(height)
    frame.pointee.format = layout.rawValue
    frame.pointee.interlaced_frame = Int32(flags & 1)
    frame.pointee.top_field_first = Int32(flags >> 1 & 1)
    frame.pointee.color_range = flags & 4 != 0 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED
    frame.pointee.colorspace = AVColorSpace(rawValue: UInt32(flags >> 3 & 15))
    frame.pointee.sample_aspect_ratio = AVRational(num: Int32(flags >> 6), den: 3)
    guard av_frame_get_buffer(frame, 0) >= 0 else { return nil }
    let unit = AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(), units: [],
      time: MediaTime(ticks: ticks, timescale: 90_000), firstArrival: Instant(nanoseconds: 0),
      lastArrival: Instant(nanoseconds: 0))
    let raw = RawFrame(
      taking: frame, from: pool, of: UnitRecord(unit, condition: .intact),
      codedFrameRate: flags & 0x20 != 0 ? Rational(25, 1) : nil)
    let planes = [frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2]
    let strides = [frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2]
    for plane in 0..<(raw?.planeCount ?? 0) {
      guard let raw, let start = planes[plane] else { continue }
      let (bytes, rows) = raw.extent(ofPlane: plane)
      for row in 0..<rows {
        for column in 0..<bytes {
          start[row * Int(strides[plane]) + column] = UInt8(truncatingIfNeeded: row * 7 + column)
        }
      }
    }
    return raw
  }
}

/// What an output has made of frames of one shape.
private struct WrittenFile {
  var frames = 0
  var frameLength = 0
  private var recorded = 0
  private var planes = 0
  private var headers = 0

  mutating func write(_ record: OutputRecord?) throws {
    guard let record else { return }
    try require(record.items >= 1 && record.byteCount > 0, "a record of nothing")
    recorded += record.items
    for piece in record.pieces {
      switch piece {
      case .bytes(let bytes):
        if bytes.array.starts(with: Array("YUV4MPEG2".utf8)) { headers += 1 }
      case .planes(let frame):
        var bytes = 0
        for plane in 0..<frame.planeCount {
          bytes += frame.withPlane(plane) { span, layout in
            (0..<layout.rows).reduce(0) { sum, row in
              // Both ends of each row are there to be read.
              _ = span.unsafeLoad(fromByteOffset: row * layout.stride, as: UInt8.self)
              let last = row * layout.stride + layout.rowBytes - 1
              _ = span.unsafeLoad(fromByteOffset: last, as: UInt8.self)
              return sum + layout.rowBytes
            }
          }
        }
        try requireEqual(bytes, frame.byteCount)
        planes += bytes
      }
    }
  }

  func end() throws {
    try requireEqual(recorded, frames, "frames")
    try requireEqual(planes, frames * frameLength, "bytes of frames")
    try require(headers <= 1, "\(headers) headers")
  }
}
