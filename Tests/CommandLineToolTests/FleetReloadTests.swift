import Dispatch
import Foundation
import Glibc
import JetStream
import TestSupport
import Testing
import Transports

@testable import CommandLineTool

/// What hangs while a fleet reads its file again, as on a file server that is away, holds up
/// nothing else.
struct FleetReloadTests {
  private static func write(_ cameras: String, to path: String) throws {
    try "cameras:\n\(cameras)".write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// What is said until `StandardError` is diverted no more.
  private static func remarks() -> Record<String> {
    let remarks = Record<String>()
    StandardError.divert { _, remark in
      remarks.append(remark.text)
      return true
    }
    return remarks
  }

  /// A fleet of two cameras, whose file is written.
  private static func fleet(
    _ path: String, _ events: Fleet.Events, waitsAtTheEnd: Bool
  ) throws -> Fleet {
    try write("  a: {source: 'played://a'}\n  b: {source: 'played://b'}\n", to: path)
    return Fleet(
      try FleetPlan(at: path), at: path, events: events, longestEnd: .milliseconds(10),
      longestStop: waitsAtTheEnd ? .seconds(50) : .milliseconds(10))
  }

  @Test("a camera whose disk hangs holds up no other one", arguments: [false, true])
  func hungCamera(isStoppedMeanwhile: Bool) async throws {
    let folder = try TemporaryFolder()
    let path = folder("cameras.yaml")
    let source = PlayedSource([
      "played://a": [.hung, .silent], "played://new-a": [.silent], "played://b": [.silent],
    ])
    let events = AsyncStream.makeStream(of: Fleet.Event.self)
    defer {
      source.letGo()
      events.continuation.yield(.stop)
    }
    try await source.run {
      let fleet = try Self.fleet(path, events, waitsAtTheEnd: !isStoppedMeanwhile)
      let run = Task { await fleet.run() }
      _ = try await source.hung.first(1)
      _ = try await source.opened.first(1)
      try Self.write(
        "  a: {source: 'played://new-a'}\n  b: {source: 'played://b', verbose: true}\n", to: path)
      events.continuation.yield(.reload)
      #expect(try await source.opened.first(2) == ["played://b", "played://b"])
      if !isStoppedMeanwhile {
        source.letGo()
        try await eventually { source.opened.elements.contains("played://new-a") }
      }
      events.continuation.yield(.stop)
      let status = try await withDeadline { await run.value }
      #expect(status == (isStoppedMeanwhile ? .outputFailed : .done))
      #expect(source.opened.elements.contains("played://new-a") != isStoppedMeanwhile)
    }
  }

  @Test("a camera whose disk hangs does not keep a fleet from ending")
  func hungAtTheEnd() async throws {
    let folder = try TemporaryFolder()
    let path = folder("cameras.yaml")
    let source = PlayedSource(["played://a": [.hung], "played://b": [.silent]])
    let events = AsyncStream.makeStream(of: Fleet.Event.self)
    let remarks = Self.remarks()
    defer {
      source.letGo()
      StandardError.divert(nil)
    }
    try await source.run {
      let fleet = try Self.fleet(path, events, waitsAtTheEnd: false)
      let run = Task { await fleet.run() }
      _ = try await source.hung.first(1)
      _ = try await source.opened.first(1)
      events.continuation.yield(.stop)
      #expect(try await withDeadline { await run.value } == .outputFailed)
      #expect(remarks.elements.contains { $0.contains("a: it does not end") })
    }
  }

  @Test("a file that does not answer keeps no signal waiting, and is not complained of afterwards")
  func hungFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder("cameras.yaml")
    let source = PlayedSource(["played://a": [.silent]])
    let events = AsyncStream.makeStream(of: Fleet.Event.self)
    let remarks = Self.remarks()
    defer { StandardError.divert(nil) }
    try await source.run {
      try Self.write("  a: {source: 'played://a'}\n", to: path)
      let fleet = Fleet(try FleetPlan(at: path), at: path, events: events)
      let run = Task { await fleet.run() }
      _ = try await source.opened.first(1)
      try FileManager.default.removeItem(atPath: path)
      #expect(mkfifo(path, 0o600) == 0)
      events.continuation.yield(.reload)
      // It is being read, and nothing comes.
      let writer = try await eventualValue {
        let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        return descriptor >= 0 ? descriptor : nil
      }
      events.continuation.yield(.stop)
      let status = try? await withDeadline(.seconds(20)) { await run.value }
      // What was read so far is no list of cameras.
      close(writer)
      #expect(status == .done)
      try await withDeadline {
        for await event in events.stream { if case .reloaded = event { break } }
      }
      #expect(remarks.elements.allSatisfy { !$0.hasSuffix("everything stays as it was") })
    }
  }

  @Test("with a mistake in the file, no camera of a cluster begins anew either")
  func mistakeOnAClusterMachine() async throws {
    let folder = try TemporaryFolder()
    let (path, password) = (folder("cameras.yaml"), folder("password"))
    let camera = "  a: {source: 'played://a', user: me, password-file: '\(password)'"
    let source = PlayedSource(["played://a": [.silent]])
    let events = AsyncStream.makeStream(of: Fleet.Event.self)
    let remarks = Self.remarks()
    defer { StandardError.divert(nil) }
    func setPassword(_ words: String) throws {
      try words.write(toFile: password, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
    }
    try await source.run {
      try Self.write(camera + "}\n", to: path)
      try setPassword("former")
      // Nobody is there; this stands for what the cluster says.
      let none = try FreePort.closed.get()
      let cluster = try FleetCluster("nats://127.0.0.1:\(none)/test", capacity: nil)
      let fleet = Fleet(try FleetPlan(at: path), at: path, in: cluster, events: events)
      let run = Task { await fleet.run() }
      let row = "version: 1\ncameras:\n\(camera)}\n"
      events.continuation.yield(.cluster(.begin(name: "a", row: row)))
      _ = try await source.opened.first(1)
      try setPassword("new")
      try Self.write(camera + ", nonsense: 1}\n", to: path)
      events.continuation.yield(.reload)
      try await eventually("the mistake is said") {
        remarks.elements.contains { $0.hasSuffix("everything stays as it was") }
      }
      try Self.write(camera + "}\n", to: path)
      events.continuation.yield(.reload)
      _ = try await source.opened.first(2)
      let ends = ["everything stays as it was", "what it reads has changed"]
      #expect(
        remarks.elements.compactMap { text in ends.first { text.hasSuffix($0) } } == ends)
      events.continuation.yield(.stop)
      #expect(try await withDeadline { await run.value } == .cannotOpen)
    }
  }

  @Test("a machine that never reached NATS says why, and ends with a status of its own")
  func absentCluster() async throws {
    let events = AsyncStream.makeStream(of: Fleet.Event.self)
    let remarks = Self.remarks()
    defer { StandardError.divert(nil) }
    let none = try FreePort.closed.get()
    let cluster = try FleetCluster("nats://127.0.0.1:\(none)/test", capacity: nil)
    let fleet = Fleet(nil, at: nil, in: cluster, events: events)
    let run = Task { await fleet.run() }
    let reason = "\(TransportError.connectionRefused(address: "127.0.0.1:\(none)"))"
    let words = "no camera is received until NATS is reached: \(reason)"
    try await eventually("the reason is said") { remarks.elements.contains(words) }
    // The same is found again and again, and is not said again.
    events.continuation.yield(.cluster(.unreached(reason: reason)))
    events.continuation.yield(.stop)
    #expect(try await withDeadline { await run.value } == .cannotOpen)
    #expect(remarks.elements.count { $0 == words } == 1)
  }

  @Test func whatDoesNotAnswerIsGivenUp() async throws {
    let answer = DispatchSemaphore(value: 0)
    defer { answer.signal() }
    let fault = await #expect(throws: FleetFile.Fault.self) {
      try await FleetReading.of("cameras.yaml", within: .milliseconds(1)) { answer.wait() }
    }
    #expect(fault?.words.contains("does not answer within") == true)
  }
}
