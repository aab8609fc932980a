extension H264 {
  /// Finds reference pictures that never came by a gap in the frame numbers (§7.4.3, `frame_num`).
  ///
  /// A stream that is whole must never seem to lack something, so what cannot be told is no gap.
  struct FrameNumbers: Sendable {
    /// `PrevRefFrameNum`; `nil` where it is not known.
    private var previous: Int?
    /// Whether the last reference picture was counted as the standard says.
    ///
    /// The numbers of an encoder that counts by two tell nothing from the first gap on.
    private var isTrusted = true
    /// The number of the latest picture, if nothing refers to it.
    private var lastUnused: Int?
    /// How many numbers such pictures have had since the last reference.
    private var unused = 0
    /// Whether the encoder has been seen to leave them out when it counts, as the standard says.
    ///
    /// Some count them as well.
    private var leavesUnusedOut = false

    /// Takes the picture of `header`, which `resets` everything or not
    /// (`memory_management_control_operation` 5).
    ///
    /// - Returns: whether a picture is missing before it, to which it or a later one refers.
    mutating func take(
      _ header: SliceHeader, resets: Bool, with sequence: CodingParameters
    ) -> Bool {
      let number = header.frameNumber
      var hasGap = false
      if let previous, !header.isIDR, !sequence.allowsGaps {
        // Both fields of a frame have one number.
        let step = (number - previous) & ((1 << sequence.frameNumberBits) - 1)
        let isGap = step > 1 && (leavesUnusedOut || step != 1 + unused)
        hasGap = isGap && isTrusted
        if isGap {
          isTrusted = false
        } else if header.isReference, step > 0 {
          isTrusted = true
          if step == 1, unused > 0 { leavesUnusedOut = true }
        }
      }
      if resets {
        previous = 0
      } else if header.isReference || hasGap {
        // The numbers that are missing are taken to be those of references (§8.2.5.2).
        previous = header.isReference ? number : number - 1
      }
      count(header, startsAnew: resets || header.isReference || hasGap)
      return hasGap
    }

    private mutating func count(_ header: SliceHeader, startsAnew: Bool) {
      if startsAnew { (unused, lastUnused) = (0, nil) }
      guard !header.isReference else { return }
      if header.frameNumber != lastUnused { unused += 1 }
      lastUnused = header.frameNumber
    }

    /// What comes next need not follow what came last.
    mutating func forget() {
      previous = nil
      (unused, lastUnused) = (0, nil)
    }
  }
}
