import ArgumentParser
import RTPWire

/// Forward error correction as `ulpfec:97` or `ulpfec:97,red:98`.
struct CorrectionArgument: ExpressibleByArgument {
  let format: CorrectionFormat
  let payloadType: UInt8
  let redundancy: UInt8?

  var payloadTypes: [UInt8] { [payloadType] + (redundancy.map { [$0] } ?? []) }

  init?(argument: String) {
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
    self.format = format
    payloadType = named[0].type
    redundancy = named.dropFirst().first?.type
  }
}
