import Defragment

/// What decodes access units for one thread.
protocol UnitDecoding: AnyObject {
  /// Decodes one access unit; its callback may come with a later one.
  func decode(_ unit: AccessUnit)

  /// Outputs every remaining picture; decoding restarts at a random-access point.
  func flush()

  /// Reports what is still inside as discarded by closing.
  func close()

  /// Reports that `unit` is not decoded.
  func fail(_ unit: AccessUnit, _ reason: DecodeFailure.Reason)
}
