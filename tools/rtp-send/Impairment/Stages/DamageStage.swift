import NIOCore
import RTPWire

/// Flips bits, cuts packets and makes them too long.
struct DamageStage: Sendable {
  private var corruption: SplitMix64
  private var truncation: SplitMix64
  private var oversize: SplitMix64

  /// The most bits that are flipped in a packet.
  static let mostBits = 8
  /// What an oversized packet has: more than an Ethernet frame holds, and at most as much as the
  /// largest datagrams of cameras (Tapo).
  static let oversized = 1473...10_000

  init(seed: UInt64, flow: Int) {
    corruption = SplitMix64(seed: seed, stage: .corruption, flow: flow)
    truncation = SplitMix64(seed: seed, stage: .truncation, flow: flow)
    oversize = SplitMix64(seed: seed, stage: .oversize, flow: flow)
  }

  /// What happens to a packet: applied by ``apply(_:to:)`` if it is not lost.
  struct Damage {
    var flips: [Int] = []
    var length: Int?
    /// Random bytes that are appended.
    var addition: ByteBuffer?
  }

  mutating func draw(_ impairments: Impairments, length: Int) -> Damage {
    var damage = Damage()
    if impairments.corruption > 0, corruption.chance(impairments.corruption), length > 0 {
      let count = corruption.place(upTo: Self.mostBits)
      damage.flips = (0..<count).map { _ in corruption.place(upTo: length * 8) - 1 }
    }
    if impairments.truncation > 0, truncation.chance(impairments.truncation), length > 0 {
      damage.length = truncation.place(upTo: length) - 1
    }
    if impairments.oversize > 0, oversize.chance(impairments.oversize) {
      let wanted =
        Self.oversized.lowerBound - 1 + oversize.place(upTo: Self.oversized.count)
      damage.addition = oversize.bytes(max(1, wanted - length))
    }
    return damage
  }

  /// Damages a packet, and says how.
  static func apply(_ damage: Damage, to packet: inout ByteBuffer) -> [Verdict.Reason] {
    var reasons: [Verdict.Reason] = []
    if !damage.flips.isEmpty {
      for bit in damage.flips {
        let index = packet.readerIndex + bit / 8
        guard let byte = packet.getInteger(at: index, as: UInt8.self) else { continue }
        packet.setInteger(byte ^ 0x80 >> UInt8(bit % 8), at: index)
      }
      reasons.append(.corrupted)
    }
    if let length = damage.length {
      packet = packet.getSlice(at: packet.readerIndex, length: length) ?? packet
      reasons.append(.truncated)
    }
    if let addition = damage.addition {
      packet.writeImmutableBuffer(addition)
      reasons.append(.oversized)
    }
    return reasons
  }
}

extension SplitMix64 {
  mutating func bytes(_ count: Int) -> ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: count + 8)
    while bytes.readableBytes < count { bytes.writeInteger(next()) }
    bytes.moveWriterIndex(to: count)
    return bytes
  }
}
