/// The datagrams in what the kernel has read at once: where each of them stands.
///
/// The kernel merges what comes in a row from one origin (UDP_GRO, Linux 5.0): datagrams of
/// `segment` bytes, of which the last may be shorter.
struct MergedDatagrams: Sequence, IteratorProtocol {
  private let length: Int
  private let segment: Int
  private var position = 0
  /// An empty datagram is one too.
  private var isFirst = true

  /// - Parameters:
  ///   - length: of all of them, in bytes.
  ///   - segment: the length of each but the last; 0 if nothing was merged.
  init(length: Int, segment: Int) {
    self.length = length
    self.segment = segment > 0 ? segment : length
  }

  mutating func next() -> Range<Int>? {
    guard isFirst || position < length else { return nil }
    isFirst = false
    let end = Swift.min(position + segment, length)
    defer { position = end }
    return position..<end
  }
}
