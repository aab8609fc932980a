/// Why a parameter set cannot be used.
public enum ParameterSetError: Error, Sendable, Hashable {
  case truncated
  /// The named syntax element is outside the range that the standard allows.
  case outOfRange(field: String)
  /// The picture is larger than ``FormatDescription/maximumSide`` or has no samples.
  case pictureSize(width: Int, height: Int)

  /// Runs `read`; any other error means that the set ends early.
  static func whileReading<Content>(
    _ read: () throws -> Content
  ) throws(ParameterSetError) -> Content {
    do {
      return try read()
    } catch let error as ParameterSetError {
      throw error
    } catch {
      throw .truncated
    }
  }
}

extension FormatDescription {
  /// The longest side in luma samples: of levels 6 to 6.2, the root of eight times the largest area
  /// (H.264 §A.3.1, H.265 §A.4.1).
  public static let maximumSide = 16_888
  /// The largest picture in luma samples: 64 Mpx, more than any level of H.264 or H.265 allows.
  public static let maximumArea = 64 << 20

  /// More frames per second are not meant: cameras declare the clock of RTP instead, 90,000.
  public static let greatestRate = 1000.0

  /// `rate` in lowest terms; `nil` if it is not meant.
  public static func frameRate(_ rate: Rational?) -> Rational? {
    rate.flatMap { $0.value <= greatestRate ? $0.reduced : nil }
  }

  /// Rejects picture sizes that no level allows, before memory is reserved for one.
  public static func check(width: Int, height: Int) throws(ParameterSetError) {
    guard (1...maximumSide).contains(width), (1...maximumSide).contains(height),
      width * height <= maximumArea
    else { throw .pictureSize(width: width, height: height) }
  }

  /// The format for people: `1280x720 yuv420 8-bit at 30 fps`.
  public var summary: String {
    var text = "\(width)x\(height) \(chroma)"
    if lumaBitDepth != 8 { text += " \(lumaBitDepth)-bit" }
    if let frameRate {
      let hundredths = Int((frameRate.value * 100).rounded())
      let fraction =
        hundredths % 100 == 0 ? "" : ".\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
      text += " at \(hundredths / 100)\(fraction) fps"
    }
    return text
  }
}

extension BitReader {
  /// An unsigned Exp-Golomb code that must not be above `maximum`.
  public mutating func unsigned(upTo maximum: Int, _ field: String) throws -> Int {
    let value = Int(try unsigned())
    guard value <= maximum else { throw ParameterSetError.outOfRange(field: field) }
    return value
  }

  /// The first part of the VUI, which is the same in both standards (E.1.1, E.2.1).
  public mutating func readAspectAndColour(into format: inout FormatDescription) throws {
    if try bit() {
      let indicator = Int(try bits(8))
      if indicator == 255 {
        let width = try bits(16)
        format.sampleAspectRatio = Rational(width, try bits(16))
      } else if Self.sampleAspectRatios.indices.contains(indicator) {
        let (width, height) = Self.sampleAspectRatios[indicator]
        format.sampleAspectRatio = Rational(width, height)
      }
    }
    if try bit() { _ = try bit() }
    if try bit() {
      try skip(3)
      format.colour.isFullRange = try bit()
      if try bit() {
        format.colour.primaries = UInt8(try bits(8))
        format.colour.transfer = UInt8(try bits(8))
        format.colour.matrix = UInt8(try bits(8))
      }
    }
    if try bit() {
      _ = try unsigned(upTo: 5, "chroma_sample_loc_type_top_field")
      _ = try unsigned(upTo: 5, "chroma_sample_loc_type_bottom_field")
    }
  }

  /// Table E-1 of both standards.
  private static let sampleAspectRatios: [(UInt32, UInt32)] = [
    (0, 0), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33),
    (18, 11), (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
  ]
}

extension Rational {
  /// The same ratio in lowest terms.
  public var reduced: Rational? {
    var (one, other) = (numerator, denominator)
    while other != 0 { (one, other) = (other, one % other) }
    return Rational(numerator / max(one, 1), denominator / max(one, 1))
  }
}
