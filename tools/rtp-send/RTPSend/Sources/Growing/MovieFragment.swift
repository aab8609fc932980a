import NIOCore
import RTPWire

/// The samples of video in one `moof` box (ISO/IEC 14496-12 §8.8).
struct MovieFragment: Equatable {
  struct Sample: Equatable {
    /// Where it begins in the file.
    var offset: UInt64
    var size: Int
    /// In ticks of the track, from its zero.
    var decoding: Int64
    var presentation: Int64
    /// When the next one is decoded.
    var end: Int64
  }

  /// More are no fragment of a live recording.
  static let mostSamples = 1 << 16

  var samples: [Sample] = []
  /// The decoding time behind the last sample.
  var end: Int64

  /// Reads the content of a `moof` box that begins at `start`; `time` is where it begins when it
  /// does not say so.
  init(_ body: ByteBuffer, at start: UInt64, _ index: MovieIndex, after time: Int64)
    throws(GrowingFault)
  {
    end = time
    // Data of the first track begins with the fragment, that of others behind the one before.
    var base = start
    for traf in Boxes(in: body) where traf.type == "traf" {
      base = try read(traf, index, moof: start, implicit: base)
    }
  }

  private mutating func read(
    _ traf: Box, _ index: MovieIndex, moof: UInt64, implicit: UInt64
  ) throws(GrowingFault) -> UInt64 {
    guard var tfhd = traf.first("tfhd"), let flags = tfhd.readVersion()?.flags,
      let track = tfhd.body.readInteger(as: UInt32.self)
    else { throw .malformed("tfhd") }
    var (base, defaults) = (implicit, index.defaults)
    if flags & 0x1 != 0 {
      base = tfhd.body.readInteger(as: UInt64.self) ?? implicit
    } else if flags & 0x2_0000 != 0 {
      base = moof
    }
    if flags & 0x2 != 0 { tfhd.body.moveReaderIndex(forwardBy: min(4, tfhd.body.readableBytes)) }
    if flags & 0x8 != 0 { defaults.duration = tfhd.body.readInteger() ?? defaults.duration }
    if flags & 0x10 != 0 { defaults.size = tfhd.body.readInteger() ?? defaults.size }
    let isVideo = track == index.track
    if isVideo, var tfdt = traf.first("tfdt"), let version = tfdt.readVersion()?.version {
      let time =
        version == 1
        ? tfdt.body.readInteger(as: UInt64.self)
        : tfdt.body.readInteger(as: UInt32.self).map(UInt64.init)
      end = Int64(clamping: time ?? 0)
    }
    var place = base
    for run in Boxes(in: traf.body) where run.type == "trun" {
      place = try read(run, isVideo: isVideo, base: base, implicit: place, defaults)
    }
    return place
  }

  /// Returns where the data of the run ends.
  private mutating func read(
    _ run: Box, isVideo: Bool, base: UInt64, implicit: UInt64,
    _ defaults: MovieIndex.SampleDefaults
  ) throws(GrowingFault) -> UInt64 {
    var run = run
    guard let (version, flags) = run.readVersion(),
      let count = run.body.readInteger(as: UInt32.self), count <= Self.mostSamples
    else { throw .malformed("trun") }
    var place = implicit
    if flags & 0x1 != 0 {
      guard let offset = run.body.readInteger(as: Int32.self) else { throw .malformed("trun") }
      let (sum, overflow) = Int64(clamping: base).addingReportingOverflow(Int64(offset))
      guard !overflow, sum >= 0 else { throw .malformed("trun") }
      place = UInt64(sum)
    }
    if flags & 0x4 != 0 { _ = run.body.readInteger(as: UInt32.self) }
    guard isVideo || flags & 0xF00 != 0 else {
      // All samples of sound have one size here, and a few bytes can claim a great many.
      let (end, overflow) = place.addingReportingOverflow(UInt64(count) * UInt64(defaults.size))
      guard !overflow else { throw .malformed("trun") }
      return end
    }
    for _ in 0..<count {
      var (duration, size, shift) = (defaults.duration, defaults.size, Int64(0))
      if flags & 0x100 != 0 { duration = try run.field() }
      if flags & 0x200 != 0 { size = try run.field() }
      if flags & 0x400 != 0 { _ = try run.field() }
      if flags & 0x800 != 0 {
        let value = try run.field()
        shift = version == 0 ? Int64(value) : Int64(Int32(bitPattern: value))
      }
      guard size <= AccessUnitGrouper.longestAccessUnit, samples.count < Self.mostSamples else {
        throw .tooLong(bytes: UInt64(size), offset: place)
      }
      if isVideo {
        let start = end
        end = end.addingSaturating(Int64(duration))
        samples.append(
          Sample(
            offset: place, size: Int(size), decoding: start,
            presentation: start.addingSaturating(shift), end: end))
      }
      let (next, overflow) = place.addingReportingOverflow(UInt64(size))
      guard !overflow else { throw .malformed("trun") }
      place = next
    }
    return place
  }
}

extension Box {
  /// A field of 32 bits, which is taken out.
  fileprivate mutating func field() throws(GrowingFault) -> UInt32 {
    guard let field = body.readInteger(as: UInt32.self) else { throw .malformed(type) }
    return field
  }
}
