public import Outputs

/// Why checksums are not written.
public enum ChecksumError: OutputFault {
  /// Whoever compares the sums has samples of one byte each.
  case deepSamples(bits: Int)

  public var name: String { "deep_samples" }

  public func words(about output: String) -> String {
    switch self {
    case .deepSamples(let bits):
      "\(output): checksums are of samples of 8 bits, but these have \(bits)"
    }
  }

  /// What holds all samples does it too.
  public var advice: OutputAdvice? { .plainSamples }
}
