import Bitstream
import Decode
import Glibc
import Outputs
import TestSupport
import Testing

/// Samples after a conversion, compared with FFmpeg's and with the formulas of H.273.
@Suite struct FrameConverterTests {
  static let plain = Clip(name: "4:2:0", frames: 2)
  static let ten = Clip(name: "4:2:0 10 bit", frames: 2, pixelFormat: "yuv420p10le")

  static let monochrome = [
    Clip(name: "monochrome", codec: .testH265, frames: 2, pixelFormat: "gray"),
    Clip(name: "monochrome 10 bit", codec: .testH265, frames: 2, pixelFormat: "gray10le"),
  ]

  // MARK: - Layouts

  @Test(
    "a change of layout alone keeps every sample",
    arguments: [
      (plain, PixelFormat.nv12), (plain, .yuv420p), (ten, .p010), (ten, .yuv420p10),
      (Clip(name: "full range", frames: 2, pixelFormat: "yuvj420p"), .nv12),
    ])
  func layout(_ clip: Clip, _ format: PixelFormat) async throws {
    let frame = try #require(try await clip.decodedFrames().last)
    let converted = try FrameConverter(to: FrameShape(pixelFormat: format)).converted(frame)
    #expect(converted.pixelFormat == format)
    #expect(converted.colour == frame.colour)
    let expected = try run(
      Self.input(frame) + ["-f", "rawvideo", "-pix_fmt", format.name, "-"], input: frame.packed)
    #expect(converted.packed == expected)
    if format.planeCount == 2 {
      let (luma, chroma) = (frame.samples(0), zip(frame.samples(1), frame.samples(2)))
      let shift = format == .p010 ? 6 : 0
      #expect(converted.samples(0) == luma.map { $0 << shift })
      #expect(converted.samples(1) == chroma.flatMap { [$0 << shift, $1 << shift] })
    }
  }

  @Test(
    "8 bits become 10 without low bits of their own", arguments: [PixelFormat.yuv420p10, .p010])
  func deeper(_ format: PixelFormat) async throws {
    let frame = try #require(try await Self.plain.decodedFrames().last)
    let converted = try FrameConverter(to: FrameShape(pixelFormat: format)).converted(frame)
    let shift = format == .p010 ? 8 : 2
    #expect(converted.samples(0) == frame.samples(0).map { $0 << shift })
  }

  @Test(
    "what has no chroma has the middle where a layout has some", arguments: monochrome,
    [PixelFormat.yuv420p, .nv12, .yuv420p10, .p010])
  func middle(_ clip: Clip, _ format: PixelFormat) async throws {
    let frame = try #require(try await clip.decodedFrames().last)
    let converter = FrameConverter(to: FrameShape(pixelFormat: format))
    let layout = converter.layout(for: frame)
    let bytes = try samples(of: frame, by: converter, beforeFilling: 64)
    let luma = layout.planes[0].rows
    let chroma = bytes.dropFirst(luma.rows * luma.rowBytes)
    #expect(chroma.count == bytes.count / 3)
    let middle: [UInt8] =
      switch format {
      case .yuv420p10: [0, 2]
      case .p010: [0, 128]
      default: [128]
      }
    #expect(chroma.elementsEqual((0..<chroma.count).map { middle[$0 % middle.count] }))
  }

  @Test("a frame that is already as wanted is not copied")
  func untouched() async throws {
    let frame = try #require(try await Self.plain.decodedFrames().last)
    for shape in [FrameShape(), FrameShape(pixelFormat: .yuv420p), FrameShape(size: .init(frame))] {
      #expect(try FrameConverter(to: shape).converted(frame) === frame)
    }
  }

  // MARK: - Colours

  struct Colours: Sendable, CustomTestStringConvertible {
    var matrix: String
    var isFullRange = false
    var pixelFormat = "yuv420p"
    var width = 112
    var height = 80
    var codec = VideoCodec.testH264
    var testDescription: String {
      "\(matrix) \(isFullRange ? "full" : "limited") \(pixelFormat) \(width)x\(height)"
    }

    var clip: Clip {
      let flags = ["-color_range", isFullRange ? "pc" : "tv", "-colorspace", matrix]
      return Clip(
        name: testDescription, codec: codec, width: width, height: height, frames: 2,
        pixelFormat: pixelFormat,
        encoder: (matrix == "unknown" ? Array(flags[..<2]) : flags) + ["-qp", "0"])
    }
  }

  static let colours: [Colours] =
    ["bt709", "smpte170m", "bt2020nc", "smpte240m", "fcc", "unknown"].flatMap { matrix in
      [Colours(matrix: matrix), Colours(matrix: matrix, isFullRange: true)]
    } + [
      Colours(matrix: "unknown", width: 64, height: 720),
      Colours(matrix: "bt709", pixelFormat: "yuv422p"),
      Colours(matrix: "bt709", isFullRange: true, pixelFormat: "yuv422p"),
      Colours(matrix: "smpte170m", pixelFormat: "yuv444p", width: 175, height: 97),
      Colours(matrix: "bt709", pixelFormat: "yuv420p10le"),
      Colours(matrix: "bt709", isFullRange: true, pixelFormat: "yuv422p10le"),
      Colours(matrix: "bt709", width: 174, height: 98),
      Colours(matrix: "unknown", pixelFormat: "gray", codec: .testH265),
      Colours(matrix: "unknown", isFullRange: true, pixelFormat: "gray", codec: .testH265),
      Colours(matrix: "unknown", pixelFormat: "gray10le", codec: .testH265),
    ]

  @Test(
    "RGB is made with the stream's matrix and range, within two levels of the formula",
    arguments: colours, [(PixelFormat.rgb24, false), (.bgr24, false), (.bgr24, true)])
  func rgb(_ colours: Colours, way: (format: PixelFormat, prefersLibrary: Bool)) async throws {
    let frame = try #require(try await colours.clip.decodedFrames().last)
    #expect(frame.colour.isFullRange == colours.isFullRange)
    let format = way.format
    let converter = FrameConverter(to: FrameShape(pixelFormat: format))
    converter.prefersLibrary = way.prefersLibrary
    let converted = try converter.converted(frame)
    #expect(converted.colour.isFullRange && converted.colour.matrix == 0)
    let reference = Reference(frame, colours.matrix)
    let samples = converted.samples(0)
    var (largest, sum, count) = (0.0, 0.0, 0)
    for y in 0..<frame.height {
      for x in 0..<frame.width where reference.hasFlatChroma(x, y) {
        let expected = reference.colour(x, y)
        for (component, value) in (format == .rgb24 ? expected : expected.reversed()).enumerated() {
          let error = Double(samples[(y * frame.width + x) * 3 + component]) - value
          largest = max(largest, abs(error))
          sum += error
          count += 1
        }
      }
    }
    #expect(count > frame.width * frame.height / 4)
    #expect(largest < 2.2, "mean \(sum / Double(count))")
    #expect(abs(sum / Double(count)) < 0.7)
  }

  @Test(
    "with interpolated chroma, RGB is what FFmpeg makes at its best, within one level",
    // FFmpeg takes all gray of 8 bits for full range.
    arguments: colours.filter { $0.pixelFormat != "gray" })
  func exactRGB(_ colours: Colours) async throws {
    let frame = try #require(try await colours.clip.decodedFrames().last)
    let converter = FrameConverter(to: FrameShape(pixelFormat: .rgb24), quality: .exact)
    let expected = try ffmpeg(
      frame, matrix: colours.matrix, to: .rgb24, "flags=bilinear+full_chroma_int+accurate_rnd")
    #expect(try converter.converted(frame).packed.largestDifference(from: expected) <= 1)
  }

  @Test(
    "the colours of JPEG files are those of the stream, within two levels of RGB",
    arguments: colours, [false, true])
  func jfif(_ colours: Colours, prefersLibrary: Bool) async throws {
    let frame = try #require(try await colours.clip.decodedFrames().last)
    let format: PixelFormat
    switch frame.pixelFormat.layout {
    case .yuv(.yuv420): format = .yuv420p
    case .yuv(.yuv422): format = .yuv422p
    case .yuv(.yuv444): format = .yuv444p
    default: format = .gray8
    }
    let converter = FrameConverter(to: FrameShape(pixelFormat: format), as: .jfif, quality: .exact)
    converter.prefersLibrary = prefersLibrary
    let converted = try converter.converted(frame)
    #expect(converted.colour.isFullRange)
    #expect(format == .gray8 || converted.chromaLocation == .centre)
    let (before, after) = (Reference(frame, colours.matrix), Reference(converted, "smpte170m"))
    var (largest, count) = (0.0, 0)
    for y in 0..<frame.height {
      for x in 0..<frame.width where before.hasFlatChroma(x, y) && before.fitsJPEG(x, y) {
        for (old, new) in zip(before.colour(x, y), after.colour(x, y)) {
          largest = max(largest, abs(new - old))
        }
        count += 1
      }
    }
    #expect(count > frame.width * frame.height / 16)
    #expect(largest < 2)
  }

  @Test("gray is luma from 0 to 255", arguments: colours)
  func gray(_ colours: Colours) async throws {
    let frame = try #require(try await colours.clip.decodedFrames().last)
    let depth = frame.pixelFormat.bitDepth
    for format in [PixelFormat.gray8, .gray10] {
      let gray = try FrameConverter(to: FrameShape(pixelFormat: format)).converted(frame)
      #expect(gray.colour.isFullRange && gray.pixelFormat == format)
      let largest = Double(1 << format.bitDepth - 1)
      let limits =
        frame.colour.isFullRange ? (0, 1 << depth - 1) : (16 << (depth - 8), 235 << (depth - 8))
      // libswscale calculates with 15 bits.
      let tolerance = format.bitDepth > 8 ? 4.0 : 1.0
      let error = zip(gray.samples(0), frame.samples(0)).map { new, old in
        let value = Double(old - limits.0) / Double(limits.1 - limits.0) * largest
        return abs(Double(new) - min(max(value, 0), largest))
      }
      #expect(error.max() ?? 0 <= tolerance, "\(format.name)")
    }
  }

  @Test("an identity matrix is RGB already")
  func planarRGB() async throws {
    let clip = Clip(
      name: "gbrp", codec: .testH264, source: "testsrc2=size=175x97:rate=30", width: 175,
      height: 97, frames: 2, pixelFormat: "gbrp", encoder: ["-qp", "0"])
    // libx264rgb writes what libx264 cannot.
    let stream = try run(
      ["-f", "lavfi", "-i", clip.source ?? "", "-frames:v", "2", "-pix_fmt", "rgb24"]
        + ["-c:v", "libx264rgb", "-qp", "0", "-threads", "1"]
        + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", "-"])
    let frame = try #require(try await clip.decodedFrames(of: stream).last)
    #expect(frame.pixelFormat.layout == .gbr)
    let rgb = try FrameConverter(to: FrameShape(pixelFormat: .rgb24)).converted(frame)
    let (green, blue, red) = (frame.samples(0), frame.samples(1), frame.samples(2))
    let packed: [Int] = green.indices.flatMap { [red[$0], green[$0], blue[$0]] }
    #expect(rgb.samples(0) == packed)
    let yuv = try FrameConverter(to: FrameShape(pixelFormat: .yuv420p)).converted(frame)
    #expect(!yuv.colour.isFullRange && yuv.colour.matrix == 6)
  }

  @Test("each field of an interlaced picture keeps its chroma", arguments: [1, 0])
  func fields(_ topFieldFirst: Int) async throws {
    let clip = Clip(
      name: "interlaced", frames: 2,
      encoder: ["-flags", "+ildct+ilme", "-x264-params", topFieldFirst == 1 ? "tff=1" : "bff=1"]
        + ["-colorspace", "bt709", "-qp", "0"])
    let frame = try #require(try await clip.decodedFrames().last)
    #expect(frame.scan != .progressive)
    let exact = FrameConverter(to: FrameShape(pixelFormat: .rgb24), quality: .exact)
    let expected = try ffmpeg(
      frame, matrix: "bt709", to: .rgb24,
      "flags=bilinear+full_chroma_int+accurate_rnd:interl=1")
    #expect(try exact.converted(frame).packed.largestDifference(from: expected) <= 1)
    let half = try FrameConverter(to: FrameShape(size: .init(width: 176, height: 72)))
      .converted(frame)
    let scaled = try run(
      Self.input(frame) + [
        "-vf", "scale=176:72:interl=1:flags=bicubic+accurate_rnd+full_chroma_int",
      ]
        + ["-f", "rawvideo", "-"], input: frame.packed)
    #expect(half.packed.prefix(176 * 72).largestDifference(from: scaled.prefix(176 * 72)) <= 1)
    // A field of 37 rows would have 19 of chroma, of 37 that both have.
    let uneven = try FrameConverter(to: FrameShape(size: .init(width: 176, height: 74)))
      .converted(frame)
    let whole = try ffmpeg(
      frame, matrix: "bt709", to: frame.pixelFormat,
      "flags=bicubic+full_chroma_int+accurate_rnd", size: (176, 74))
    #expect(uneven.packed.largestDifference(from: whole) <= 1)
  }

  // MARK: - Sizes

  @Test(
    "scaling is FFmpeg's, in every layout",
    arguments: [
      plain, ten, Clip(name: "4:2:2", frames: 2, pixelFormat: "yuv422p"),
      Clip(name: "4:4:4", width: 175, height: 97, frames: 2, pixelFormat: "yuv444p"),
      Clip(name: "monochrome", codec: .testH265, frames: 2, pixelFormat: "gray"),
    ], [(352, 288), (175, 97), (64, 48), (1, 1)])
  func scaling(_ clip: Clip, _ size: (Int, Int)) async throws {
    let frame = try #require(try await clip.decodedFrames().last)
    for format in [nil, PixelFormat.yuv420p, .nv12, .bgr24] as [PixelFormat?] {
      let shape = FrameShape(
        pixelFormat: format, size: FrameShape.Size(width: size.0, height: size.1))
      let converted = try FrameConverter(to: shape).converted(frame)
      #expect((converted.width, converted.height) == size)
      #expect(converted.scan == frame.scan && converted.time == frame.time)
      let expected = try ffmpeg(
        frame, matrix: "unknown", to: format ?? frame.pixelFormat,
        "flags=bicubic+full_chroma_int+accurate_rnd", size: size)
      #expect(converted.packed.largestDifference(from: expected) <= 1, "\(format?.name ?? "same")")
    }
  }

  @Test("the shape of a sample follows, so that the picture keeps its own")
  func aspect() async throws {
    let clip = Clip(name: "aspect", frames: 2, encoder: ["-vf", "setsar=12/11"])
    let frame = try #require(try await clip.decodedFrames().last)
    let size = FrameShape.Size(width: 88, height: 144)
    let converted = try FrameConverter(to: FrameShape(size: size)).converted(frame)
    #expect(converted.sampleAspectRatio == Rational(24, 11))
  }

  // MARK: - Memory

  @Test("memory of the caller is written up to its last sample and not beyond its end")
  func callersMemory() async throws {
    let source = try #require(try await Self.plain.decodedFrames().last)
    for width in Array(1...18) + [31, 33, 40, 63, 65] {
      for format in PixelFormat.targets.map(\.value) {
        let size = FrameShape.Size(width: width, height: width % 2 == 0 ? 6 : 5)
        let frame = try FrameConverter(to: FrameShape(size: size)).converted(source)
        let converter = FrameConverter(to: FrameShape(pixelFormat: format))
        let bytes = try samples(of: frame, by: converter, beforeFilling: 256)
        #expect(bytes == (try converter.converted(frame).packed), "\(format.name) \(width)")
        guard format == .bgr24 else { continue }
        // A sample that was left out would show the filling.
        converter.prefersLibrary = true
        let others = try samples(of: frame, by: converter, beforeFilling: 256)
        let exact = FrameConverter(to: FrameShape(pixelFormat: format), quality: .exact)
        let last = try exact.converted(frame).packed.suffix(3)
        for bytes in [bytes, others] {
          #expect(last.largestDifference(from: bytes.suffix(3)) <= 40, "\(width)")
        }
      }
    }
  }

  @Test(
    "what comes after a change of size is what comes without one",
    arguments: [plain, ten] + monochrome, PixelFormat.targets.map(\.value))
  func sizeChanges(_ clip: Clip, _ format: PixelFormat) async throws {
    let source = try #require(try await clip.decodedFrames().last)
    let converter = FrameConverter(to: FrameShape(pixelFormat: format))
    for (width, height) in [(176, 144), (96, 60), (33, 21), (160, 120), (176, 60)] {
      let size = FrameShape.Size(width: width, height: height)
      let frame = try FrameConverter(to: FrameShape(size: size)).converted(source)
      // As much as the largest picture could have too much.
      let bytes = try samples(of: frame, by: converter, beforeFilling: 1 << 18)
      let expected = try FrameConverter(to: FrameShape(pixelFormat: format)).converted(frame)
      #expect(bytes == expected.packed, "\(width)x\(height)")
    }
  }

  /// What `converter` writes for `frame` to memory of the caller, which goes on for `count` bytes
  /// that must stay.
  private func samples(
    of frame: RawFrame, by converter: FrameConverter, beforeFilling count: Int
  ) throws -> [UInt8] {
    let layout = converter.layout(for: frame)
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: layout.byteCount + count, alignment: PictureLayout.alignment)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0xA5)
    let start = try #require(memory.baseAddress)
    try converter.convert(frame, into: start, as: layout)
    let what = "\(layout.geometry.pixelFormat.name) \(frame.width)x\(frame.height)"
    let filling = [UInt8](repeating: 0xA5, count: count)
    #expect(memcmp(start + layout.byteCount, filling, count) == 0, "\(what)")
    var bytes: [UInt8] = []
    for plane in layout.planes {
      #expect(plane.offset % 64 == 0 && plane.rows.stride % 64 == 0, "\(what)")
      for row in 0..<plane.rows.rows {
        bytes += memory[(plane.offset + row * plane.rows.stride)...].prefix(plane.rows.rowBytes)
      }
    }
    return bytes
  }

  @Test("frames that are in use keep their samples while others are converted")
  func reuse() async throws {
    let frames = try await Clip(name: "moving", frames: 12).decodedFrames()
    let converter = FrameConverter(to: FrameShape(pixelFormat: .nv12))
    let converted = try frames.map { try converter.converted($0) }
    for (old, new) in zip(frames, converted) { #expect(new.samples(0) == old.samples(0)) }
  }

  // MARK: - In outputs

  @Test("an output's frames have the wanted samples and size", arguments: ["yuv", "y4m"])
  func inOutputs(_ name: String) async throws {
    let folder = try TemporaryFolder()
    let format: PixelFormat = name == "yuv" ? .bgr24 : .gray8
    let shape = FrameShape(pixelFormat: format, size: FrameShape.Size(width: 100, height: 50))
    let lane = try lane(.path(folder("a." + name)), name, shape: shape)
    let frames =
      try await Self.plain.decodedFrames()
      + Clip(name: "other", width: 320, height: 240, frames: 2).decodedFrames()
    for frame in frames { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil && summary.files.count == 1)
    #expect(summary.notes.contains(.assumedMatrix(6)) == (name == "yuv"))
    let bytes = try folder.contents("a." + name)
    let size = 100 * 50 * (name == "yuv" ? 3 : 1)
    if name == "yuv" {
      #expect(bytes.count == frames.count * size)
    } else {
      let header = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
      #expect(header.contains("Cmono") && header.contains("XCOLORRANGE=FULL"))
      #expect(bytes.count == header.utf8.count + 1 + frames.count * (size + 6))
    }
  }

  @Test(
    "a .y4m says that it cannot hold what has no planes", arguments: [PixelFormat.nv12, .bgr24])
  func notInY4M(_ format: PixelFormat) async throws {
    let folder = try TemporaryFolder()
    let lane = try lane(.path(folder("a.y4m")), "y4m", shape: FrameShape(pixelFormat: format))
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error as? OutputError == .unsupportedPixelFormat(name: format.name))
  }

  // MARK: - References

  private static func input(_ frame: RawFrame) -> [String] {
    ["-f", "rawvideo", "-pix_fmt", frame.pixelFormat.name, "-s", "\(frame.width)x\(frame.height)"]
      + ["-i", "pipe:0"]
  }

  /// FFmpeg's conversion of `frame`, told what the stream says.
  private func ffmpeg(
    _ frame: RawFrame, matrix: String, to format: PixelFormat, _ flags: String,
    size: (Int, Int)? = nil
  ) throws -> [UInt8] {
    let known = matrix == "unknown" ? frame.height < 720 ? "smpte170m" : "bt709" : matrix
    let name = ["bt2020nc": "bt2020"][known] ?? known
    let range = frame.colour.isFullRange ? "pc" : "tv"
    let isRGB = format.layout == .packed
    let size = size ?? (frame.width, frame.height)
    let filter =
      "scale=\(size.0):\(size.1):\(flags):in_color_matrix=\(name):out_color_matrix=\(name)"
      + ":in_range=\(range):out_range=\(isRGB ? "pc" : range)"
      + positions("in", frame.pixelFormat) + positions("out", format)
    return try run(
      Self.input(frame) + ["-vf", filter, "-pix_fmt", format.name, "-f", "rawvideo", "-"],
      input: frame.packed)
  }
}

/// Where FFmpeg's scaler is to see chroma: as H.264 and H.265 have it where they say nothing.
private func positions(_ side: String, _ format: PixelFormat) -> String {
  switch format.layout {
  case .yuv(.yuv420), .semiPlanar(.yuv420):
    ":\(side)_h_chr_pos=0" + (format.name == "yuv420p" ? "" : ":\(side)_v_chr_pos=128")
  case .yuv(.yuv422), .semiPlanar(.yuv422): ":\(side)_h_chr_pos=0"
  default: ""
  }
}

/// Red, green and blue by the formulas of H.273 §8.3, in 0 … 255.
private struct Reference {
  private let planes: [[Int]]
  private let shift: (width: Int, height: Int)
  private let width: Int
  private let chromaWidth: Int
  private let black: Double
  private let span: (luma: Double, chroma: Double)
  private let middle: Double
  private let weights: (red: Double, blue: Double)

  init(_ frame: RawFrame, _ matrix: String) {
    planes = (0..<frame.planeCount).map { frame.samples($0) }
    switch frame.pixelFormat.layout {
    case .yuv(.yuv420): shift = (1, 1)
    case .yuv(.yuv422): shift = (1, 0)
    default: shift = (0, 0)
    }
    width = frame.width
    chromaWidth = (frame.width + shift.width) >> shift.width
    let unit = Double(1 << (frame.pixelFormat.bitDepth - 8))
    let largest = 256 * unit - 1
    black = frame.colour.isFullRange ? 0 : 16 * unit
    span = frame.colour.isFullRange ? (largest, largest) : (219 * unit, 224 * unit)
    middle = 128 * unit
    weights =
      switch matrix {
      case "bt709": (0.2126, 0.0722)
      case "bt2020nc": (0.2627, 0.0593)
      case "smpte240m": (0.212, 0.087)
      case "fcc": (0.30, 0.11)
      case "unknown" where frame.height >= 720: (0.2126, 0.0722)
      default: (0.299, 0.114)
      }
  }

  private func chroma(_ plane: Int, _ x: Int, _ y: Int) -> Int? {
    guard x >= 0, y >= 0, x < chromaWidth, y * chromaWidth + x < planes[plane].count else {
      return nil
    }
    return planes[plane][y * chromaWidth + x]
  }

  /// Whether the chroma around a sample differs so little that interpolation does not matter.
  func hasFlatChroma(_ x: Int, _ y: Int) -> Bool {
    guard planes.count == 3, shift != (0, 0) else { return true }
    let (column, row) = (x >> shift.width, y >> shift.height)
    return (1...2).allSatisfy { plane in
      (0..<9).allSatisfy {
        chroma(plane, column + $0 % 3 - 1, row + $0 / 3 - 1) ?? chroma(plane, column, row)
          == chroma(plane, column, row)
      }
    }
  }

  /// Whether JPEG has chroma for a sample.
  ///
  /// Video may have colours beyond RGB. Those of another matrix can lie beyond the ends of BT.601's
  /// chroma, where they are cut off.
  func fitsJPEG(_ x: Int, _ y: Int) -> Bool {
    let (red, green, blue) = unboundedColour(x, y)
    let luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return [(blue - luma) / 1.772, (red - luma) / 1.402].allSatisfy { abs($0 * 255) <= 128 }
  }

  func colour(_ x: Int, _ y: Int) -> [Double] {
    let (red, green, blue) = unboundedColour(x, y)
    return [red, green, blue].map { min(max($0 * 255, 0), 255) }
  }

  /// From 0 to 1, if it is a colour of RGB.
  private func unboundedColour(_ x: Int, _ y: Int) -> (red: Double, green: Double, blue: Double) {
    let luma = (Double(planes[0][y * width + x]) - black) / span.luma
    guard planes.count == 3 else { return (luma, luma, luma) }
    let (column, row) = (x >> shift.width, y >> shift.height)
    let cb = (Double(chroma(1, column, row) ?? 0) - middle) / span.chroma
    let cr = (Double(chroma(2, column, row) ?? 0) - middle) / span.chroma
    let red = luma + 2 * (1 - weights.red) * cr
    let blue = luma + 2 * (1 - weights.blue) * cb
    let green =
      (luma - weights.red * red - weights.blue * blue) / (1 - weights.red - weights.blue)
    return (red, green, blue)
  }
}

extension RawFrame {
  /// The samples of a plane in the order of memory.
  fileprivate func samples(_ plane: Int) -> [Int] {
    withPlane(plane) { bytes, layout in
      var samples: [Int] = []
      samples.reserveCapacity(layout.rows * layout.rowBytes)
      for row in 0..<layout.rows {
        for column in stride(from: 0, to: layout.rowBytes, by: pixelFormat.bytesPerSample) {
          let place = row * layout.stride + column
          let low = Int(bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self))
          let high =
            pixelFormat.bytesPerSample > 1
            ? Int(bytes.unsafeLoad(fromByteOffset: place + 1, as: UInt8.self)) : 0
          samples.append(low | high << 8)
        }
      }
      return samples
    }
  }
}

extension FrameShape.Size {
  fileprivate init?(_ frame: RawFrame) { self.init(width: frame.width, height: frame.height) }
}

extension Collection<UInt8> {
  /// The largest difference between bytes in the same place.
  fileprivate func largestDifference(from other: some Collection<UInt8>) -> Int {
    SampleDifferences(Array(self)[...], Array(other)[...])?.largest ?? .max
  }
}
