package import ArgumentParser

extension ExpressibleByArgument {
  /// Reads the value of an option; `words` say what it can be, where it is something else.
  package static func reading(or words: String) -> @Sendable (String) throws -> Self {
    { argument in
      guard let value = Self(argument: argument) else { throw ValidationError(words) }
      return value
    }
  }
}
