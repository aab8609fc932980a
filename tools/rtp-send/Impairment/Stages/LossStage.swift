import RTPWire

/// Decides which packets are lost.
struct LossStage: Sendable {
  private var dice: SplitMix64
  private var burstDice: SplitMix64
  private var blockDice: SplitMix64
  private var isInBadState = false
  /// What is left of the present block: packets, and losses among them.
  private var block: (packets: Int, losses: Int) = (0, 0)
  private var model: Impairments.BlockLoss?

  init(seed: UInt64, flow: Int) {
    dice = SplitMix64(seed: seed, stage: .loss, flow: flow)
    burstDice = SplitMix64(seed: seed, stage: .burst, flow: flow)
    blockDice = SplitMix64(seed: seed, stage: .block, flow: flow)
  }

  /// Why the next packet is lost, if it is.
  mutating func judge(_ impairments: Impairments) -> Verdict.Reason? {
    // Each model that is on takes its step with each packet, whatever the others decide.
    let isLost = impairments.loss > 0 && dice.chance(impairments.loss)
    let isInBurst = impairments.burstLoss.map { takesStep($0) } ?? false
    let isInBlock = impairments.blockLoss.map { drawsFromBlock($0) } ?? false
    return isLost ? .lost : isInBurst ? .lostInBurst : isInBlock ? .lostInBlock : nil
  }

  private mutating func takesStep(_ model: GilbertElliott) -> Bool {
    isInBadState = burstDice.chance(isInBadState ? 1 - model.ending : model.beginning)
    let share = isInBadState ? model.lossInBad : model.lossInGood
    // A state that is certain draws nothing, so that both forms of the model draw alike.
    return share >= 1 || share > 0 && burstDice.chance(share)
  }

  /// Draws without putting back, so that a block has its number of losses exactly.
  private mutating func drawsFromBlock(_ model: Impairments.BlockLoss) -> Bool {
    if block.packets == 0 || self.model != model {
      self.model = model
      block = (model.length, model.lost)
    }
    let isLost = blockDice.place(upTo: block.packets) <= block.losses
    block.packets -= 1
    if isLost { block.losses -= 1 }
    return isLost
  }
}
