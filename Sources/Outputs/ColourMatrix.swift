import CFFmpeg

/// How luma and chroma are made from red, green and blue (H.273 §8.3).
enum ColourMatrix: UInt8 {
  case identity = 0
  case bt709 = 1
  case fcc = 4
  case bt601 = 6
  case smpte240 = 7
  case bt2020 = 9

  /// Pictures of at least this many lines have the matrix of high definition, if none is said.
  private static let linesOfHighDefinition = 720

  /// The matrix with code point `code`; `nil` if it is unspecified, or none that libswscale knows.
  init?(code: UInt8) {
    switch code {
    case 5: self = .bt601
    // Constant luminance, of which the matrix for the other kind is the nearest.
    case 10: self = .bt2020
    default: self.init(rawValue: code)
    }
  }

  /// The matrix of pictures of `height` lines that do not say it, as players assume it.
  init(usualFor height: Int) { self = height < Self.linesOfHighDefinition ? .bt601 : .bt709 }

  var coefficients: UnsafePointer<Int32>? {
    let space =
      switch self {
      case .identity, .bt601: SWS_CS_ITU601
      case .bt709: SWS_CS_ITU709
      case .fcc: SWS_CS_FCC
      case .smpte240: SWS_CS_SMPTE240M
      case .bt2020: SWS_CS_BT2020
      }
    return unsafe sws_getCoefficients(space)
  }
}
