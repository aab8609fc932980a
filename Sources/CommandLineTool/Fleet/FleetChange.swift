/// What a file changes in a fleet: what did not change is not touched.
struct FleetChange: CustomStringConvertible {
  let kept: [FleetCamera]
  let ending: [FleetCamera]
  let beginning: [FleetPlan.Camera]

  /// What makes `cameras` those of `plans`.
  init(from cameras: [FleetCamera], to plans: [FleetPlan.Camera]) {
    let kept = cameras.filter { camera in plans.contains { $0.isSame(as: camera.plan) } }
    self.kept = kept
    ending = cameras.filter { camera in !kept.contains { $0 === camera } }
    beginning = plans.filter { new in !kept.contains { $0.plan.name == new.name } }
  }

  var description: String {
    let replaced = beginning.count { new in ending.contains { $0.plan.name == new.name } }
    return "\(kept.count) unchanged, \(replaced) changed, \(beginning.count - replaced) new, "
      + "\(ending.count - replaced) gone"
  }
}
