import Bitstream

/// How many threads decode one stream.
public enum DecoderThreads: Sendable, Hashable {
  /// One, without delay, as long as it keeps up; then as many as there are processors.
  case automatic
  /// Always so many, at least 1; each one more than the first may delay pictures by one.
  case count(Int)

  /// More than libavcodec uses.
  public static let most = 16
}

/// What the threads of libavcodec do.
enum ThreadUse: Sendable, Hashable {
  case one
  /// They share each picture, and none waits.
  case parts(Int)
  /// Each has a picture of its own, and all but the last wait for those behind them.
  case pictures(Int)

  var count: Int {
    switch self {
    case .one: 1
    case .parts(let count), .pictures(let count): count
    }
  }

  /// How many pictures are given to libavcodec before the first one is finished.
  var delay: Int { if case .pictures(let count) = self { count - 1 } else { 0 } }

  /// What a decoder of `codec` begins with.
  init(of threads: DecoderThreads, for codec: VideoCodec) {
    guard case .count(let count) = threads, count > 1 else {
      self = .one
      return
    }
    let bounded = min(count, DecoderThreads.most)
    self = codec.accessUnitDelimiter.isEmpty ? .parts(bounded) : .pictures(bounded)
  }

  /// What decodes faster.
  ///
  /// - Parameters:
  ///   - processors: how many there are.
  ///   - hasParts: whether parts of a picture can be decoded at the same time.
  ///   - mayDelay: whether pictures may wait for those behind them. Fields in access units of their
  ///     own may not: libavcodec decodes the two of a frame in different threads, and what it notes
  ///     of the first is out of reach.
  /// - Returns: the same if there is nothing faster.
  func faster(processors: Int, hasParts: Bool, mayDelay: Bool) -> ThreadUse {
    let count = min(processors, DecoderThreads.most)
    guard count > 1 else { return self }
    switch self {
    case .one where hasParts: return .parts(count)
    case .one, .parts: return mayDelay ? .pictures(count) : self
    case .pictures: return self
    }
  }
}
