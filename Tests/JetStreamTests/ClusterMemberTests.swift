import Synchronization
import TestSupport
import Testing
import Transports

@testable import JetStream

/// A machine of a cluster, with a real server, and what others do to its leases.
@Suite(.serialized) struct ClusterMemberTests {
  private final class Machine: Sendable {
    let member: ClusterMember
    let events = Record<ClusterMember.Event>()

    /// One that can receive the rows that do not say "bad".
    init(_ server: NATSServer, _ identity: String = "me", user: Credentials? = nil) throws {
      var login = try NATSLogin()
      login.user = user
      member = ClusterMember(
        try StreamAddress(parsing: server.url("test"), known: []),
        as: login, identity: identity, capacity: 10,
        accepts: { _, row in row != "bad" }, handle: { [events] in events.append($0) })
    }

    /// What it was to do, but for remarks.
    var actions: [String] {
      events.elements.compactMap { event in
        switch event {
        case .begin(let name, let row): "begin \(name) \(row)"
        case .end(let name, _): "end \(name)"
        case .failed(let error): "failed: \(error)"
        case .remark, .unreached: nil
        }
      }
    }

    /// What is to be called once the first camera that was given up has ended.
    var ended: (@Sendable () -> Void)? {
      for case .end(_, let ended) in events.elements { return ended }
      return nil
    }

    /// One that has begun its only camera, "door".
    static func receivingDoor(_ server: NATSServer) async throws -> Machine {
      let machine = try Machine(server)
      machine.member.replaceRows(by: ["door": "row"])
      try machine.member.start()
      try await machine.has(["begin door row"])
      return machine
    }

    func has(_ actions: [String]) async throws {
      try await eventually("\(actions)") { self.actions == actions }
    }
  }

  private static func leases(_ server: NATSServer) throws -> KeyValueBucket {
    try server.bucket("rtp_test_leases", timeToLive: LeasePlan.duration)
  }

  private static func holder(_ camera: String, _ leases: KeyValueBucket) -> String? {
    guard case .value(let text, _) = leases.newest(of: "lease.\(camera)") else { return nil }
    return text
  }

  @Test func aServerThatCannotStoreRenewalsEndsNothing() async throws {
    let server = try NATSServer()
    let machine = try await Machine.receivingDoor(server)
    let leases = try Self.leases(server)
    #expect(Self.holder("door", leases) == "me")
    let peer = try NATSPeer(port: server.port)
    let stream = "KV_rtp_test_leases"
    let answer = String(
      decoding: try peer.request("$JS.API.STREAM.INFO.\(stream)", ""), as: UTF8.self)
    let config = try #require(answer.firstMatch(of: #/"config":(\{.*?\}),"created"/#)?.1)
    let small = config.replacing(#/"max_msg_size":\d+/#, with: "\"max_msg_size\":1")
    #expect(small != config)
    let changed = try peer.request("$JS.API.STREAM.UPDATE.\(stream)", String(small))
    #expect(!String(decoding: changed, as: UTF8.self).contains("\"error\""))
    try await eventually("the lease runs out") { leases.newest(of: "lease.door") == .nothing }
    #expect(machine.actions == ["begin door row"])
    _ = try peer.request("$JS.API.STREAM.UPDATE.\(stream)", String(config))
    try await eventually("it is there again") { Self.holder("door", leases) == "me" }
    #expect(machine.actions == ["begin door row"])
    await machine.member.leave()
    try await eventually("it is given back") { Self.holder("door", leases) == nil }
  }

  @Test func aCameraWhoseLeaseAnotherHasEndsAndOnlyItsOwnerDeletesIt() async throws {
    let server = try NATSServer()
    let machine = try await Machine.receivingDoor(server)
    let leases = try Self.leases(server)
    _ = leases.make([.init("lease.door", "other")])
    try await machine.has(["begin door row", "end door"])
    #expect(Self.holder("door", leases) == "other")
    await machine.member.leave()
    #expect(Self.holder("door", leases) == "other")
  }

  @Test func aChangedRowThatCannotBeReceivedIsGivenUp() async throws {
    let server = try NATSServer()
    let machine = try Machine(server)
    machine.member.replaceRows(by: ["door": "row", "yard": "row", "no=name": "row"])
    try machine.member.start()
    try await eventually("both begin") { machine.actions.count == 2 }
    #expect(Set(machine.actions) == ["begin door row", "begin yard row"])
    machine.member.replaceRows(by: ["door": "bad", "yard": "row"])
    try await eventually("it is given up") { machine.ended != nil }
    #expect(machine.actions.last == "end door")
    let leases = try Self.leases(server)
    #expect(Self.holder("door", leases) == "me")
    machine.ended?()
    try await eventually("others can have it") { Self.holder("door", leases) == nil }
    // Another row is another chance.
    machine.member.replaceRows(by: ["door": "good", "yard": "row"])
    try await eventually("it begins again") { machine.actions.last == "begin door good" }
    #expect(machine.actions.count == 4)
    await machine.member.leave()
  }

  @Test func whatEndsLateDoesNotEndWhatWasTakenAgain() async throws {
    let server = try NATSServer()
    let machine = try await Machine.receivingDoor(server)
    machine.member.replaceRows(by: ["door": "bad"])
    try await machine.has(["begin door row", "end door"])
    let late = try #require(machine.ended)
    // Another machine has it for a moment.
    let leases = try Self.leases(server)
    _ = leases.make([.init("lease.door", "other")])
    try await eventually("it is noticed") {
      machine.events.elements.contains { if case .remark = $0 { true } else { false } }
    }
    machine.member.replaceRows(by: ["door": "good"])
    _ = leases.make([.init("lease.door", nil)])
    try await eventually("it is taken again") { machine.actions.last == "begin door good" }
    late()
    guard case .value(_, let revision) = leases.newest(of: "lease.door") else {
      Issue.record("it has no lease")
      return
    }
    try await eventually("it is renewed twice") {
      guard case .value("me", let newest) = leases.newest(of: "lease.door") else {
        throw TimedOut(description: "the lease is gone")
      }
      // A lease and a member in each round.
      return newest > revision + 4
    }
    await machine.member.leave()
  }

  @Test func whatTheLoginMayNotDoIsSaid() async throws {
    let server = try NATSServer(
      "authorization { users: [{ user: me, password: x, "
        + "permissions: { publish: { deny: \"$JS.API.>\" } } }] }")
    let machine = try Machine(server, user: Credentials(user: "me", password: "x"))
    try machine.member.start()
    try await eventually("it fails") { !machine.actions.isEmpty }
    let words = try #require(machine.actions.first)
    #expect(words.contains("refuses") && words.lowercased().contains("permissions"), "\(words)")
  }

  @Test func theFirstServerOfAClusterThatStartsIsAskedAgain() async throws {
    let server = try NATSServer(jetStream: false)
    try NATSPeer(port: server.port).answer("$JS.API.>", with: NATSPeer.unavailable)
    let machine = try Machine(server)
    machine.member.replaceRows(by: ["door": "row"])
    try machine.member.start()
    try await eventually("it says so") {
      machine.events.elements.contains {
        if case .remark(let words) = $0 { words.contains("temporarily unavailable") } else { false }
      }
    }
    // Now JetStream is there.
    try server.kill()
    try server.start()
    try await machine.has(["begin door row"])
    await machine.member.leave()
  }

  @Test func aServerThatWasNeverReachedIsNamedWithTheReason() async throws {
    let server = try NATSServer()
    try server.kill()
    let machine = try Machine(server)
    machine.member.replaceRows(by: ["door": "row"])
    try machine.member.start()
    try await eventually("the reason is said") {
      machine.events.elements.contains {
        if case .unreached(let reason) = $0 {
          reason.hasPrefix("127.0.0.1:\(server.port) refuses the connection")
        } else {
          false
        }
      }
    }
    #expect(!machine.member.wasReached)
    try server.start()
    try await machine.has(["begin door row"])
    #expect(machine.member.wasReached)
    await machine.member.leave()
  }

  @Test func rowsThatTheServerDoesNotTakeAreLeftOut() async throws {
    let server = try NATSServer()
    let machine = try Machine(server)
    let row = String(repeating: "x", count: KeyValueBucket.largestValue + 1)
    machine.member.replaceRows(by: ["long": row, "full": String(row.dropLast())])
    try machine.member.start()
    try await eventually("the other one is received") { !machine.actions.isEmpty }
    #expect(machine.actions.map { $0.prefix(11) } == ["begin full "])
    let remarks = machine.events.elements.filter {
      if case .remark(let words) = $0 { words.contains("'long'") } else { false }
    }
    #expect(remarks.count == 1)
    await machine.member.leave()
  }
}
