/// A key that the monitor knows.
enum MonitorKey: Sendable, Hashable {
  case up, down, pageUp, pageDown, first, last
  /// Looks at what is chosen.
  case enter
  case back
  case quit
  case yes
  case other

  /// The keys in what a terminal sent; sequences of escape are those of xterm.
  static func keys(in bytes: [UInt8]) -> [MonitorKey] {
    var keys: [MonitorKey] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case 0x1B:
        guard rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "O") else {
          keys.append(.back)
          continue
        }
        rest.removeFirst()
        // Parameters, and then the letter that says which key it is.
        let parameters = rest.prefix { (0x30...0x3F).contains($0) }
        rest = rest.dropFirst(parameters.count)
        keys.append(key(rest.popFirst(), parameters))
      case UInt8(ascii: "k"): keys.append(.up)
      case UInt8(ascii: "j"): keys.append(.down)
      case UInt8(ascii: "q"), UInt8(ascii: "Q"): keys.append(.quit)
      case UInt8(ascii: "y"), UInt8(ascii: "Y"): keys.append(.yes)
      case 0x0A, 0x0D: keys.append(.enter)
      case 0x7F, 0x08: keys.append(.back)
      default: keys.append(.other)
      }
    }
    return keys
  }

  private static func key(_ letter: UInt8?, _ parameters: ArraySlice<UInt8>) -> MonitorKey {
    switch letter {
    case UInt8(ascii: "A"): .up
    case UInt8(ascii: "B"): .down
    case UInt8(ascii: "C"): .enter
    case UInt8(ascii: "D"): .back
    case UInt8(ascii: "H"): .first
    case UInt8(ascii: "F"): .last
    case UInt8(ascii: "~"):
      switch parameters.first {
      case UInt8(ascii: "1"), UInt8(ascii: "7"): .first
      case UInt8(ascii: "4"), UInt8(ascii: "8"): .last
      case UInt8(ascii: "5"): .pageUp
      case UInt8(ascii: "6"): .pageDown
      default: .other
      }
    default: .other
    }
  }
}
