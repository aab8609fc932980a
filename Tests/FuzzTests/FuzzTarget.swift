/// One way into the program for made-up input, and what must hold whatever comes.
struct FuzzTarget: Sendable {
  /// As `tools/fuzz` and the folders of the corpus call it.
  let name: String
  /// Processes an input; traps, or throws ``Violation``, if something does not hold.
  let run: @Sendable ([UInt8]) throws -> Void

  init(_ name: String, _ run: @escaping @Sendable (inout Choices) throws -> Void) {
    self.name = name
    self.run = { bytes in
      var choices = Choices(bytes)
      try run(&choices)
    }
  }
}

/// What must hold does not.
struct Violation: Error, CustomStringConvertible {
  let description: String
}

/// Throws unless `condition` holds.
func require(
  _ condition: Bool, _ message: @autoclosure () -> String, line: Int = #line,
  file: StaticString = #fileID
) throws {
  if !condition { throw Violation(description: "\(file):\(line): \(message())") }
}

func requireEqual<Value: Equatable>(
  _ left: Value, _ right: Value, _ message: @autoclosure () -> String = "", line: Int = #line,
  file: StaticString = #fileID
) throws {
  if left != right {
    throw Violation(description: "\(file):\(line): \(message()): \(left) is not \(right)")
  }
}
