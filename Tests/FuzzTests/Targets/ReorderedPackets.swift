import NIOCore
import RTPWire

@testable import RTPProcessor

extension FuzzTarget {
  /// F7: order, probation, repair and correction, as operations of a sender, a network and a clock.
  static let reordering = FuzzTarget("reorder") { choices in
    var session = ReorderingSession(&choices)
    while !choices.isEmpty { try session.step(&choices) }
    try session.finish()
  }
}

/// A processor on a virtual clock that fires each deadline on time.
private struct ReorderingSession {
  private var processor: RTPProcessor
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var last: OrderedPacket?
  private var delivered: UInt64 = 0
  private var lost: UInt64 = 0
  private var sequence: UInt16
  private var timestamp: UInt32 = 90_000
  private var ssrc: UInt32 = 0xA
  private let hasCorrection: Bool
  /// The length of the longest packet so far.
  private var longest = 0

  init(_ choices: inout Choices) {
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = .milliseconds(choices.pick([0, 20, 200, 5000]))
    if choices.flag() { configuration.maximumHeldPackets = 1 + Int(choices.byte()) % 16 }
    if choices.flag() { configuration.maximumHeldBytes = 300 }
    if choices.flag() { configuration.payloadType = 96 }
    let means = choices.byte()
    if means & 1 != 0 { configuration.correctionFormats[97] = .ulpfec }
    if means & 2 != 0 { configuration.correctionFormats[98] = .flexfec }
    if means & 4 != 0 { configuration.correctionFormats[99] = .flexfecDraft }
    if means & 8 != 0 { configuration.redundancyPayloadType = 100 }
    if means & 16 != 0 {
      configuration.retransmissionFormats[101] = RetransmissionFormat(
        original: 96, time: .seconds(1))
    }
    if means & 32 != 0 { configuration.retransmissionSession = [:] }
    if means & 64 != 0 { configuration.feedback = [.nack, .pli, .fir] }
    if means & 128 != 0 { configuration.hasMatrixCorrection = true }
    hasCorrection = means & 0b1000_0111 != 0
    sequence = choices.pick([0, 1000, 32_767, 65_530])
    processor = RTPProcessor(configuration: configuration)
  }

  mutating func step(_ choices: inout Choices) throws {
    switch choices.byte() % 16 {
    case 0...3: try send(payload: [1, 2, 3, 4, 5, 6, 7, 8])
    case 4:
      sequence &+= UInt16(choices.byte())
      try send(payload: [])
    case 5:
      // Any number, and then on as before.
      let former = sequence
      sequence &-= UInt16(choices.byte())
      try send(payload: [9])
      sequence = former
    case 6:
      sequence = UInt16(truncatingIfNeeded: choices.number(bytes: 2))
    case 7: timestamp &+= UInt32(truncatingIfNeeded: choices.number(bytes: 4))
    case 8: ssrc = UInt32(choices.byte() & 3) + 0xA
    case 9: try run(for: Int64(choices.byte()) * 1_000_000)
    case 10: try run(for: Int64(choices.number(bytes: 2)) * 1_000_000)
    case 11:
      let channel = choices.pick([
        Datagram.Channel.media, .control, .correction, .retransmission,
      ])
      try receive(choices.piece(), on: channel)
    case 12: try report(goodbye: choices.flag())
    case 13:
      let types: [UInt8] = [97, 98, 99, 100, 101, 50]
      try send(type: choices.pick(types), payload: choices.piece())
    case 14: try askFor(keyPicture: choices.flag())
    default: try send(payload: choices.piece())
    }
  }

  mutating func finish() throws {
    processor.finish()
    try drain()
    try requireEqual(processor.statistics.held, 0, "held at the end")
    // As many bytes have left as were counted in.
    try requireEqual(processor.source?.buffer.bytes ?? 0, 0, "bytes held at the end")
    try require(processor.deadline == nil, "something is due at the end")
  }

  private mutating func send(type: UInt8 = 96, payload: [UInt8]) throws {
    var bytes: [UInt8] = [0x80, type]
    bytes += [UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: timestamp >> UInt32(24 - 8 * $0)) }
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> UInt32(24 - 8 * $0)) }
    sequence &+= 1
    try receive(bytes + payload, on: .media)
  }

  private mutating func report(goodbye: Bool) throws {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(UInt8(0x80), UInt8(200), UInt16(6), ssrc)
    bytes.writeMultipleIntegers(
      UInt64(bitPattern: now.nanoseconds), timestamp, UInt32(sequence), UInt32(0))
    if goodbye { bytes.writeMultipleIntegers(UInt8(0x81), UInt8(203), UInt16(1), ssrc) }
    try receive(bytes.array, on: .control)
  }

  private mutating func askFor(keyPicture: Bool) throws {
    if keyPicture { processor.wantKeyPicture(at: now) } else { processor.noteKeyPicture() }
    var messages = 0
    while let message = processor.nextFeedback(at: now) {
      messages += 1
      try require(messages < 1000, "asks without end: \(message)")
    }
    if let deadline = processor.feedbackDeadline {
      try require(deadline > now, "what was to be said at \(deadline) is not said at \(now)")
    }
  }

  private mutating func receive(_ bytes: [UInt8], on channel: Datagram.Channel) throws {
    let buffer = ByteBuffer(sliceOf: bytes)
    longest = max(longest, bytes.count)
    _ = processor.receive(Datagram(bytes: buffer, arrival: now, channel: channel)) { _ in
      bytes.count.isMultiple(of: 2)
    }
    try drain()
    try requireEqual(buffer.array, bytes, "the input has changed")
  }

  private mutating func run(for nanoseconds: Int64) throws {
    let end = now.advanced(byNanoseconds: nanoseconds)
    while let deadline = processor.deadline, deadline <= end {
      now = max(now, deadline)
      try drain()
    }
    now = end
  }

  private mutating func drain() throws {
    while let packet = processor.next(at: now) {
      if let last, !packet.isDiscontinuity {
        let distance = packet.extendedSequence - last.extendedSequence
        try require(distance > 0, "\(last.extendedSequence), \(packet.extendedSequence)")
        // Others than those of the media have numbers, too, and do not come out.
        try require(
          distance > packet.lostBefore, "\(packet.lostBefore) lost of \(distance - 1)")
        if !hasCorrection, processor.configuration.payloadType == nil {
          try requireEqual(distance, Int64(packet.lostBefore) + 1, "what is lost is told")
        }
      }
      try require(packet.arrival <= now, "a packet of the future")
      try require(packet.lostBefore >= 0, "\(packet.lostBefore) packets lost")
      lost += UInt64(packet.lostBefore)
      delivered += 1
      last = packet
    }
    let statistics = processor.statistics
    try require(statistics.isBalanced, "the counters do not balance: \(statistics.counts)")
    try requireEqual(statistics.delivered, delivered)
    try require(lost <= statistics.lost, "\(lost) told as lost, \(statistics.lost) counted")
    let limit = 2 * processor.configuration.maximumHeldPackets + 128
    try require(statistics.held <= UInt64(limit), "\(statistics.held) packets are held")
    try requireBounds()
    if let deadline = processor.deadline {
      try require(deadline > now, "what was due at \(deadline) is not done at \(now)")
    }
  }

  /// What waits is what is counted, and within its bounds.
  private func requireBounds() throws {
    let limits = processor.configuration
    let gap = processor.source?.buffer
    let bytes = gap?.bytes ?? 0
    try require(bytes <= limits.maximumHeldBytes, "\(bytes) bytes wait behind a gap")
    // What is rebuilt can be longer than all that came, and what is not needed takes a place, too.
    guard !hasCorrection else { return }
    let waiting = gap?.count ?? 0
    try require(waiting <= limits.maximumHeldPackets, "\(waiting) packets wait behind a gap")
    let probation = processor.prospects.reduce(into: (packets: 0, bytes: 0)) {
      $0.packets += $1.held.count
      $0.bytes += $1.bytes
    }
    // Whoever is not proven may hold two, whatever others do, and the last packet may be the
    // longest.
    let more = 2 * RTPProcessor.maximumProspects
    try require(probation.packets <= limits.maximumHeldPackets + more, "\(probation)")
    try require(probation.bytes <= limits.maximumHeldBytes + (more + 1) * longest, "\(probation)")
    try requireEqual(processor.statistics.held, UInt64(waiting + probation.packets), "held")
  }
}
