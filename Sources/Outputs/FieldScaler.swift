import Bitstream
import CFFmpeg
import Decode
import Defragment

/// libswscale set up for one kind of source and target, once for each field if they are converted
/// on their own.
@safe final class FieldScaler {
  /// What it is set up for.
  struct Setup: Hashable {
    let source: RawFrame.Conversion
    let target: RawFrame.Conversion
    let quality: FrameConverter.Quality
    let isFieldByField: Bool

    init(
      of frame: RawFrame, _ target: RawFrame.Conversion, _ quality: FrameConverter.Quality
    ) {
      source = frame.identity
      self.target = target
      self.quality = quality
      let (old, new) = (frame.geometry, target.geometry)
      // A row of chroma belongs to rows of its own field.
      let mixesRows =
        old.height != new.height
        || old.pixelFormat.chromaShift.height != new.pixelFormat.chromaShift.height
          && new.pixelFormat.layout != .yuv(.monochrome)
      // Both fields have the same rows of chroma: libswscale rounds up, beyond the end of a plane.
      isFieldByField =
        frame.scan != .progressive && mixesRows
        && [old, new].allSatisfy { $0.height % (2 << $0.pixelFormat.chromaShift.height) == 0 }
    }

    var fieldCount: Int { isFieldByField ? 2 : 1 }

    /// Whether it is from 4:2:0 or 4:2:2 straight to RGB, where each chroma sample may hold for its
    /// pixels.
    var isShortcut: Bool {
      let (old, new) = (source.geometry, target.geometry)
      return quality == .fast && new.pixelFormat.layout == .packed
        && [.yuv(.yuv420), .yuv(.yuv422)].contains(old.pixelFormat.layout)
        && old.pixelFormat.bitDepth == 8 && new.pixelFormat.bitDepth == 8
        && (old.width, old.height) == (new.width, new.height)
        && (new.height / fieldCount) % 2 == 0
    }

    /// The matrix of RGB is that of the other side, so that nothing is converted twice.
    func matrix(of side: RawFrame.Conversion) -> ColourMatrix {
      for colour in [side.colour, source.colour, target.colour] {
        if let matrix = ColourMatrix(code: colour.matrix), matrix != .identity { return matrix }
        if colour.matrix != ColourMatrix.identity.rawValue { break }
      }
      return ColourMatrix(usualFor: source.geometry.height)
    }
  }

  /// libswscale counts places in 1/256 of a sample of luma; -513 is where it thinks best.
  private static let unsaidPosition: Int64 = -513
  /// What the fastest conversion to RGB cuts off in all, as libswscale counts brightness: its three
  /// products are rounded down.
  #if arch(x86_64)
    private static let lostBrightness: Int32 = 192
  #else
    private static let lostBrightness: Int32 = 0
  #endif
  /// 1 in 16.16 fixed point.
  private static let unity: Int32 = 1 << 16

  let setup: Setup
  private var contexts: [OpaquePointer] = unsafe []

  /// `nil` where libswscale cannot do it.
  init?(_ setup: Setup) {
    self.setup = setup
    for field in 0..<setup.fieldCount {
      guard let context = unsafe makeContext(field) else { return nil }
      unsafe contexts.append(context)
    }
  }

  deinit {
    while let context = unsafe contexts.popLast() { unsafe sws_freeContext(context) }
  }

  /// Converts `frame` to memory at `start`; returns whether libswscale did.
  func scale(
    _ frame: RawFrame, to start: UnsafeMutableRawPointer, as layout: PictureLayout
  ) -> Bool {
    for field in 0..<setup.fieldCount {
      var sources: [UnsafePointer<UInt8>?] = unsafe [nil, nil, nil, nil]
      var targets: [UnsafeMutablePointer<UInt8>?] = unsafe [nil, nil, nil, nil]
      var (sourceStrides, targetStrides) = (
        [Int32](repeating: 0, count: 4), [Int32](repeating: 0, count: 4)
      )
      for plane in 0..<frame.planeCount {
        let stride = frame.layout(ofPlane: plane).stride
        unsafe sources[plane] = UnsafePointer(frame.planeStart(plane)).map {
          unsafe $0 + field * stride
        }
        sourceStrides[plane] = Int32(stride * setup.fieldCount)
      }
      for (number, plane) in layout.planes.enumerated() {
        unsafe targets[number] = (start + plane.offset + field * plane.rows.stride)
          .assumingMemoryBound(to: UInt8.self)
        targetStrides[number] = Int32(plane.rows.stride * setup.fieldCount)
      }
      let rows = withExtendedLifetime(frame) {
        unsafe sws_scale(
          contexts[field], &sources, &sourceStrides, 0, Int32(frame.height / setup.fieldCount),
          &targets,
          &targetStrides)
      }
      guard rows > 0 else { return false }
    }
    return true
  }

  private func makeContext(_ field: Int) -> OpaquePointer? {
    let (source, target) = (setup.source, setup.target)
    let (old, new) = (source.geometry, target.geometry)
    let sourcePlace = chromaPosition(source, field)
    let targetPlace = chromaPosition(target, field)
    let options: [(name: String, value: Int64)] = [
      ("srcw", Int64(old.width)), ("srch", Int64(old.height / setup.fieldCount)),
      ("src_format", Int64(old.pixelFormat.libav.rawValue)),
      ("src_range", source.colour.isFullRange ? 1 : 0),
      ("src_h_chr_pos", sourcePlace.across), ("src_v_chr_pos", sourcePlace.down),
      ("dstw", Int64(new.width)), ("dsth", Int64(new.height / setup.fieldCount)),
      ("dst_format", Int64(new.pixelFormat.libav.rawValue)),
      ("dst_range", target.colour.isFullRange ? 1 : 0),
      ("dst_h_chr_pos", targetPlace.across), ("dst_v_chr_pos", targetPlace.down),
      ("sws_flags", Int64(flags)),
    ]
    guard let context = unsafe sws_alloc_context() else { return nil }
    for option in options {
      _ = unsafe av_opt_set_int(UnsafeMutableRawPointer(context), option.name, option.value, 0)
    }
    guard unsafe sws_init_context(context, nil, nil) >= 0 else {
      unsafe sws_freeContext(context)
      return nil
    }
    // It refuses where nothing has a matrix.
    _ = unsafe sws_setColorspaceDetails(
      context, setup.matrix(of: source).coefficients, source.colour.isFullRange ? 1 : 0,
      setup.matrix(of: target).coefficients, target.colour.isFullRange ? 1 : 0,
      setup.isShortcut && !source.colour.isFullRange ? Self.lostBrightness : 0, Self.unity,
      Self.unity)
    return unsafe context
  }

  private var flags: Int32 {
    let (old, new) = (setup.source.geometry, setup.target.geometry)
    guard !setup.isShortcut else { return SWS_BICUBIC }
    // Without scaling, the filter is for chroma only.
    let filter = (old.width, old.height) == (new.width, new.height) ? SWS_BILINEAR : SWS_BICUBIC
    return filter | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND
  }

  /// Where the first chroma sample of a field lies (H.264 §E.2.1, `chroma_sample_loc_type`).
  private func chromaPosition(
    _ side: RawFrame.Conversion, _ field: Int
  ) -> (across: Int64, down: Int64) {
    let shift = side.geometry.pixelFormat.chromaShift
    // Unspecified is left.
    let across: Int64 = side.chromaLocation == .centre ? 128 : 0
    let down: Int64 =
      switch (setup.isFieldByField, side.chromaLocation) {
      case (false, .topLeft): 0
      case (false, _): 128
      case (true, _): field == 0 ? 64 : 192
      }
    return (
      shift.width > 0 ? across : Self.unsaidPosition, shift.height > 0 ? down : Self.unsaidPosition
    )
  }
}
