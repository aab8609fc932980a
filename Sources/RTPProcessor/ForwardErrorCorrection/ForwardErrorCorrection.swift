import NIOCore
public import RTPWire

/// Rebuilds lost packets of one source from correction packets (RFC 5109, RFC 8627, SMPTE ST
/// 2022-1).
///
/// Packets go in as they arrive, in any order. After each one, call ``next()`` until it returns
/// `nil`. Rebuilt packets help to rebuild others.
struct ForwardErrorCorrection: Sendable {
  /// What goes back into the order.
  enum Finding: Sendable {
    /// A media packet, bit for bit as it was sent.
    case rebuilt(RTPPacket)
    /// The number of a lost correction packet, at which no media is missing.
    case lostCorrection(SequenceNumber)
  }

  /// The most sets that wait for packets at once; the oldest makes room.
  ///
  /// A set is finished once its packets are there, so many sets wait only under heavy loss. This is
  /// the number of rows and columns in three matrices of 20 × 20.
  static let maximumSets = 128
  /// The most failed attempts for one arriving packet; each set may have hundreds of packets.
  static let maximumFailures: UInt64 = 4
  /// The most packets that are partly rebuilt at once.
  static let maximumRebuilt = 64
  /// How far a packet's timestamp may lie from that of the newest one, in seconds.
  static let greatestTimestampDistance: UInt32 = 10

  private let payloadType: UInt8?
  private let clockRate: UInt32
  /// Whether correction packets come on separate ports, and may arrive before what they protect.
  private let isMatrix: Bool
  private var history: PacketHistory
  private var unwrapper: SequenceUnwrapper
  private var newestTimestamp: UInt32
  private var coverage = CorrectionCoverage()
  private var sets: [ProtectedSet] = []
  private var rebuilt: [Int64: RebuiltPacket] = [:]
  private var findings = CircularBuffer<Finding>()

  /// The most places from the first to the last packet of a column.
  private(set) var greatestSpan: Int64 = 0

  /// Begins with the source of `packet`, whose media packets are of `payloadType`, or of any if
  /// `nil`.
  ///
  /// Where `mayHaveColumns`, correction packets may protect what was sent long before.
  init(
    with packet: RTPPacket, payloadType: UInt8?, clockRate: UInt32,
    isMatrix: Bool = false, mayHaveColumns: Bool = false
  ) {
    self.isMatrix = isMatrix
    self.payloadType = payloadType
    self.clockRate = clockRate
    unwrapper = SequenceUnwrapper(first: packet.sequenceNumber)
    newestTimestamp = packet.timestamp
    history = PacketHistory(
      newest: unwrapper.extend(packet.sequenceNumber),
      capacity: isMatrix || mayHaveColumns ? PacketHistory.matrixCapacity : PacketHistory.capacity)
  }

  /// The next result, if any.
  mutating func next() -> Finding? { findings.popFirst() }

  /// Adds a media packet.
  mutating func receive(
    media packet: RTPPacket, statistics: inout ForwardErrorCorrectionStatistics
  ) {
    let sequence = extend(packet.sequenceNumber)
    guard history.remembers(sequence), history.standing(of: sequence) == .missing else { return }
    history.record(sequence, media: packet.bytes)
    if sequence == history.newest { newestTimestamp = packet.timestamp }
    rebuilt[sequence] = nil
    let isAwaited = isMatrix && sequence == history.newest && !sets.isEmpty
    if isAwaited || sets.contains(where: { $0.places.contains(sequence) }) { solve(&statistics) }
    findCorrections(before: sequence, &statistics)
  }

  /// Adds a ULPFEC packet, which is numbered with the media.
  mutating func receive(
    ulpfec packet: RTPPacket, statistics: inout ForwardErrorCorrectionStatistics
  ) {
    let sequence = extend(packet.sequenceNumber)
    statistics.packets += 1
    guard history.remembers(sequence), history.standing(of: sequence) != .media else { return }
    history.record(sequence, media: nil)
    do {
      try protect(with: ULPFECPayload(parsing: packet.payload), of: packet, &statistics)
    } catch {
      // What it protects is unknown, so what is unprotected is unknown too.
      coverage.interrupt()
      statistics.malformed += 1
      return
    }
    solve(&statistics)
  }

  /// Adds a FlexFEC packet; it is useful only if it protects the source `ssrc`.
  mutating func receive(
    flexfec packet: RTPPacket, isDraft: Bool, of ssrc: UInt32,
    statistics: inout ForwardErrorCorrectionStatistics
  ) {
    statistics.packets += 1
    do {
      let payload = try FlexFECPayload(parsing: packet, isDraft: isDraft, source: ssrc)
      keep(
        payload.base, payload.offsets, payload.header, payload.parity, of: ssrc, &statistics)
    } catch {
      statistics.malformed += 1
      return
    }
    solve(&statistics)
  }

  /// Adds a datagram from a port for SMPTE ST 2022-1; it protects the source `ssrc`.
  mutating func receive(
    matrix bytes: ByteBuffer, of ssrc: UInt32,
    statistics: inout ForwardErrorCorrectionStatistics
  ) {
    statistics.packets += 1
    do {
      let payload = try ST2022Payload(parsing: bytes)
      keep(
        payload.base, payload.offsets, payload.header, payload.parity, of: ssrc, &statistics)
    } catch {
      statistics.malformed += 1
      return
    }
    solve(&statistics)
  }

  private mutating func extend(_ number: SequenceNumber) -> Int64 {
    let sequence = unwrapper.extend(number)
    if sequence > history.newest { unwrapper.advance(to: sequence) }
    return sequence
  }

  // MARK: - Rebuilding

  private mutating func protect(
    with payload: ULPFECPayload, of packet: RTPPacket,
    _ statistics: inout ForwardErrorCorrectionStatistics
  ) {
    let base = unwrapper.extend(payload.base)
    guard history.reaches(base + Int64(ULPFECPayload.longestMask)) else {
      statistics.implausible += 1
      return
    }
    for level in payload.levels {
      let places = (0..<ULPFECPayload.longestMask).filter {
        level.mask >> UInt64(ULPFECPayload.longestMask - 1 - $0) & 1 == 1
      }.map { base + Int64($0) }
      if level.offset == 0 { coverage.note(places) }
      keep(
        ProtectedSet(
          places: places, header: level.offset == 0 ? payload.header : nil, offset: level.offset,
          parity: level.parity, ssrc: packet.ssrc))
    }
  }

  /// Keeps a set that protects whole packets of `ssrc`: those at `offsets` from `base`.
  private mutating func keep(
    _ base: SequenceNumber, _ offsets: [Int], _ header: ParityHeader, _ parity: ByteBuffer,
    of ssrc: UInt32, _ statistics: inout ForwardErrorCorrectionStatistics
  ) {
    let first = unwrapper.extend(base)
    guard history.reaches(first + Int64(offsets.last ?? 0)) else {
      statistics.implausible += 1
      return
    }
    // The packets of a column are evenly spaced. Those farther apart are not remembered.
    if let step = offsets.dropFirst().first, step > 1, let last = offsets.last,
      last == step * (offsets.count - 1), last < PacketHistory.matrixCapacity
    {
      greatestSpan = max(greatestSpan, Int64(last))
    }
    keep(
      ProtectedSet(
        places: offsets.map { first + Int64($0) }, header: header, offset: 0, parity: parity,
        ssrc: ssrc))
  }

  /// Keeps a copy of `set`, unless all its packets are there.
  private mutating func keep(_ set: ProtectedSet) {
    guard lacks(1, in: set.places) else { return }
    if sets.count >= Self.maximumSets { sets.removeFirst() }
    sets.append(set.detached())
  }

  /// Whether at least `count` of the packets at `places` are not there.
  private func lacks(_ count: Int, in places: [Int64]) -> Bool {
    var missing = 0
    for place in places where history.standing(of: place) != .media {
      missing += 1
      if missing == count { return true }
    }
    return false
  }

  /// Uses every set that lacks a single packet, until no more can be rebuilt.
  ///
  /// Each turn removes a set, so the loop ends. The number of turns is limited, because noise can
  /// rebuild one place again and again without a result.
  private mutating func solve(_ statistics: inout ForwardErrorCorrectionStatistics) {
    sets = sets.filter { set in
      history.remembers(set.places.first ?? .min) && lacks(1, in: set.places)
    }
    for sequence in rebuilt.keys where !history.remembers(sequence) { rebuilt[sequence] = nil }
    let limit = statistics.implausible + Self.maximumFailures
    while statistics.implausible < limit, let index = sets.firstIndex(where: isSolvable) {
      let set = sets.remove(at: index)
      guard let sequence = set.places.first(where: { history.packet(at: $0) == nil }) else {
        continue
      }
      solve(set, for: sequence, &statistics)
    }
  }

  private func isSolvable(_ set: ProtectedSet) -> Bool {
    // What is newer than all that came may be on its way.
    if isMatrix, set.places.last ?? .max > history.newest { return false }
    guard !lacks(2, in: set.places) else { return false }
    // Higher levels wait until the bytes before theirs are known.
    guard set.header == nil,
      let sequence = set.places.first(where: { history.packet(at: $0) == nil })
    else { return true }
    return rebuilt[sequence]?.reaches(set.offset) ?? false
  }

  private mutating func solve(
    _ set: ProtectedSet, for sequence: Int64, _ statistics: inout ForwardErrorCorrectionStatistics
  ) {
    let others = set.places.compactMap { history.packet(at: $0) }
    var packet: RebuiltPacket
    if let begun = rebuilt[sequence] {
      packet = begun
    } else {
      guard let header = set.header(without: others), rebuilt.count < Self.maximumRebuilt else {
        return
      }
      packet = RebuiltPacket(header, sequence: sequence, of: set)
    }
    guard packet.reaches(set.offset) else { return }
    packet.append(set.bytes(without: others), at: set.offset)
    guard packet.isComplete else {
      rebuilt[sequence] = packet
      return
    }
    rebuilt[sequence] = nil
    guard let result = try? RTPPacket(parsing: packet.bytes), isPlausible(result) else {
      statistics.implausible += 1
      return
    }
    history.record(sequence, media: result.bytes)
    statistics.rebuilt += 1
    findings.append(.rebuilt(result))
  }

  /// Whether a rebuilt packet is plausible: the parity of unrelated packets is noise.
  private func isPlausible(_ packet: RTPPacket) -> Bool {
    if let payloadType, packet.payloadType != payloadType { return false }
    let distance = Int32(bitPattern: packet.timestamp &- newestTimestamp)
    return UInt64(distance.magnitude)
      <= UInt64(clockRate) * UInt64(Self.greatestTimestampDistance)
  }

  private mutating func findCorrections(
    before sequence: Int64, _ statistics: inout ForwardErrorCorrectionStatistics
  ) {
    for place in coverage.lostCorrections(before: sequence, in: history) {
      history.record(place, media: nil)
      statistics.lost += 1
      findings.append(.lostCorrection(SequenceNumber(UInt16(truncatingIfNeeded: place))))
    }
  }
}

/// The results of forward error correction, in totals since the start.
public struct ForwardErrorCorrectionStatistics: Counted, Hashable {
  /// Correction packets that came.
  public internal(set) var packets: UInt64 = 0
  /// Correction packets that could not be read.
  public internal(set) var malformed: UInt64 = 0
  /// Media packets that were rebuilt, whether in time or not.
  public internal(set) var rebuilt: UInt64 = 0
  /// Rebuilt packets rejected as implausible, and correction packets for places far ahead of all
  /// that came.
  public internal(set) var implausible: UInt64 = 0
  /// Correction packets known to be lost.
  public internal(set) var lost: UInt64 = 0

  public static let counters: [Counter<ForwardErrorCorrectionStatistics>] = [
    Counter(
      "packets", .packets, \.packets, metric: Metric("fec_packets", "Correction packets that came.")
    ), Counter("malformed", .packets, \.malformed, metric: .rejected("malformed")),
    Counter("rebuilt", .packets, \.rebuilt, metric: .recovered(by: "fec")),
    Counter("implausible", .packets, \.implausible, metric: .rejected("implausible")),
    Counter(
      "lost", .packets, \.lost,
      metric: Metric("fec_packets_lost", "Correction packets known to be lost.")),
  ]
}

extension Metric {
  fileprivate static func rejected(_ reason: String) -> Metric {
    Metric("fec_rejected", "Correction packets, and what was rebuilt of them, that make no sense.")
      .labelled("reason", reason)
  }
}
