import Bitstream
import NIOCore

/// Puts parameter sets before pictures whose stream does not carry them: they were signalled, or
/// came only once.
struct ParameterSetSupply: Sendable {
  private var isNeeded = true
  private var hasOffered = false
  /// Sets come with key pictures, so a key picture without them may have lost them.
  private var comesInBand = false
  /// The bytes that may be put before pictures: beyond all sets once, no more than came, so that
  /// tiny pictures cannot have many large sets repeated.
  private var credit = ParameterSets.maximumTotal

  /// The stream restarts.
  mutating func restart() {
    isNeeded = true
    hasOffered = false
  }

  /// Notes that something that may have contained parameter sets was dropped.
  mutating func noteDrop() { isNeeded = true }

  /// Notes a parameter set in the stream.
  mutating func noteArrival() { comesInBand = true }

  /// Judges and completes `draft`, whose picture refers to the known `sets`.
  mutating func complete(
    _ draft: inout AccessUnitDraft, with sets: ParameterSets, format: any PayloadFormat.Type
  ) {
    let hasAll = format.parameterSetTypes.allSatisfy {
      draft.parameterSetTypes & (1 << UInt64($0)) != 0
    }
    if draft.dependency?.references == PictureDependency.References.none {
      let areKnown = sets.isComplete && !comesInBand
      if hasAll || areKnown { draft.isBehindLoss = false }
      let isWhole = !draft.isBehindLoss && draft.damage == nil
      if !hasAll, isWhole { comesInBand = false }
    }
    credit = min(credit + draft.bytes.readableBytes, ParameterSets.maximumTotal)
    if hasAll {
      isNeeded = false
    } else if isNeeded, draft.hasPicture, sets.isComplete, draft.isRandomAccess || !hasOffered,
      sets.total <= credit
    {
      credit -= sets.total
      draft.prepend(sets, format: format)
      hasOffered = true
      if draft.isRandomAccess { isNeeded = false }
    }
  }
}
