import NIOCore
import RTPWire

/// The random decisions about the packets of one flow.
///
/// Each stage that is on draws for each packet, also for those that another one loses, so that
/// switching a stage on leaves the draws of the others as they are.
struct Stages: Sendable {
  private var loss: LossStage
  private var damage: DamageStage
  private var duplication: SplitMix64
  private var delay: DelayStage
  private var copyDelay: DelayStage
  private var reordering: SplitMix64
  private var copyReordering: SplitMix64
  private var garbage: SplitMix64

  init(seed: UInt64, flow: Int) {
    loss = LossStage(seed: seed, flow: flow)
    damage = DamageStage(seed: seed, flow: flow)
    duplication = SplitMix64(seed: seed, stage: .duplication, flow: flow)
    delay = DelayStage(seed: seed, stage: .delay, flow: flow)
    copyDelay = DelayStage(seed: seed, stage: .copyDelay, flow: flow)
    reordering = SplitMix64(seed: seed, stage: .reordering, flow: flow)
    copyReordering = SplitMix64(seed: seed, stage: .copyReordering, flow: flow)
    garbage = SplitMix64(seed: seed, stage: .garbage, flow: flow)
  }

  /// What happens to a packet that no queue drops.
  struct Fate {
    var loss: Verdict.Reason?
    var damage: DamageStage.Damage
    /// The packet, and its copy if there is one.
    var travels: [Travel]
    /// A datagram that follows.
    var garbage: ByteBuffer?
  }

  struct Travel {
    var delay: Int64
    /// How many places it is displaced, if it is.
    var places: Int?
  }

  mutating func draw(_ impairments: Impairments, length: Int) -> Fate {
    var fate = Fate(
      loss: loss.judge(impairments), damage: damage.draw(impairments, length: length),
      travels: [
        Travel(
          delay: delay.draw(impairments.delay),
          places: impairments.reordering.flatMap { reordering.displacement($0) })
      ])
    if impairments.duplication > 0, duplication.chance(impairments.duplication) {
      fate.travels.append(
        Travel(
          delay: copyDelay.draw(impairments.delay),
          places: impairments.reordering.flatMap { copyReordering.displacement($0) }))
    }
    if impairments.garbage > 0, garbage.chance(impairments.garbage) {
      fate.garbage = garbage.bytes(garbage.place(upTo: NetworkSimulator.longestGarbage))
    }
    return fate
  }
}

extension SplitMix64 {
  fileprivate mutating func displacement(_ reordering: Impairments.Reordering) -> Int? {
    chance(reordering.probability) ? place(upTo: reordering.depth) : nil
  }
}
