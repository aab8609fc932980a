public import BlockingIO
import RTPWire

/// A machine of a cluster: it holds leases of cameras in a bucket of JetStream.
///
/// The cameras are rows of another bucket. A lease runs out unless it is renewed, so whoever dies
/// is followed by others. While the server is away nobody can get a lease, and everybody goes on
/// with what it has; once the server is there again, those that had leases are first.
public final class ClusterMember: Sendable {
  /// What a machine is to do, in this order.
  public enum Event: Sendable {
    /// Receive a camera, as its row says; one that is received begins anew.
    case begin(name: String, row: String)
    /// Receive a camera no longer; `ended` is called once nothing more is received or written.
    case end(name: String, ended: @Sendable () -> Void)
    /// Something that people should know.
    case remark(String)
    /// The server was never reached so far, and why; comes again while that is so.
    case unreached(reason: String)
    /// There is no cluster to be in.
    case failed(JetStreamError)
  }

  /// What the address may have after a question mark: nothing.
  public static let addressKeys: Set<String> = []
  /// What a cluster is called whose address has no name.
  public static let usualName = "cameras"

  private static let tick = Duration.milliseconds(250)
  /// How long after the server refused something it is asked again.
  private static let pause = Duration.seconds(1)
  /// Bytes of the rows that are kept, whoever wrote them: a hundred thousand cameras.
  private static let mostRowBytes = 64 << 20

  private let address: StreamAddress
  private let login: NATSLogin
  private let identity: String
  private let capacity: Int
  private let accepts: @Sendable (_ name: String, _ row: String) -> Bool
  private let handle: @Sendable (Event) -> Void
  private let state = State()
  private let thread = Monitor<WorkerThread?>(nil)

  /// A camera that is being given up.
  ///
  /// It may be taken again before that is known to be over.
  private struct Ending: Hashable {
    let camera: String
    let number: Int
  }

  /// What other threads say.
  private final class State: NATSLink.Watcher {
    struct Value {
      var phase = NATSLink.Phase.away(since: .now)
      /// Grows with each connection and whatever else makes the buckets be looked at anew.
      var generation = 0
      /// Whether the server was ever there.
      var wasReached = false
      var ended: Set<Ending> = []
      var rows: [String: String]?
      var isStopping = false
      var isReleasing = false
    }

    let monitor = Monitor(Value())

    func linkChanged(_ phase: NATSLink.Phase) {
      monitor.update { value in
        if phase == .connected {
          value.generation += 1
          value.wasReached = true
        }
        value.phase = phase
      }
    }

    /// The buckets have to be looked at anew.
    func lost() { monitor.update { $0.generation += 1 } }
  }

  /// - Parameters:
  ///   - address: the server, and the name of the cluster.
  ///   - login: who this is.
  ///   - identity: a name that no other machine has.
  ///   - capacity: how many cameras this machine can carry; shares are in proportion to it.
  ///   - accepts: whether a row can be received here.
  ///   - handle: does what is to be done; called on a thread of this, or on an event loop.
  public init(
    _ address: StreamAddress, as login: NATSLogin, identity: String, capacity: Int,
    accepts: @escaping @Sendable (_ name: String, _ row: String) -> Bool,
    handle: @escaping @Sendable (Event) -> Void
  ) {
    (self.address, self.login, self.identity) = (address, login, identity)
    (self.capacity, self.accepts, self.handle) = (capacity, accepts, handle)
  }

  /// Makes `rows` the cameras of the cluster, all of them that the server takes, once it is there.
  public func replaceRows(by rows: [String: String]) {
    let largest = KeyValueBucket.largestValue
    let taken = rows.filter { $1.utf8.count <= largest }
    for name in rows.keys.sorted() where taken[name] == nil {
      handle(.remark("camera '\(name)' has more than \(largest) bytes of options; it is left out"))
    }
    state.monitor.update { $0.rows = taken }
  }

  /// Begins to take cameras.
  public func start() throws(ThreadError) {
    let worker = try WorkerThread { [self] in
      do throws(JetStreamError) {
        try run()
      } catch {
        handle(.failed(error))
      }
    }
    thread.update { $0 = worker }
  }

  /// Whether the server was ever there; before, there is no camera.
  public var wasReached: Bool { state.monitor.quietly(\.wasReached) }

  /// Takes no more cameras, and keeps the leases of those that there are.
  public func stopTaking() { state.monitor.update { $0.isStopping = true } }

  /// Gives back all leases; nothing is received any more.
  public func leave() async {
    state.monitor.update { $0.isReleasing = true }
    let worker = thread.quietly { $0 }
    await worker?.join(within: NATSLink.patience * 2)
  }

  // MARK: - On its thread

  /// What is open while the server is there.
  private struct Buckets {
    let leases: KeyValueBucket
    let cameras: KeyValueBucket
    let leaseWatch: KeyValueBucket.Watch
    let cameraWatch: KeyValueBucket.Watch
  }

  /// What it knows.
  private struct Knowledge {
    var plan: LeasePlan
    var rows: [String: String] = [:]
    var rowBytes = 0
    /// The leases of this machine.
    var revisions: [String: UInt64] = [:]
    /// Those that are being given up, each with its number.
    var ending: [String: Int] = [:]
    var endings = 0
    var renewal = Instant(nanoseconds: .min)
    var isCurrent = false
    /// Whether the buckets were ever open.
    var hasOpened = false
  }

  private func run() throws(JetStreamError) {
    let link = try NATSLink(
      to: address, as: login, named: "rtp-recv fleet \(identity)", retries: true, watcher: state)
    let access = try BucketAccess(link)
    var known = Knowledge(plan: LeasePlan(own: identity, capacity: capacity))
    var buckets: Buckets?
    var generation = 0
    var isAway = false
    var contact = FirstContact(address)
    while true {
      let now = state.monitor.quietly { $0 }
      if now.isReleasing { break }
      if case .closed(let error) = now.phase { throw error }
      guard now.phase == .connected else {
        var limit: Duration?
        if !now.wasReached {
          limit = contact.ask { [state, handle] reason in
            guard !state.monitor.quietly(\.wasReached) else { return }
            handle(.unreached(reason: reason))
          }
        } else if !isAway {
          handle(.remark("NATS at \(address.endpoint) is away; all goes on"))
        }
        isAway = true
        buckets = nil
        waitForChange(from: now, within: limit)
        continue
      }
      if buckets == nil || generation != now.generation {
        generation = now.generation
        buckets = nil
        let again = known.hasOpened ? " again" : ""
        do throws(JetStreamError) {
          buckets = try open(access, &known)
          if isAway { handle(.remark("NATS at \(address.endpoint) is there\(again)")) }
          isAway = false
        } catch {
          // Later it is the server that has trouble, not who asks.
          if case .refused = error, !known.hasOpened { throw error }
          if !isAway { handle(.remark("\(error); it is tried again")) }
          isAway = true
          waitForChange(from: now, within: Self.pause)
          continue
        }
      }
      guard let buckets else { continue }
      takeEnded(&known, buckets)
      putRows(buckets, known)
      listen(buckets, &known)
      if known.renewal <= .now { renew(buckets, &known) }
      if known.isCurrent, !now.isStopping { act(buckets, &known) }
    }
    if let buckets { leave(buckets, known) }
  }

  /// Opens the buckets; what this machine has it tries to keep, before anybody takes anything.
  private func open(
    _ access: BucketAccess, _ known: inout Knowledge
  ) throws(JetStreamError) -> Buckets {
    let leases = try KeyValueBucket(
      "rtp_\(address.name)_leases", timeToLive: LeasePlan.duration, by: access)
    let cameras = try KeyValueBucket("rtp_\(address.name)_cameras", by: access)
    known.plan.connected(at: .now, isNew: leases.isNew)
    known.isCurrent = false
    let buckets = Buckets(
      leases: leases, cameras: cameras, leaseWatch: try leases.watch(whenLost: state.lost),
      cameraWatch: try cameras.watch(whenLost: state.lost))
    known.hasOpened = true
    renew(buckets, &known)
    return buckets
  }

  /// Hears what there is, and waits a moment for more.
  ///
  /// It waits for the leases, which are urgent and many. What came for the cameras is fetched once.
  private func listen(_ buckets: Buckets, _ known: inout Knowledge) {
    let end = Instant.now.advanced(by: Self.tick)
    while Instant.now < end, let event = buckets.cameraWatch.next(within: .zero) {
      note(camera: event, &known)
    }
    var left = Self.tick
    repeat {
      guard let event = buckets.leaseWatch.next(within: left) else { break }
      note(lease: event, &known)
      left = Instant.now.duration(to: end)
    } while left > .zero
    known.isCurrent = buckets.leaseWatch.isCurrent && buckets.cameraWatch.isCurrent
  }

  private func note(camera event: KeyValueBucket.Event, _ known: inout Knowledge) {
    switch event {
    case .gone(let name):
      known.rowBytes -= known.rows.removeValue(forKey: name)?.utf8.count ?? 0
      known.plan.cameras.remove(name)
      known.plan.unfit.remove(name)
    case .value(let name, let row, _):
      // Whoever can write to the bucket can call a row anything.
      guard StreamAddress.isName(name), known.rows[name] != row else { return }
      let bytes = known.rowBytes + row.utf8.count - (known.rows[name]?.utf8.count ?? 0)
      guard bytes <= Self.mostRowBytes else { return }
      known.rowBytes = bytes
      known.rows[name] = row
      known.plan.cameras.insert(name)
      known.plan.unfit.remove(name)
      guard known.revisions[name] != nil, known.ending[name] == nil else { return }
      if accepts(name, row) {
        handle(.begin(name: name, row: row))
      } else {
        // It is given up.
        known.plan.unfit.insert(name)
      }
    }
  }

  private func note(lease event: KeyValueBucket.Event, _ known: inout Knowledge) {
    switch event {
    case .gone(let key):
      if let camera = Self.name(in: key, after: Self.leasePrefix) {
        known.plan.noteNoLease(of: camera)
      } else if let member = Self.name(in: key, after: Self.memberPrefix) {
        known.plan.noteGone(member)
      }
    case .value(let key, let text, let revision):
      if let camera = Self.name(in: key, after: Self.leasePrefix) {
        known.plan.noteLease(of: camera, by: text, at: .now)
        // The acknowledgement may be lost.
        if text == identity, let former = known.revisions[camera], former < revision {
          known.revisions[camera] = revision
        }
      } else if let member = Self.name(in: key, after: Self.memberPrefix) {
        let words = text.split(separator: " ").compactMap { Int($0) }
        guard words.count == 2 else { return }
        known.plan.note(member, capacity: words[0], held: words[1], at: .now)
      }
    }
  }

  private static let leasePrefix = "lease."
  private static let memberPrefix = "member."

  private static func name(in key: String, after prefix: String) -> String? {
    key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : nil
  }

  /// Renews what this machine has, and says how much that is.
  private func renew(_ buckets: Buckets, _ known: inout Knowledge) {
    known.renewal = Instant.now.advanced(by: LeasePlan.renewalInterval)
    let held = known.revisions.sorted { $0.key < $1.key }
    var changes = buckets.leases.make(
      held.map { .init(Self.leasePrefix + $0.key, identity, where: .revision($0.value)) })
    // What is refused has run out, or an acknowledgement was lost.
    let refused = changes.indices.filter { changes[$0] == .refused }
    let isReachable = !changes.contains(.unknown)
    let again =
      isReachable
      ? buckets.leases.claim(refused.map { Self.leasePrefix + held[$0].key }, for: identity)
      : refused.map { _ in .unknown }
    for (place, change) in zip(refused, again) { changes[place] = change }
    for ((camera, _), change) in zip(held, changes) {
      switch change {
      case .made(let revision):
        known.revisions[camera] = revision
        known.plan.noteLease(of: camera, by: identity, at: .now)
      // It goes on until another is seen to have it.
      case .unknown: break
      case .refused:
        // Another machine has it, and may be receiving already.
        known.revisions[camera] = nil
        known.plan.held.remove(camera)
        handle(.remark("camera '\(camera)' has gone to another machine"))
        if known.ending.removeValue(forKey: camera) == nil {
          handle(.end(name: camera, ended: {}))
        }
      }
    }
    guard !changes.contains(.unknown) else { return known.plan.doubt(at: .now) }
    announce(known, buckets)
  }

  /// Says what this machine carries.
  private func announce(_ known: Knowledge, _ buckets: Buckets) {
    guard known.plan.counts(at: .now) else { return }
    _ = buckets.leases.make([
      .init(Self.memberPrefix + identity, "\(capacity) \(known.plan.held.count)")
    ])
  }

  private func act(_ buckets: Buckets, _ known: inout Knowledge) {
    var wanted: [(camera: String, row: String)] = []
    for action in known.plan.actions(at: .now) {
      switch action {
      case .take(let camera):
        guard let row = known.rows[camera], accepts(camera, row) else {
          // It is left to others.
          known.plan.unfit.insert(camera)
          continue
        }
        wanted.append((camera, row))
      case .giveUp(let camera):
        guard known.ending[camera] == nil else { continue }
        known.endings += 1
        known.ending[camera] = known.endings
        let ending = Ending(camera: camera, number: known.endings)
        handle(
          .end(
            name: camera,
            ended: { [state] in state.monitor.update { _ = $0.ended.insert(ending) } }))
      }
    }
    let keys = wanted.map { Self.leasePrefix + $0.camera }
    for ((camera, row), change) in zip(wanted, buckets.leases.claim(keys, for: identity)) {
      guard case .made(let revision) = change else { continue }
      known.revisions[camera] = revision
      known.plan.held.insert(camera)
      known.plan.noteLease(of: camera, by: identity, at: .now)
      handle(.begin(name: camera, row: row))
    }
  }

  /// Lets others have what is no longer received here.
  private func takeEnded(_ known: inout Knowledge, _ buckets: Buckets) {
    let ended = state.monitor.quietly { value in
      defer { value.ended = [] }
      return value.ended
    }
    var edits: [KeyValueBucket.Edit] = []
    for ending in ended where known.ending[ending.camera] == ending.number {
      let camera = ending.camera
      known.ending[camera] = nil
      known.plan.held.remove(camera)
      guard let revision = known.revisions.removeValue(forKey: camera) else { continue }
      edits.append(.init(Self.leasePrefix + camera, nil, where: .revision(revision)))
      known.plan.noteNoLease(of: camera)
    }
    guard !edits.isEmpty else { return }
    // One that is not deleted runs out.
    _ = buckets.leases.make(edits)
    announce(known, buckets)
  }

  private func putRows(_ buckets: Buckets, _ known: Knowledge) {
    guard known.isCurrent, let rows = state.monitor.quietly(\.rows) else { return }
    let new = rows.filter { known.rows[$0.key] != $0.value }.map {
      KeyValueBucket.Edit($0.key, $0.value)
    }
    let gone = known.rows.keys.filter { rows[$0] == nil }.map { KeyValueBucket.Edit($0, nil) }
    guard !buckets.cameras.make(new + gone).contains(.unknown) else { return }
    state.monitor.update { value in
      if value.rows == rows { value.rows = nil }
    }
  }

  private func leave(_ buckets: Buckets, _ known: Knowledge) {
    _ = buckets.leases.make(
      known.revisions.map { .init(Self.leasePrefix + $0.key, nil, where: .revision($0.value)) }
        + [.init(Self.memberPrefix + identity, nil)])
  }

  /// Waits until something is otherwise than it was at `former`, or for `time` at most.
  private func waitForChange(from former: State.Value, within time: Duration? = nil) {
    let until = time.map { Instant.now.advanced(by: $0) }
    _ = state.monitor.wait(until: until) { value -> Bool? in
      let isSame = value.generation == former.generation && value.phase == former.phase
      return isSame && !value.isReleasing ? nil : true
    }
  }
}
