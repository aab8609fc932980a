internal import NIOCore
internal import RTPWire

/// One direction of a TCP connection as it was recorded, put back into the order of its bytes.
///
/// What was sent again is told by its numbers and let go. What is missing is waited for while the
/// bytes behind it stay within a bound; then it was not recorded, and the stream goes on behind it.
struct TCPReassembly: Sendable {
  enum Outcome: Sendable, Hashable {
    /// Some of it, or all, was next.
    case inOrder
    /// It waits for bytes that are missing.
    case parked
    /// All of it had come before.
    case retransmission
    /// No bytes.
    case empty
  }

  /// What comes out.
  enum Piece: Sendable, Hashable {
    case bytes(ByteBuffer)
    /// Bytes that were not recorded.
    case hole
  }

  /// Bytes that wait behind a hole: half a second of a fast camera.
  static let maximumBytes = 512 << 10
  static let maximumSegments = 1024
  /// How long a hole is waited for, in nanoseconds of the recording.
  static let patience: Int64 = 2_000_000_000

  /// Holes that were skipped, and the bytes in them.
  private(set) var holes: UInt64 = 0
  private(set) var missingBytes: UInt64 = 0
  /// The number of the next byte; `nil` before the first segment.
  private var next: UInt32?
  private var ready = CircularBuffer<Piece>()
  /// In the order of their numbers; may overlap.
  private var parked: [(number: UInt32, bytes: ByteBuffer)] = []
  private var parkedBytes = 0
  private var holeSince: Int64?

  /// Takes in a segment that was recorded at `time`; pull ``nextPiece()`` until `nil` afterwards.
  mutating func receive(_ segment: TCPSegment, at time: Int64) -> Outcome {
    if segment.isSynchronizing {
      restart(at: segment.sequenceNumber &+ 1)
      // With TCP Fast Open, SYN carries bytes.
      guard segment.payload.readableBytes > 0 else { return .empty }
      return place(segment.payload, at: segment.sequenceNumber &+ 1, time)
    }
    guard segment.payload.readableBytes > 0 else { return .empty }
    defer { if isTooMuch(at: time) { skipHole() } }
    return place(segment.payload, at: segment.sequenceNumber, time)
  }

  /// What is next in order; what a segment brought comes as a slice of it.
  mutating func nextPiece() -> Piece? { ready.popFirst() }

  /// Gives up what is missing: nothing more will come.
  mutating func finish() {
    while !parked.isEmpty { skipHole() }
  }

  /// The connection begins anew, as its ports are used again.
  private mutating func restart(at number: UInt32) {
    // A SYN that was sent again.
    guard next != number else { return }
    finish()
    next = number
  }

  private mutating func place(_ bytes: ByteBuffer, at number: UInt32, _ time: Int64) -> Outcome {
    let expected = next ?? number
    next = expected
    let distance = Int(Int32(bitPattern: number &- expected))
    if distance > 0 {
      park(bytes, at: number, expected)
      holeSince = holeSince ?? time
      return .parked
    }
    guard bytes.readableBytes > -distance else { return .retransmission }
    deliver(bytes, from: -distance, upTo: number)
    closeHoles()
    return .inOrder
  }

  private mutating func park(_ bytes: ByteBuffer, at number: UInt32, _ expected: UInt32) {
    let place = parked.lastIndex { $0.number &- expected <= number &- expected }.map { $0 + 1 } ?? 0
    if place > 0, parked[place - 1].number == number,
      parked[place - 1].bytes.readableBytes >= bytes.readableBytes
    {
      return
    }
    // Out of the slab of the read, which would otherwise be held whole.
    parked.insert((number, ByteBuffer(buffer: bytes)), at: place)
    parkedBytes += bytes.readableBytes
  }

  /// Delivers `bytes`, which begin at `number`, without the first `count` of them.
  private mutating func deliver(_ bytes: ByteBuffer, from count: Int, upTo number: UInt32) {
    next = number &+ UInt32(truncatingIfNeeded: bytes.readableBytes)
    var bytes = bytes
    bytes.moveReaderIndex(forwardBy: count)
    ready.append(.bytes(bytes))
  }

  /// Delivers what has been waiting for what has come.
  private mutating func closeHoles() {
    while let first = parked.first, let next {
      let distance = Int(Int32(bitPattern: first.number &- next))
      guard distance <= 0 else { return }
      parked.removeFirst()
      parkedBytes -= first.bytes.readableBytes
      guard first.bytes.readableBytes > -distance else { continue }
      deliver(first.bytes, from: -distance, upTo: first.number)
    }
    holeSince = nil
  }

  private func isTooMuch(at time: Int64) -> Bool {
    guard let holeSince else { return false }
    return parkedBytes > Self.maximumBytes || parked.count > Self.maximumSegments
      || time.subtractingSaturating(holeSince) > Self.patience
  }

  private mutating func skipHole() {
    guard let first = parked.first, let next else { return }
    holes += 1
    ready.append(.hole)
    missingBytes += UInt64(first.number &- next)
    self.next = first.number
    holeSince = nil
    closeHoles()
  }
}
