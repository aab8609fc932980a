internal import NIOCore
internal import RTPWire

/// One direction of a recorded TCP connection, put back into order.
///
/// Retransmissions are recognized by their numbers and dropped. Missing bytes are waited for while
/// those after them stay within a bound. Then they count as not recorded, and the stream continues
/// after them.
struct TCPReassembly: Sendable {
  enum Outcome: Sendable, Hashable {
    /// All or part of it was next.
    case inOrder
    /// It waits for missing bytes.
    case parked
    /// All of it had already come.
    case retransmission
    /// It was empty.
    case empty
  }

  /// The output.
  enum Piece: Sendable, Hashable {
    case bytes(ByteBuffer)
    /// Bytes that were not recorded, or the end of a connection whose ports are used again.
    case hole
  }

  /// Bytes waiting after a hole: half a second of a fast camera.
  static let maximumBytes = 512 << 10
  static let maximumSegments = 1024
  /// How long to wait for a hole, in nanoseconds of the recording.
  static let patience: Int64 = 2_000_000_000

  /// Holes that were skipped, and their bytes.
  private(set) var holes: UInt64 = 0
  private(set) var missingBytes: UInt64 = 0
  /// The number of the next byte; `nil` before the first segment.
  private var next: UInt32?
  private var ready = CircularBuffer<Piece>()
  /// In order of their numbers; may overlap.
  private var parked: [(number: UInt32, bytes: ByteBuffer, arrival: Int64)] = []
  private var parkedBytes = 0

  /// Adds a segment recorded at `time`; call ``nextPiece()`` until `nil` afterwards.
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

  /// The next piece in order; new bytes are a slice of their segment.
  mutating func nextPiece() -> Piece? { ready.popFirst() }

  /// Gives up what is missing, because nothing more will come.
  mutating func finish() {
    while !parked.isEmpty { skipHole() }
  }

  /// The ports are used for a new connection.
  private mutating func restart(at number: UInt32) {
    // A retransmitted SYN.
    guard next != number else { return }
    finish()
    // What the former connection left unfinished has no end.
    if next != nil { ready.append(.hole) }
    next = number
  }

  private mutating func place(_ bytes: ByteBuffer, at number: UInt32, _ time: Int64) -> Outcome {
    let expected = next ?? number
    next = expected
    let distance = Int(Int32(bitPattern: number &- expected))
    if distance > 0 {
      park(bytes, at: number, expected, time)
      return .parked
    }
    guard bytes.readableBytes > -distance else { return .retransmission }
    deliver(bytes, from: -distance, upTo: number)
    closeHoles()
    return .inOrder
  }

  private mutating func park(
    _ bytes: ByteBuffer, at number: UInt32, _ expected: UInt32, _ time: Int64
  ) {
    let place = parked.lastIndex { $0.number &- expected <= number &- expected }.map { $0 + 1 } ?? 0
    if place > 0, parked[place - 1].number == number,
      parked[place - 1].bytes.readableBytes >= bytes.readableBytes
    {
      return
    }
    // A copy, because a slice would keep the read's whole slab in memory.
    parked.insert((number, ByteBuffer(buffer: bytes), time), at: place)
    parkedBytes += bytes.readableBytes
  }

  /// Delivers `bytes`, which begin at `number`, without the first `count`.
  private mutating func deliver(_ bytes: ByteBuffer, from count: Int, upTo number: UInt32) {
    next = number &+ UInt32(truncatingIfNeeded: bytes.readableBytes)
    var bytes = bytes
    bytes.moveReaderIndex(forwardBy: count)
    ready.append(.bytes(bytes))
  }

  /// Delivers what waited for the bytes that have come.
  private mutating func closeHoles() {
    while let first = parked.first, let next {
      let distance = Int(Int32(bitPattern: first.number &- next))
      guard distance <= 0 else { return }
      parked.removeFirst()
      parkedBytes -= first.bytes.readableBytes
      guard first.bytes.readableBytes > -distance else { continue }
      deliver(first.bytes, from: -distance, upTo: first.number)
    }
  }

  private func isTooMuch(at time: Int64) -> Bool {
    // Each hole is waited for on its own: where losses follow each other one is always open. What
    // fills part of it shows that the sender is sending it again.
    guard let first = parked.first else { return false }
    return parkedBytes > Self.maximumBytes || parked.count > Self.maximumSegments
      || time.subtractingSaturating(first.arrival) > Self.patience
  }

  private mutating func skipHole() {
    guard let first = parked.first, let next else { return }
    holes += 1
    ready.append(.hole)
    missingBytes += UInt64(first.number &- next)
    self.next = first.number
    closeHoles()
  }
}
