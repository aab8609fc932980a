import RTPWire
import TestSupport
import Testing

@testable import JetStream

/// Machines that divide cameras among themselves, on a virtual clock.
struct LeasePlanTests {
  /// A server with leases that run out, and machines that act in turn.
  private struct Cluster {
    var now = Instant(nanoseconds: 0)
    var leases: [String: (holder: String, until: Instant)] = [:]
    var plans: [String: LeasePlan] = [:]
    let cameras: Set<String>
    /// When a camera was without anybody for the last time, and since when.
    var gaps: [String: Instant] = [:]
    var longestGap = Duration.zero

    init(cameras count: Int) {
      cameras = Set((0..<count).map { "camera-\($0)" })
    }

    mutating func join(_ name: String, capacity: Int = 100, isNew: Bool = false) {
      var plan = LeasePlan(own: name, capacity: capacity)
      plan.cameras = cameras
      plan.connected(at: now, isNew: isNew)
      plans[name] = plan
    }

    mutating func die(_ name: String) { plans[name] = nil }

    /// Lets time pass in steps of a quarter of a second.
    mutating func pass(_ duration: Duration) {
      let end = now.advanced(by: duration)
      while now < end {
        now = now.advanced(by: .milliseconds(250))
        leases = leases.filter { $0.value.until > now }
        for name in plans.keys.sorted() { step(name) }
        for camera in cameras {
          let isHeld = plans.values.contains { $0.held.contains(camera) }
          if isHeld {
            if let since = gaps.removeValue(forKey: camera) {
              longestGap = max(longestGap, since.duration(to: now))
            }
          } else if gaps[camera] == nil {
            gaps[camera] = now
          }
        }
      }
    }

    private mutating func step(_ name: String) {
      guard var plan = plans[name] else { return }
      for camera in plan.held {
        leases[camera] = (name, now.advanced(by: LeasePlan.duration))
      }
      for (camera, lease) in leases { plan.noteLease(of: camera, by: lease.holder, at: now) }
      for camera in cameras where leases[camera] == nil { plan.noteNoLease(of: camera) }
      for (other, its) in plans where its.counts(at: now) {
        plan.note(other, capacity: its.capacity, held: its.held.count, at: now)
      }
      for action in plan.actions(at: now) {
        switch action {
        case .take(let camera):
          guard leases[camera] == nil else { continue }
          leases[camera] = (name, now.advanced(by: LeasePlan.duration))
          plan.held.insert(camera)
        case .giveUp(let camera):
          plan.held.remove(camera)
          leases[camera] = nil
        }
      }
      plans[name] = plan
    }

    /// How many cameras each has, and that none has two.
    var counts: [Int] {
      let all = plans.values.flatMap { Array($0.held) }
      #expect(Set(all).count == all.count)
      return plans.sorted { $0.key < $1.key }.map(\.value.held.count)
    }
  }

  @Test func aNewClusterBeginsAtOnceAndSharesEqually() {
    var cluster = Cluster(cameras: 60)
    for name in ["a", "b", "c"] { cluster.join(name, isNew: true) }
    cluster.pass(.seconds(5))
    #expect(cluster.counts == [20, 20, 20])
  }

  @Test func sharesAreInProportionToWhatMachinesCarry() {
    var cluster = Cluster(cameras: 40)
    cluster.join("a", capacity: 30, isNew: true)
    cluster.join("b", capacity: 10, isNew: true)
    cluster.pass(.seconds(10))
    #expect(cluster.counts == [30, 10])
  }

  @Test func aMachineTakesNoMoreThanItCarries() {
    var cluster = Cluster(cameras: 40)
    cluster.join("a", capacity: 15, isNew: true)
    cluster.pass(.seconds(10))
    #expect(cluster.counts == [15])
  }

  @Test func whatADeadMachineHadIsTakenOverWithinSeconds() {
    var cluster = Cluster(cameras: 60)
    for name in ["a", "b", "c"] { cluster.join(name, isNew: true) }
    cluster.pass(.seconds(5))
    cluster.longestGap = .zero
    cluster.die("b")
    cluster.pass(.seconds(10))
    #expect(cluster.counts == [30, 30])
    #expect(cluster.longestGap < .seconds(8), "\(cluster.longestGap)")
  }

  @Test func aNewMachineTakesItsShareOneAfterAnother() {
    var cluster = Cluster(cameras: 60)
    for name in ["a", "b"] { cluster.join(name, isNew: true) }
    cluster.pass(.seconds(10))
    cluster.longestGap = .zero
    cluster.join("c")
    cluster.pass(.seconds(4))
    // It does not know yet whether somebody had them.
    #expect(cluster.counts[2] == 0)
    cluster.pass(.seconds(30))
    #expect(cluster.counts == [20, 20, 20])
    #expect(cluster.longestGap < .seconds(2), "\(cluster.longestGap)")
    let before = cluster.plans.mapValues(\.held)
    cluster.pass(.seconds(30))
    #expect(cluster.plans.mapValues(\.held) == before)
  }

  @Test func nothingIsTakenRightAfterTheServerWasAway() {
    var plan = LeasePlan(own: "a", capacity: 10)
    plan.cameras = ["x"]
    let start = Instant(nanoseconds: 0)
    plan.connected(at: start, isNew: false)
    #expect(plan.actions(at: start.advanced(by: .seconds(4))).isEmpty)
    #expect(plan.actions(at: start.advanced(by: .seconds(6))) == [.take("x")])
  }

  @Test func nothingIsTakenAtOnceFromAServerThatHasLostItsLeases() {
    var plan = LeasePlan(own: "a", capacity: 10)
    plan.cameras = ["x"]
    let start = Instant(nanoseconds: 0)
    plan.connected(at: start, isNew: true)
    #expect(plan.actions(at: start) == [.take("x")])
    // Its bucket is new, but other machines go on with what they had.
    let again = start.advanced(by: .seconds(60))
    plan.connected(at: again, isNew: true)
    #expect(plan.actions(at: again.advanced(by: .seconds(4))).isEmpty)
    #expect(plan.actions(at: again.advanced(by: .seconds(6))) == [.take("x")])
  }

  @Test func nothingIsTakenWhileTheServerDoesNotRenew() {
    var plan = LeasePlan(own: "a", capacity: 10)
    plan.cameras = ["x"]
    let start = Instant(nanoseconds: 0)
    plan.connected(at: start, isNew: true)
    plan.doubt(at: start.advanced(by: .seconds(10)))
    plan.doubt(at: start.advanced(by: .seconds(11)))
    #expect(plan.actions(at: start.advanced(by: .seconds(15))).isEmpty)
    #expect(plan.actions(at: start.advanced(by: .seconds(17))) == [.take("x")])
  }

  @Test func whatIsHeldAndCannotBeReceivedIsGivenUp() {
    var plan = LeasePlan(own: "a", capacity: 10)
    plan.cameras = ["x", "y"]
    plan.held = ["x", "y"]
    plan.unfit = ["x"]
    plan.connected(at: Instant(nanoseconds: 0), isNew: true)
    #expect(plan.actions(at: Instant(nanoseconds: 1)) == [.giveUp("x")])
  }

  @Test func aCameraThatIsNoLongerInTheClusterIsGivenUp() {
    var plan = LeasePlan(own: "a", capacity: 10)
    plan.cameras = ["x", "y"]
    plan.held = ["x", "y"]
    plan.connected(at: Instant(nanoseconds: 0), isNew: true)
    plan.cameras = ["x"]
    #expect(plan.actions(at: Instant(nanoseconds: 1)) == [.giveUp("y")])
  }

  @Test func whatOtherMachinesSayOfThemselvesCanBeAnything() {
    var plan = LeasePlan(own: "a", capacity: 3)
    plan.cameras = ["x", "y"]
    let now = Instant(nanoseconds: 0)
    plan.connected(at: now, isNew: true)
    plan.note("b", capacity: .max, held: .min, at: now)
    plan.note("c", capacity: .min, held: .max, at: now)
    plan.note("d", capacity: .max, held: .max, at: now)
    #expect(plan.actions(at: now).count <= 2)
  }
}
