public import Impairment
import NIOCore
import RTPWire
import TestPattern

/// What the test pattern looks like, and how it is encoded.
public struct PatternConfiguration: Sendable, Hashable {
  public var codec = Codec.h264
  /// Samples; even, at least 256 × 144.
  public var width = 1280
  public var height = 720
  /// 1 … 240.
  public var framesPerSecond = 30
  /// Bits a second.
  public var bitRate = 4_000_000
  /// Pictures from one key picture to the next; `nil` means one second.
  public var groupLength: Int?
  /// Consecutive B-pictures, 0 … 16; without any, nothing is reordered and nothing waits.
  public var bidirectionalPictures = 0
  /// The longest slice in bytes, for packets that hold a NAL unit each; H.264 alone.
  public var sliceLimit: Int?
  /// How many pictures to make; `nil` for no end.
  public var frameLimit: Int?
  /// What changes the size of the pictures and the parameter sets, and when.
  public var plan = Plan()

  public init() {}

  /// Checks the ranges above.
  ///
  /// - Throws: ``SendError/invalid(option:reason:)`` with the first value that does not fit.
  public func validate() throws(SendError) {
    guard (FrameNumberStrip.minimumWidth...8192).contains(width), (144...8192).contains(height)
    else { throw .invalid(option: "--size", reason: "must be 256x144 to 8192x8192") }
    guard width.isMultiple(of: 2), height.isMultiple(of: 2) else {
      // The largest is even, so the next one up is allowed.
      let even = "\(width + width % 2)x\(height + height % 2)"
      throw .invalid(
        option: "--size", reason: "must be even, since colour has half the samples; try \(even)")
    }
    guard (1...240).contains(framesPerSecond) else {
      throw .invalid(option: "--fps", reason: "of the pattern must be a whole number, 1 to 240")
    }
    guard (10_000...1_000_000_000).contains(bitRate) else {
      throw .invalid(option: "--bitrate", reason: "must be 10k to 1000M bits a second")
    }
    guard groupLength.map({ (1...100_000).contains($0) }) ?? true else {
      throw .invalid(option: "--gop", reason: "must be 1 to 100000 frames")
    }
    guard (0...16).contains(bidirectionalPictures) else {
      throw .invalid(option: "--bframes", reason: "must be 0 to 16")
    }
  }
}

/// The moving test pattern, painted and encoded picture by picture.
public final class PatternSource: VideoSource {
  public let codec: Codec
  private let configuration: PatternConfiguration
  private var painter: PatternPainter
  private var encoder: VideoEncoder
  private var form: Form
  private var painted = 0
  private var isDrained = false
  private var isKeyPictureWanted = false
  /// What the pictures look like once those before have come out of the encoder.
  private var nextForm: Form?

  /// What needs another encoder when it changes.
  struct Form: Hashable {
    var width: Int
    var height: Int
    /// Other parameter sets have other numbers here.
    var parameterSets: Int
  }

  public init(_ configuration: PatternConfiguration) throws(SendError) {
    try configuration.validate()
    self.configuration = configuration
    codec = configuration.codec
    form = configuration.form(ofFrame: 0)
    painter = configuration.painter(form)
    encoder = try configuration.encoder(form)
  }

  public func next() throws -> Supply<SourceAccessUnit> {
    while true {
      if let output = try encoder.receive() {
        return .next(
          SourceAccessUnit(
            units: AnnexB.units(in: output.bytes), presentationTicks: ticks(output.presentation),
            decodingTicks: ticks(output.decoding), isRandomAccess: output.isKey))
      }
      if isDrained {
        guard let next = nextForm else { return .end }
        (form, nextForm, isDrained) = (next, nil, false)
        painter = configuration.painter(next)
        encoder = try configuration.encoder(next)
      }
      let isLast = painted == configuration.frameLimit ?? .max
      let form = configuration.form(ofFrame: painted)
      if isLast || form != self.form {
        isDrained = true
        nextForm = isLast ? nil : form
        try encoder.encode(nil, number: 0)
      } else {
        let number = UInt32(truncatingIfNeeded: painted)
        try encoder.encode(
          painter.picture(number: number), number: Int64(painted), isKey: isKeyPictureWanted)
        isKeyPictureWanted = false
        painted += 1
      }
    }
  }

  public func requestKeyPicture() { isKeyPictureWanted = true }

  public var hasEnd: Bool { configuration.frameLimit != nil }

  public var frameRate: Double? { Double(configuration.framesPerSecond) }

  private func ticks(_ frames: Int64) -> Int64 {
    frames.multipliedSaturating(by: 90_000) / Int64(configuration.framesPerSecond)
  }
}

extension PatternConfiguration {
  fileprivate func form(ofFrame number: Int) -> PatternSource.Form {
    let time = Int64(number).multipliedSaturating(by: 1_000_000_000) / Int64(framesPerSecond)
    let size = plan.size(at: time) ?? (width, height)
    return PatternSource.Form(
      width: size.0, height: size.1,
      parameterSets: Int(clamping: plan.parameterSetChanges(until: time)))
  }

  fileprivate func painter(_ form: PatternSource.Form) -> PatternPainter {
    PatternPainter(width: form.width, height: form.height, framesPerSecond: framesPerSecond)
  }

  fileprivate func encoder(_ form: PatternSource.Form) throws(SendError) -> VideoEncoder {
    try VideoEncoder(
      VideoEncoder.Settings(
        codec: codec, width: form.width, height: form.height, framesPerSecond: framesPerSecond,
        bitRate: bitRate, groupLength: groupLength ?? framesPerSecond,
        bidirectionalPictures: bidirectionalPictures,
        sliceLimit: sliceLimit,
        referencePictures: form.parameterSets == 0 ? nil : 2 + form.parameterSets % 3))
  }
}
