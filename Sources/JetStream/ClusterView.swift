import RTPWire

/// What a machine of a cluster knows of it: its rows, who has which lease, and which cameras it is
/// giving up itself.
struct ClusterView {
  /// A camera that is being given up.
  ///
  /// It may be taken again before that is known to be over.
  struct Ending: Hashable {
    let camera: String
    let number: Int
  }

  /// Bytes of the rows that are kept, whoever wrote them: a hundred thousand cameras.
  private static let mostRowBytes = 64 << 20
  private static let leasePrefix = "lease."
  private static let memberPrefix = "member."

  /// When the leases are renewed next.
  var renewal = Instant(nanoseconds: .min)
  /// Whether it is all that the buckets have.
  var isCurrent = false
  /// Whether the buckets were ever open.
  var hasOpened = false

  private let capacity: Int
  private let accepts: @Sendable (_ name: String, _ row: String) -> Bool
  private var plan: LeasePlan
  private var rows: [String: String] = [:]
  private var rowBytes = 0
  /// The leases of this machine.
  private var revisions: [String: UInt64] = [:]
  /// Those that are being given up, each with its number.
  private var ending: [String: Int] = [:]
  private var endings = 0

  /// - Parameters:
  ///   - identity: the name of this machine.
  ///   - capacity: how many cameras it can carry.
  ///   - accepts: whether a row can be received here.
  init(
    of identity: String, capacity: Int,
    accepts: @escaping @Sendable (_ name: String, _ row: String) -> Bool
  ) {
    (self.capacity, self.accepts) = (capacity, accepts)
    plan = LeasePlan(own: identity, capacity: capacity)
  }

  /// The server is there, or there again; `isNew` says that it had no bucket of leases.
  mutating func connected(at now: Instant, isNew: Bool) {
    plan.connected(at: now, isNew: isNew)
    isCurrent = false
  }

  // MARK: - Rows

  /// Notes what became of a row; returns what this machine is to do about it.
  mutating func note(row event: KeyValueBucket.Event) -> ClusterMember.Event? {
    switch event {
    case .gone(let name):
      rowBytes -= rows.removeValue(forKey: name)?.utf8.count ?? 0
      plan.cameras.remove(name)
      plan.unfit.remove(name)
      return nil
    case .value(let name, let row, _):
      // Whoever can write to the bucket can call a row anything.
      guard StreamAddress.isName(name), rows[name] != row else { return nil }
      let bytes = rowBytes + row.utf8.count - (rows[name]?.utf8.count ?? 0)
      guard bytes <= Self.mostRowBytes else { return nil }
      rowBytes = bytes
      rows[name] = row
      plan.cameras.insert(name)
      plan.unfit.remove(name)
      guard revisions[name] != nil, ending[name] == nil else { return nil }
      if accepts(name, row) { return .begin(name: name, row: row) }
      // It is given up.
      plan.unfit.insert(name)
      return nil
    }
  }

  /// What makes `wanted` the rows of the cluster.
  func edits(toHave wanted: [String: String]) -> [KeyValueBucket.Edit] {
    let new = wanted.filter { rows[$0.key] != $0.value }.map {
      KeyValueBucket.Edit($0.key, $0.value)
    }
    let gone = rows.keys.filter { wanted[$0] == nil }.map { KeyValueBucket.Edit($0, nil) }
    return new + gone
  }

  // MARK: - Leases

  /// Notes what became of a lease, or of what another machine says of itself.
  mutating func note(lease event: KeyValueBucket.Event, at now: Instant) {
    switch event {
    case .gone(let key):
      if let camera = Self.name(in: key, after: Self.leasePrefix) {
        plan.noteNoLease(of: camera)
      } else if let member = Self.name(in: key, after: Self.memberPrefix) {
        plan.noteGone(member)
      }
    case .value(let key, let text, let revision):
      if let camera = Self.name(in: key, after: Self.leasePrefix) {
        plan.noteLease(of: camera, by: text, at: now)
        // The acknowledgement may be lost.
        if text == plan.own, let former = revisions[camera], former < revision {
          revisions[camera] = revision
        }
      } else if let member = Self.name(in: key, after: Self.memberPrefix) {
        let words = text.split(separator: " ").compactMap { Int($0) }
        guard words.count == 2 else { return }
        plan.note(member, capacity: words[0], held: words[1], at: now)
      }
    }
  }

  private static func name(in key: String, after prefix: String) -> String? {
    key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : nil
  }

  /// The key of the lease of `camera`.
  static func leaseKey(of camera: String) -> String { leasePrefix + camera }

  /// What renews the leases of this machine.
  var renewals: [(camera: String, edit: KeyValueBucket.Edit)] {
    revisions.sorted { $0.key < $1.key }.map { camera, revision in
      let key = Self.leaseKey(of: camera)
      let edit = KeyValueBucket.Edit(key, plan.own, where: .revision(revision))
      return (camera: camera, edit: edit)
    }
  }

  /// Notes what became of the renewal of a lease; returns what this machine is to do about it.
  mutating func note(
    _ change: KeyValueBucket.Change, ofRenewing camera: String, at now: Instant
  ) -> [ClusterMember.Event] {
    switch change {
    case .made(let revision):
      revisions[camera] = revision
      plan.noteLease(of: camera, by: plan.own, at: now)
      return []
    // It goes on until another is seen to have it.
    case .unknown: return []
    case .refused:
      // Another machine has it, and may be receiving already.
      revisions[camera] = nil
      plan.held.remove(camera)
      let remark = ClusterMember.Event.remark("camera '\(camera)' has gone to another machine")
      let isEnding = ending.removeValue(forKey: camera) != nil
      return isEnding ? [remark] : [remark, .end(name: camera, ended: {})]
    }
  }

  /// The server did not say whether a lease is renewed: those of others may have run out as well.
  mutating func doubt(at now: Instant) { plan.doubt(at: now) }

  /// What tells others what this machine carries; `nil` where they are not to count on it.
  func announcement(at now: Instant) -> KeyValueBucket.Edit? {
    guard plan.counts(at: now) else { return nil }
    return KeyValueBucket.Edit(Self.memberPrefix + plan.own, "\(capacity) \(plan.held.count)")
  }

  /// The cameras whose leases are worth asking for, and those to give up.
  mutating func actions(
    at now: Instant
  ) -> (wanted: [(camera: String, row: String)], endings: [Ending]) {
    var wanted: [(camera: String, row: String)] = []
    var unwanted: [Ending] = []
    for action in plan.actions(at: now) {
      switch action {
      case .take(let camera):
        guard let row = rows[camera], accepts(camera, row) else {
          // It is left to others.
          plan.unfit.insert(camera)
          continue
        }
        wanted.append((camera, row))
      case .giveUp(let camera):
        guard ending[camera] == nil else { continue }
        endings += 1
        ending[camera] = endings
        unwanted.append(Ending(camera: camera, number: endings))
      }
    }
    return (wanted, unwanted)
  }

  /// Notes that this machine has got the lease of `camera`.
  mutating func took(_ camera: String, revision: UInt64, at now: Instant) {
    revisions[camera] = revision
    plan.held.insert(camera)
    plan.noteLease(of: camera, by: plan.own, at: now)
  }

  /// Notes what is no longer received here; returns what lets others have it.
  mutating func release(_ ended: Set<Ending>) -> [KeyValueBucket.Edit] {
    var edits: [KeyValueBucket.Edit] = []
    for ending in ended where self.ending[ending.camera] == ending.number {
      let camera = ending.camera
      self.ending[camera] = nil
      plan.held.remove(camera)
      guard let revision = revisions.removeValue(forKey: camera) else { continue }
      edits.append(.init(Self.leaseKey(of: camera), nil, where: .revision(revision)))
      plan.noteNoLease(of: camera)
    }
    return edits
  }

  /// What gives back all that this machine has.
  var farewell: [KeyValueBucket.Edit] {
    let leases = revisions.map { camera, revision in
      KeyValueBucket.Edit(Self.leaseKey(of: camera), nil, where: .revision(revision))
    }
    return leases + [KeyValueBucket.Edit(Self.memberPrefix + plan.own, nil)]
  }
}
