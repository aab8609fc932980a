import ArgumentParser
import RTPWire

/// Forward error correction as `ulpfec:97`, `ulpfec:97,red:98` or `st2022-1`.
enum CorrectionArgument: ExpressibleByArgument {
  /// Recognized by payload types.
  case typed(CorrectionFormat, payloadType: UInt8, redundancy: UInt8?)
  /// SMPTE ST 2022-1, recognized by ports.
  case matrix

  init?(argument: String) {
    if argument == "st2022-1" {
      self = .matrix
      return
    }
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    let named = parts.compactMap { part -> (name: String, type: UInt8)? in
      let words = part.split(separator: ":", omittingEmptySubsequences: false)
      guard words.count == 2, let type = UInt8(words[1]), type < 128 else { return nil }
      return (String(words[0]), type)
    }
    guard named.count == parts.count, (1...2).contains(named.count),
      let format = CorrectionFormat(rawValue: named[0].name)
    else { return nil }
    if let second = named.dropFirst().first {
      guard second.name == "red", second.type != named[0].type else { return nil }
    }
    self = .typed(
      format, payloadType: named[0].type, redundancy: named.dropFirst().first?.type)
  }

  var payloadTypes: [UInt8] {
    guard case .typed(_, let payloadType, let redundancy) = self else { return [] }
    return [payloadType] + (redundancy.map { [$0] } ?? [])
  }

  /// Adds this to the description `media`.
  func describe(in media: inout MediaDescription) {
    switch self {
    case .typed(let format, let payloadType, let redundancy):
      media.correctionFormats = [payloadType: format]
      media.redundancyPayloadType = redundancy
    case .matrix: media.hasMatrixCorrection = true
    }
  }
}
