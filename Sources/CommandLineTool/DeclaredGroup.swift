import ArgumentParser
import Transports

/// A group of options that transports declare.
protocol DeclaredGroup {
  /// Writes what was typed into `options`.
  func apply(to options: inout TransportOptions) throws
}

extension OptionGroup: DeclaredGroup where Value: DeclaredGroup {
  func apply(to options: inout TransportOptions) throws { try wrappedValue.apply(to: &options) }
}
