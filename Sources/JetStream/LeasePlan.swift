import RTPWire

/// Which cameras of a cluster this machine takes, keeps and gives up: a value on a virtual clock.
///
/// A camera belongs to who holds its lease. The server alone decides who gets one: this only says
/// for which it is worth asking.
struct LeasePlan: Sendable {
  /// How long a lease lasts unless it is renewed: what a takeover waits for.
  static let duration = Duration.seconds(5)
  /// How often leases are renewed, and members say what they have.
  static let renewalInterval = Duration.seconds(1)
  /// How long the server may take to forget a lease that has run out.
  private static let slack = Duration.milliseconds(250)
  /// No machine carries more, whatever it says.
  private static let mostCapacity = 100_000
  /// So many machines are counted.
  private static let mostMembers = 1000
  /// So many cameras are taken at once, so that a machine does not begin all of them at once.
  private static let mostTaken = 8
  /// How long one has too many before it gives one up, and between two of them.
  private static let releasePause = Duration.milliseconds(500)

  enum Action: Sendable, Hashable {
    case take(String)
    case giveUp(String)
  }

  /// Another machine, as it describes itself.
  struct Member: Sendable, Hashable {
    var capacity: Int
    var held: Int
    var seen: Instant
  }

  let own: String
  let capacity: Int
  /// All cameras of the cluster.
  var cameras: Set<String> = []
  /// Those that cannot be received here.
  var unfit: Set<String> = []
  /// Those of this machine.
  var held: Set<String> = []
  private var leases: [String: (holder: String, seen: Instant)] = [:]
  private var members: [String: Member] = [:]
  /// Until then nothing is taken: who had a lease when the server went away must find it again.
  private var graceEnd = Instant(nanoseconds: .min)
  private var wasConnected = false
  private var unbalancedSince: Instant?

  init(own: String, capacity: Int) {
    (self.own, self.capacity) = (own, min(max(capacity, 1), Self.mostCapacity))
  }

  /// The server is there, or there again; `isNew` says that it had no bucket of leases.
  mutating func connected(at now: Instant, isNew: Bool) {
    // A server that has lost its bucket has lost leases with it.
    graceEnd = isNew && !wasConnected ? now : now.advanced(by: Self.duration)
    wasConnected = true
    leases = [:]
    members = [:]
    unbalancedSince = nil
  }

  /// The server did not say whether a lease is renewed: those of others may have run out as well.
  mutating func doubt(at now: Instant) {
    graceEnd = max(graceEnd, now.advanced(by: Self.duration))
  }

  mutating func noteLease(of camera: String, by holder: String, at now: Instant) {
    leases[camera] = (holder, now)
  }

  mutating func noteNoLease(of camera: String) { leases[camera] = nil }

  /// Notes what another machine says of itself.
  mutating func note(_ member: String, capacity: Int, held: Int, at now: Instant) {
    guard member != own, members[member] != nil || members.count < Self.mostMembers else { return }
    members[member] = Member(
      capacity: min(max(capacity, 0), Self.mostCapacity), held: max(held, 0), seen: now)
  }

  mutating func noteGone(_ member: String) { members[member] = nil }

  /// Who holds a camera; `nil` if nobody is known to.
  func holder(of camera: String, at now: Instant) -> String? {
    guard let lease = leases[camera], isFresh(lease.seen, at: now) else { return nil }
    return lease.holder
  }

  /// Whether others are to count on this machine: for one that may not take anything yet, they
  /// would give up what nobody takes.
  func counts(at now: Instant) -> Bool { now >= graceEnd || !held.isEmpty }

  /// What to do now.
  mutating func actions(at now: Instant) -> [Action] {
    members = members.filter { isFresh($0.value.seen, at: now) }
    let gone = held.subtracting(cameras.subtracting(unfit)).sorted()
    guard gone.isEmpty else { return gone.map { .giveUp($0) } }
    if held.count < share {
      unbalancedSince = nil
      guard now >= graceEnd else { return [] }
      let free = cameras.subtracting(held).subtracting(unfit).filter {
        holder(of: $0, at: now) == nil
      }
      // Each machine begins somewhere else, so that they seldom ask for the same.
      let order = free.sorted { (Self.rank(own, $0), $0) < (Self.rank(own, $1), $1) }
      return order.prefix(min(share - held.count, Self.mostTaken)).map { .take($0) }
    }
    return release(at: now).map { [.giveUp($0)] } ?? []
  }

  /// The camera to give up, because this machine has too many and another has room for it.
  private mutating func release(at now: Instant) -> String? {
    let hasTaker = members.values.contains { member in
      member.held < Self.share(of: member.capacity, in: total, of: cameras.count)
    }
    guard held.count > share, hasTaker, now >= graceEnd else {
      unbalancedSince = nil
      return nil
    }
    guard let since = unbalancedSince else {
      unbalancedSince = now
      return nil
    }
    guard since.duration(to: now) >= Self.releasePause else { return nil }
    unbalancedSince = now
    return held.max { (Self.rank(own, $0), $0) < (Self.rank(own, $1), $1) }
  }

  /// How many cameras all machines can carry.
  private var total: Int { members.values.reduce(capacity) { $0 + $1.capacity } }

  /// How many of the cameras are this machine's share.
  private var share: Int { Self.share(of: capacity, in: total, of: cameras.count) }

  private static func share(of capacity: Int, in total: Int, of count: Int) -> Int {
    guard total > count else { return capacity }
    let (product, overflow) = count.multipliedReportingOverflow(by: capacity)
    return overflow ? capacity : (product + total - 1) / total
  }

  private func isFresh(_ seen: Instant, at now: Instant) -> Bool {
    seen.duration(to: now) < Self.duration + Self.slack
  }

  /// FNV-1a.
  private static func rank(_ member: String, _ camera: String) -> UInt64 {
    (member + "/" + camera).utf8.reduce(0xCBF2_9CE4_8422_2325) {
      ($0 ^ UInt64($1)) &* 0x0100_0000_01B3
    }
  }
}
