/// An option of the command line that a transport declares.
///
/// What is typed is read once; it may be applied more than once.
public struct DeclaredOption: Sendable {
  /// Writes what was typed into the options; throws ``OptionFault`` if it does not fit them.
  public typealias Change = @Sendable (_ options: inout TransportOptions) throws -> Void

  /// Without its dashes, such as `rtsp-transport`; one name is one option in all transports.
  public let name: String
  /// What stands for the value in help, such as `ms`; `nil` for a flag, which has no value.
  public let valueName: String?
  public let help: String
  /// Where `--help` lists it.
  public let section: OptionSection
  /// Whether a value may begin with a dash, as negative numbers do.
  public let takesDashes: Bool
  /// The name of an option that has to be typed with this one.
  ///
  /// It must be in the same ``section``, since sections are checked one by one. Only options with
  /// any text as their value can have a partner.
  public let partner: String?
  /// Reads a value; `nil` if it is none, and throws ``OptionFault`` to say more.
  public let read: @Sendable (_ value: String) throws -> Change?

  /// An option with a value that `read` makes of what is typed.
  public init<Value: Sendable>(
    _ name: String, valueName: String, help: String, in section: OptionSection = .added,
    takesDashes: Bool = false, read: @escaping @Sendable (_ value: String) throws -> Value?,
    apply: @escaping @Sendable (_ value: Value, _ options: inout TransportOptions) throws -> Void
  ) {
    self.name = name
    self.valueName = valueName
    self.help = help
    self.section = section
    self.takesDashes = takesDashes
    partner = nil
    self.read = { text in
      guard let value = try read(text) else { return nil }
      return { options in try apply(value, &options) }
    }
  }

  /// An option with any text as its value.
  public init(
    _ name: String, valueName: String, help: String, in section: OptionSection = .added,
    partner: String? = nil,
    apply: @escaping @Sendable (_ value: String, _ options: inout TransportOptions) throws -> Void
  ) {
    self.name = name
    self.valueName = valueName
    self.help = help
    self.section = section
    takesDashes = false
    self.partner = partner
    read = { text in
      return { options in try apply(text, &options) }
    }
  }

  /// An option without a value.
  public init(
    flag name: String, help: String, in section: OptionSection = .added, apply: @escaping Change
  ) {
    self.name = name
    valueName = nil
    self.help = help
    self.section = section
    takesDashes = false
    partner = nil
    read = { _ in apply }
  }

  /// The number in `text`; `nil` if it is none.
  ///
  /// - Throws: ``OptionFault`` with `complaint` if it is outside of `bounds`.
  public static func number<Number: LosslessStringConvertible & Comparable>(
    _ text: String, in bounds: some RangeExpression<Number>, _ complaint: String
  ) throws(OptionFault) -> Number? {
    guard let number = Number(text) else { return nil }
    guard bounds.contains(number) else { throw OptionFault(complaint) }
    return number
  }

  /// The words between which there is a choice, as in `rtp4 or rfc4571`.
  static func choices(_ words: [String]) -> String {
    guard words.count > 1, let last = words.last else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}
