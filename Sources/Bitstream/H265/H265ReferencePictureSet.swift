extension H265 {
  /// A short-term reference picture set: the pictures kept for reference, by their distance in
  /// picture order count (§7.4.8).
  public struct ReferencePictureSet: Sendable, Hashable {
    /// One picture of the set.
    public struct Entry: Sendable, Hashable {
      /// Never 0; negative for pictures output earlier.
      public let distance: Int
      /// Whether the current picture itself may refer to it.
      public let isUsed: Bool

      public init(distance: Int, isUsed: Bool) {
        self.distance = distance
        self.isUsed = isUsed
      }
    }

    /// The most entries a decoder holds (§A.4.2).
    public static let maximumCount = 16

    /// Earlier pictures, nearest first, followed by later pictures, nearest first.
    public let entries: [Entry]

    public init(entries: [Entry]) {
      self.entries =
        entries.filter { $0.distance < 0 }.sorted { $0.distance > $1.distance }
        + entries.filter { $0.distance > 0 }.sorted { $0.distance < $1.distance }
    }

    /// Reads `st_ref_pic_set` (§7.3.7).
    ///
    /// - Parameters:
    ///   - reader: at the start of the set; afterwards at its end.
    ///   - sets: the preceding sets of the sequence parameter set, or all of them for a slice.
    ///   - isInSlice: whether it is in a slice header, where it may be predicted from any of
    ///     `sets`.
    /// - Throws: when it ends early or a value is outside the standard's range.
    public init(
      _ reader: inout BitReader, after sets: [ReferencePictureSet], isInSlice: Bool
    ) throws {
      guard !sets.isEmpty, try reader.bit() else {
        self.init(entries: try Self.readEntries(&reader))
        return
      }
      let back =
        isInSlice ? 1 + (try reader.unsigned(upTo: sets.count - 1, "delta_idx_minus1")) : 1
      let isNegative = try reader.bit()
      let size = 1 + (try reader.unsigned(upTo: (1 << 15) - 1, "abs_delta_rps_minus1"))
      let shift = isNegative ? -size : size
      var entries: [Entry] = []
      // Each picture of the other set, and the picture that set belongs to.
      for distance in sets[sets.count - back].entries.map(\.distance) + [0] {
        let isUsed = try reader.bit()
        let isKept = isUsed ? true : try reader.bit()
        if isKept, distance + shift != 0 {
          entries.append(Entry(distance: distance + shift, isUsed: isUsed))
        }
      }
      try Self.check(entries.count)
      self.init(entries: entries)
    }

    private static func readEntries(_ reader: inout BitReader) throws -> [Entry] {
      let counts = [
        try reader.unsigned(upTo: maximumCount, "num_negative_pics"),
        try reader.unsigned(upTo: maximumCount, "num_positive_pics"),
      ]
      try check(counts[0] + counts[1])
      var entries: [Entry] = []
      for (count, sign) in zip(counts, [-1, 1]) {
        var distance = 0
        for _ in 0..<count {
          distance += sign * (1 + (try reader.unsigned(upTo: (1 << 15) - 1, "delta_poc_minus1")))
          entries.append(Entry(distance: distance, isUsed: try reader.bit()))
        }
      }
      return entries
    }

    private static func check(_ count: Int) throws {
      guard count <= maximumCount else {
        throw ParameterSetError.outOfRange(field: "short_term_ref_pic_set")
      }
    }

    /// Writes the set for a slice header, without prediction from another set; `hasSets` says
    /// whether the sequence parameter set has any.
    public func write(to writer: inout BitWriter, hasSets: Bool) {
      if hasSets { writer.append(false) }
      let before = entries.filter { $0.distance < 0 }
      let after = entries.filter { $0.distance > 0 }
      writer.append(unsigned: UInt32(before.count))
      writer.append(unsigned: UInt32(after.count))
      for side in [before, after] {
        var last = 0
        for entry in side {
          writer.append(unsigned: UInt32(clamping: abs(entry.distance - last) - 1))
          writer.append(entry.isUsed)
          last = entry.distance
        }
      }
    }
  }
}
