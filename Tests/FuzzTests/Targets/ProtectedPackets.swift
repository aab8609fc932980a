import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// F11: SRTP and SRTCP: genuine packets, spoilt ones and anything else, in any order (RFC 3711).
  static let protectedPackets = FuzzTarget("srtp") { choices in
    var session = try ProtectedSession(&choices)
    while !choices.isEmpty { try session.step(&choices) }
    try session.finish()
  }

  /// Keys as a file or a variable has them.
  static let keyText = FuzzTarget("srtp-keys") { choices in
    let bytes = choices.all()
    try bytes.withUnsafeBytes { text in
      guard let keys = try? SRTPKeyText.keys(in: text, named: "keys") else { return }
      try require((1...SRTPSession.maximumKeys).contains(keys.count), "\(keys.count) keys")
    }
  }
}

/// A sender and a receiver with one key.
private struct ProtectedSession {
  private let sender: SRTPContext
  private let layout: SRTPLayout
  private let identifier: [UInt8]
  private var receiver: SRTPSession
  private var now = Instant(nanoseconds: 0)
  /// The sender's next packet, extended by its roll-overs.
  private var number: Int64
  private var control = 0
  /// Genuine packets, by their extended numbers, and those that have passed.
  private var sent: [(number: Int64, clear: [UInt8], protected: [UInt8])] = []
  private var passed: Set<Int64> = []
  /// The highest number that has passed.
  private var highest: Int64 = -1
  /// What became of all packets.
  private var outcomes = SRTPCounters()

  /// From here on the numbers do not leap, so that each roll-over counter is one of those that are
  /// tried.
  private static let furthest: Int64 = 256 << 16
  /// A context follows the numbers up to half a cycle ahead.
  private static let halfCycle: Int64 = 32_768

  /// One key for each suite, with and without an identifier; made once, since each takes pages of
  /// locked memory.
  private static let keys: [SRTPKeyMaterial] = SRTPSuite.allCases.flatMap { suite in
    [[UInt8](), [7, 8]].compactMap { identifier in
      let secret = [UInt8](1...UInt8(suite.keyLength + suite.saltLength))
      return try? SRTPKeyMaterial(
        suite: suite, keyAndSalt: secret.span.bytes, identifier: identifier)
    }
  }

  init(_ choices: inout Choices) throws {
    let key = choices.pick(Self.keys)
    let kind = choices.byte()
    let isReadable = kind & 1 != 0 && !key.suite.isAEAD
    identifier = key.identifier
    sender = try SRTPContext(key, for: .anySent, readableControl: isReadable)
    layout = SRTPLayout(
      suite: key.suite, identifierLength: identifier.count, acceptsReadableControl: isReadable)
    // Right or wrong, like a user's.
    receiver = SRTPSession(
      layout: layout, givenRollover: kind & 2 != 0 ? UInt32(kind >> 2 & 3) : nil)
    try receiver.add(key)
    number = choices.pick([0, 1000, 65_500])
  }

  mutating func step(_ choices: inout Choices) throws {
    switch choices.byte() % 10 {
    case 0, 1:
      try send(payload: choices.piece(), skipping: 0)
      try receive(sent.count - 1)
    case 2:
      // Lost, or late.
      try send(payload: [1, 2, 3], skipping: Int64(choices.byte()) % 4)
    case 3: if !sent.isEmpty { try receive(choices.number(upTo: sent.count - 1)) }
    case 4: try spoil(&choices)
    case 5: try reject(choices.piece(), isControl: choices.flag())
    case 6: try sendControl(choices.piece(), spoiling: choices.flag() ? choices.byte() : nil)
    case 7: now = now.advanced(byNanoseconds: Int64(choices.number(bytes: 2)) * 1_000_000)
    case 8: try leap(over: Int64(choices.number(bytes: 2)), isReceived: true)
    // An outage.
    default: try leap(over: Int64(1 + choices.byte() % 3) << 16, isReceived: false)
    }
    if sent.count > 64 { sent.removeFirst(sent.count - 64) }
  }

  /// After everything, the genuine packets pass again: the next one at once, or as soon as its
  /// roll-over counter has been found.
  mutating func finish() throws {
    if highest >= 0, !isNear(number) {
      // What seems to be old by its number is refused, and its counter is not searched for.
      try goOn(to: number + (highest + 1 - number) & 0xFFFF)
    }
    var packets = 0
    repeat {
      packets += 1
      // All counters are tried in fewer, some with each.
      try require(packets <= 300, "no counter is found for \(number)")
      now = now.advanced(byNanoseconds: 2_000_000_000)
      try send(payload: [42], skipping: 0)
      try receive(sent.count - 1)
    } while highest < number - 1
    let counters = receiver.counters
    try require(
      counters.rolloversFound <= min(counters.rolloverTrials, counters.authenticated),
      "\(counters)")
    outcomes.rolloversFound = counters.rolloversFound
    outcomes.rolloverTrials = counters.rolloverTrials
    try requireEqual(counters, outcomes, "the counters do not balance")
  }

  /// Goes on by `count` numbers.
  private mutating func leap(over count: Int64, isReceived: Bool) throws {
    guard number < Self.furthest else { return }
    try goOn(to: number + count, isReceived: isReceived)
  }

  /// Sends packets up to the number `goal`, which comes next: as few as a context can follow.
  private mutating func goOn(to goal: Int64, isReceived: Bool = false) throws {
    while number < goal {
      try send(payload: [], skipping: 0)
      if isReceived { try receive(sent.count - 1) }
      // Before the next one, some more may be skipped.
      number = min(number + Self.halfCycle - 100, goal)
    }
  }

  /// Whether the receiver knows the roll-over counter of a packet, and remembers whether it came.
  private func isNear(_ number: Int64) -> Bool {
    guard highest >= 0 else { return number < 65_536 }
    return (highest - 999..<highest + Self.halfCycle).contains(number)
  }

  private mutating func send(payload: [UInt8], skipping: Int64) throws {
    number += skipping
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(
      UInt8(0x80), UInt8(96), UInt16(truncatingIfNeeded: number), UInt32(1), UInt32(0xA))
    packet.writeBytes(payload)
    let clear = packet.array
    try requireEqual(sender.protect(&packet, isControl: false), .authentic, "the sender")
    layout.insert(identifier, into: &packet, isControl: false)
    sent.append((number, clear, packet.array))
    number += 1
  }

  private mutating func receive(_ index: Int) throws {
    let packet = sent[index]
    let isPassed = try take(packet.protected, isControl: false, as: packet.clear)
    guard !passed.contains(packet.number) else {
      return try require(!isPassed, "\(packet.number) passes twice")
    }
    if isNear(packet.number) { try require(isPassed, "\(packet.number) is refused") }
    guard isPassed else { return }
    passed.insert(packet.number)
    highest = max(highest, packet.number)
  }

  private mutating func spoil(_ choices: inout Choices) throws {
    guard !sent.isEmpty else { return }
    var bytes = sent[choices.number(upTo: sent.count - 1)].protected
    let place = choices.number(upTo: bytes.count - 1)
    let change = choices.byte()
    bytes[place] ^= change == 0 ? 1 : change
    if choices.flag() { bytes.removeLast(min(bytes.count, Int(choices.byte()) % 20)) }
    try reject(bytes, isControl: false)
  }

  private mutating func sendControl(_ body: [UInt8], spoiling place: UInt8?) throws {
    control += 1
    let words = body.count / 4
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(UInt8(0x80), UInt8(204), UInt16(words + 1), UInt32(0xA))
    packet.writeBytes(body.prefix(4 * words))
    let clear = packet.array
    try requireEqual(sender.protect(&packet, isControl: true), .authentic, "the sender")
    layout.insert(identifier, into: &packet, isControl: true)
    var bytes = packet.array
    if let place {
      bytes[Int(place) % bytes.count] ^= 0x10
      try reject(bytes, isControl: true)
    } else {
      try require(try take(bytes, isControl: true, as: clear), "RTCP \(control) is refused")
    }
  }

  private mutating func reject(_ bytes: [UInt8], isControl: Bool) throws {
    // The fuzzer may come upon what was sent.
    guard !sent.contains(where: { $0.protected == bytes }) else { return }
    try require(try !take(bytes, isControl: isControl, as: nil), "a forged packet passes")
  }

  private mutating func take(
    _ bytes: [UInt8], isControl: Bool, as expected: [UInt8]?
  ) throws -> Bool {
    let buffer = ByteBuffer(sliceOf: bytes)
    let outcome = receiver.unprotect(buffer, isControl: isControl, at: now)
    try requireEqual(buffer.array, bytes, "the input has changed")
    switch outcome {
    case .passed(let clear):
      outcomes.authenticated += 1
      if let expected { try requireEqual(clear.array, expected, "the content") }
      return true
    case .authenticationFailed: outcomes.authenticationFailed += 1
    case .replayed: outcomes.replayed += 1
    case .malformed(.readableControl): outcomes.readableControl += 1
    case .malformed: outcomes.malformed += 1
    // Whoever can ask for a key counts that there is none.
    case .keyUnknown: break
    }
    return false
  }
}
