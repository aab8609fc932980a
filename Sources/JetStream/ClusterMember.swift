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

  private let address: StreamAddress
  private let login: NATSLogin
  private let identity: String
  private let capacity: Int
  private let accepts: @Sendable (_ name: String, _ row: String) -> Bool
  private let handle: @Sendable (Event) -> Void
  private let state = State()
  private let thread = Monitor<WorkerThread?>(nil)

  /// What other threads say.
  private final class State: NATSLink.Watcher {
    struct Value {
      var phase = NATSLink.Phase.away(since: .now)
      /// Grows with each connection and whatever else makes the buckets be looked at anew.
      var generation = 0
      /// Whether the server was ever there.
      var wasReached = false
      var ended: Set<ClusterView.Ending> = []
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

  private func run() throws(JetStreamError) {
    let link = try NATSLink(
      to: address, as: login, named: "rtp-recv fleet \(identity)", retries: true, watcher: state)
    let access = try BucketAccess(link)
    var view = ClusterView(of: identity, capacity: capacity, accepts: accepts)
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
        let again = view.hasOpened ? " again" : ""
        do throws(JetStreamError) {
          buckets = try open(access, &view)
          if isAway { handle(.remark("NATS at \(address.endpoint) is there\(again)")) }
          isAway = false
        } catch {
          // Later it is the server that has trouble, not who asks.
          if case .refused = error, !view.hasOpened { throw error }
          if !isAway { handle(.remark("\(error); it is tried again")) }
          isAway = true
          waitForChange(from: now, within: Self.pause)
          continue
        }
      }
      guard let buckets else { continue }
      takeEnded(&view, buckets)
      putRows(buckets, view)
      listen(buckets, &view)
      if view.renewal <= .now { renew(buckets, &view) }
      if view.isCurrent, !now.isStopping { act(buckets, &view) }
    }
    if let buckets { leave(buckets, view) }
  }

  /// Opens the buckets; what this machine has it tries to keep, before anybody takes anything.
  private func open(
    _ access: BucketAccess, _ view: inout ClusterView
  ) throws(JetStreamError) -> Buckets {
    let leases = try KeyValueBucket(
      "rtp_\(address.name)_leases", timeToLive: LeasePlan.duration, by: access)
    let cameras = try KeyValueBucket("rtp_\(address.name)_cameras", by: access)
    view.connected(at: .now, isNew: leases.isNew)
    let buckets = Buckets(
      leases: leases, cameras: cameras, leaseWatch: try leases.watch(whenLost: state.lost),
      cameraWatch: try cameras.watch(whenLost: state.lost))
    view.hasOpened = true
    renew(buckets, &view)
    return buckets
  }

  /// Hears what there is, and waits a moment for more.
  ///
  /// It waits for the leases, which are urgent and many. What came for the cameras is fetched once.
  private func listen(_ buckets: Buckets, _ view: inout ClusterView) {
    let end = Instant.now.advanced(by: Self.tick)
    while Instant.now < end, let row = buckets.cameraWatch.next(within: .zero) {
      if let event = view.note(row: row) { handle(event) }
    }
    var left = Self.tick
    repeat {
      guard let lease = buckets.leaseWatch.next(within: left) else { break }
      view.note(lease: lease, at: .now)
      left = Instant.now.duration(to: end)
    } while left > .zero
    view.isCurrent = buckets.leaseWatch.isCurrent && buckets.cameraWatch.isCurrent
  }

  /// Renews what this machine has, and says how much that is.
  private func renew(_ buckets: Buckets, _ view: inout ClusterView) {
    view.renewal = Instant.now.advanced(by: LeasePlan.renewalInterval)
    let renewals = view.renewals
    var changes = buckets.leases.make(renewals.map { $0.edit })
    // What is refused has run out, or an acknowledgement was lost.
    let refused = changes.indices.filter { changes[$0] == .refused }
    let isReachable = !changes.contains(.unknown)
    let again =
      isReachable
      ? buckets.leases.claim(refused.map { renewals[$0].edit.key }, for: identity)
      : refused.map { _ in .unknown }
    for (place, change) in zip(refused, again) { changes[place] = change }
    for (renewal, change) in zip(renewals, changes) {
      for event in view.note(change, ofRenewing: renewal.camera, at: .now) { handle(event) }
    }
    guard !changes.contains(.unknown) else { return view.doubt(at: .now) }
    announce(view, buckets)
  }

  /// Says what this machine carries.
  private func announce(_ view: ClusterView, _ buckets: Buckets) {
    guard let edit = view.announcement(at: .now) else { return }
    _ = buckets.leases.make([edit])
  }

  private func act(_ buckets: Buckets, _ view: inout ClusterView) {
    let (wanted, endings) = view.actions(at: .now)
    for ending in endings {
      handle(
        .end(
          name: ending.camera,
          ended: { [state] in state.monitor.update { _ = $0.ended.insert(ending) } }))
    }
    let keys = wanted.map { ClusterView.leaseKey(of: $0.camera) }
    for ((camera, row), change) in zip(wanted, buckets.leases.claim(keys, for: identity)) {
      guard case .made(let revision) = change else { continue }
      view.took(camera, revision: revision, at: .now)
      handle(.begin(name: camera, row: row))
    }
  }

  /// Lets others have what is no longer received here.
  private func takeEnded(_ view: inout ClusterView, _ buckets: Buckets) {
    let ended = state.monitor.quietly { value in
      defer { value.ended = [] }
      return value.ended
    }
    let edits = view.release(ended)
    guard !edits.isEmpty else { return }
    // One that is not deleted runs out.
    _ = buckets.leases.make(edits)
    announce(view, buckets)
  }

  private func putRows(_ buckets: Buckets, _ view: ClusterView) {
    guard view.isCurrent, let rows = state.monitor.quietly(\.rows) else { return }
    guard !buckets.cameras.make(view.edits(toHave: rows)).contains(.unknown) else { return }
    state.monitor.update { value in
      if value.rows == rows { value.rows = nil }
    }
  }

  private func leave(_ buckets: Buckets, _ view: ClusterView) {
    _ = buckets.leases.make(view.farewell)
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
