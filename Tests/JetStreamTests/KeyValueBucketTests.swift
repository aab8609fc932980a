import RTPWire
import TestSupport
import Testing

@testable import JetStream

/// Values that several machines want to change, in a real server.
@Suite(.serialized) struct KeyValueBucketTests {
  @Test func anEditIsRefusedOnlyWhereAnotherWasFirst() throws {
    let server = try NATSServer()
    let bucket = try server.bucket("test")
    #expect(bucket.isNew)
    let first = bucket.make([.init("a", "1", where: .nothing), .init("b", "1", where: .nothing)])
    guard case .made(let revision) = first[0] else {
      Issue.record("\(first)")
      return
    }
    #expect(bucket.make([.init("a", "2", where: .nothing)]) == [.refused])
    #expect(bucket.make([.init("a", "2", where: .revision(revision + 7))]) == [.refused])
    // The server says that the value is too long.
    let long = String(repeating: "x", count: 100_000)
    #expect(bucket.make([.init("a", long, where: .revision(revision))]) == [.unknown])
    #expect(bucket.make([.init("a", long), .init("c", "1")]).first == .unknown)
    #expect(bucket.newest(of: "a") == .value("1", revision: revision))
    #expect(bucket.newest(of: "other") == .nothing)
    // Who was second deletes nothing.
    #expect(bucket.make([.init("a", nil, where: .revision(revision + 7))]) == [.refused])
    guard case .made(let deletion) = bucket.make([.init("a", nil, where: .revision(revision))])[0]
    else {
      Issue.record("it is not deleted")
      return
    }
    #expect(bucket.newest(of: "a") == .deleted(revision: deletion))
  }

  @Test func whatIsClaimedByTwoBelongsToTheFirst() throws {
    let server = try NATSServer()
    let (first, second) = (try server.bucket("test"), try server.bucket("test"))
    #expect(!second.isNew)
    let mine = first.claim(["a"], for: "first")
    #expect(second.claim(["a"], for: "second") == [.refused])
    // The acknowledgement of the first time may be lost.
    #expect(first.claim(["a"], for: "first") == mine)
    guard case .made(let revision) = mine[0] else {
      Issue.record("\(mine)")
      return
    }
    _ = first.make([.init("a", nil, where: .revision(revision))])
    let changes = second.claim(["a", "b"], for: "second")
    #expect(changes.allSatisfy { if case .made = $0 { true } else { false } }, "\(changes)")
    #expect(first.claim(["a", "b"], for: "first") == [.refused, .refused])
    // Waits for answers that do not come.
    let third = try server.bucket("test", patience: .seconds(5))
    try server.kill()
    #expect(third.claim(["a"], for: "first") == [.unknown])
    #expect(third.newest(of: "a") == .unknown)
  }

  /// One round trip for each would take longer than a lease lasts, on most networks.
  @Test func twoThousandLeasesAreRenewedTogether() async throws {
    let server = try NATSServer()
    let bucket = try server.bucket("test", timeToLive: .seconds(120))
    let keys = (0..<2000).map { "lease.camera-\($0)" }
    var revisions: [UInt64] = []
    func made(_ changes: [KeyValueBucket.Change]) -> [UInt64] {
      changes.compactMap { if case .made(let revision) = $0 { revision } else { nil } }
    }
    // A machine that is busy may need more than one attempt.
    try await eventually("all are claimed") {
      revisions = made(bucket.claim(keys, for: "me"))
      return revisions.count == keys.count
    }
    try await eventually("all are renewed") {
      revisions = made(bucket.claim(keys, for: "me"))
      guard revisions.count == keys.count else { return false }
      let changes = bucket.make(
        zip(keys, revisions).map { .init($0, "me", where: .revision($1)) })
      #expect(!changes.contains(.refused))
      return made(changes).count == keys.count
    }
    let watch = try bucket.watch {}
    var seen: Set<String> = []
    try await eventually("all are heard of") {
      while let event = watch.next(within: .milliseconds(1)) {
        if case .value(let key, "me", _) = event { seen.insert(key) }
      }
      return seen.count == keys.count && watch.isCurrent
    }
  }

  /// libnats takes for granted that a server describes what it has.
  @Test func aServerThatDescribesNothingHasNoBucket() throws {
    let server = try NATSServer(jetStream: false)
    for (name, answer) in [
      ("none", "{}"), ("other", #"{"config":{}}"#),
      ("test", #"{"config":{"max_msgs_per_subject":1}}"#),
    ] {
      try NATSPeer(port: server.port).answer("$JS.API.STREAM.INFO.KV_\(name)", with: answer)
    }
    for name in ["none", "other"] {
      let error = #expect(throws: JetStreamError.self) { try server.bucket(name) }
      #expect(error?.name == "refused", "\(name)")
    }
    try NATSPeer(port: server.port).answer("$JS.API.CONSUMER.CREATE.>", with: "{}")
    try NATSPeer(port: server.port).answer(
      "$JS.API.STREAM.MSG.GET.KV_test", with: #"{"message":{}}"#)
    let bucket = try server.bucket("test")
    let error = #expect(throws: JetStreamError.self) { try bucket.watch {} }
    #expect(error?.name == "refused")
    #expect(bucket.newest(of: "a") == .unknown)
  }
}

extension NATSServer {
  /// Somebody who does not care what becomes of a connection.
  private final class Nobody: NATSLink.Watcher {
    func linkChanged(_ phase: NATSLink.Phase) {}
  }

  /// A bucket over a connection of its own.
  func bucket(
    _ name: String, timeToLive: Duration? = nil, patience: Duration = NATSServer.testPatience
  ) throws -> KeyValueBucket {
    try KeyValueBucket(
      name, timeToLive: timeToLive, by: BucketAccess(link(patience: patience)))
  }

  /// A connection of its own.
  func link(
    as login: NATSLogin? = nil, patience: Duration = NATSServer.testPatience
  ) throws -> NATSLink {
    try NATSLink(
      to: StreamAddress(parsing: url("x"), known: []), as: login ?? NATSLogin(), named: "test",
      retries: false, patience: patience, watcher: Nobody())
  }

  /// A server that has no time is not one that does not answer.
  static let testPatience = Duration.seconds(20)
}
