import ArgumentParser

/// Forward error correction as `ulpfec:97` or `ulpfec:97,red:98`.
struct CorrectionArgument: ExpressibleByArgument {
  let ulpfec: UInt8
  let redundancy: UInt8?

  init?(argument: String) {
    var types: [Substring: UInt8] = [:]
    for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: ":", omittingEmptySubsequences: false)
      guard words.count == 2, ["ulpfec", "red"].contains(words[0]), types[words[0]] == nil,
        let type = UInt8(words[1]), type < 128, !types.values.contains(type)
      else { return nil }
      types[words[0]] = type
    }
    guard let ulpfec = types["ulpfec"] else { return nil }
    self.ulpfec = ulpfec
    redundancy = types["red"]
  }
}
