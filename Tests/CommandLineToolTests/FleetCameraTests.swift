import Foundation
import TestSupport
import Testing
import Transports

@testable import BlockingIO
@testable import CommandLineTool

/// The runs of a camera, one after another.
struct FleetCameraTests {
  private static func plan(_ options: String) throws -> FleetPlan.Camera {
    let text = "cameras: {a: {source: 'played://a', quiet: true\(options)}}"
    let plan = try FleetPlan(FleetFile(text, path: "cameras.yaml"), path: "cameras.yaml")
    return try #require(plan.cameras.first)
  }

  private static func camera(_ options: String) throws -> FleetCamera {
    FleetCamera(
      try plan(options), showingOn: nil, counting: MetricsPage(), watched: nil,
      shortestPause: .milliseconds(1))
  }

  @Test(
    "what came before a server forgot the stream is kept, and a run in which nothing came is not")
  func keeping() async throws {
    let folder = try TemporaryFolder()
    let forgotten = TransportError.noSuchMedia(number: 1)
    let source = PlayedSource(["played://a": [.broken(forgotten), .notOpened(forgotten), .silent]])
    try await source.run {
      let camera = try Self.camera(
        ", capture: '\(folder("a.pcapng"))', stats: '\(folder("a.jsonl"))'")
      camera.begin(after: .zero) {}
      _ = try await source.opened.first(2)
      #expect(folder.names == ["a.0001.jsonl", "a.0001.pcapng", "a.jsonl", "a.pcapng"])
      _ = await camera.end()
    }
    let kept = String(decoding: try folder.contents("a.0001.pcapng"), as: UTF8.self)
    #expect(kept.components(separatedBy: PlayedSource.payload).count == 4)
  }

  @Test(
    "what may pass ends no camera for good",
    arguments: [
      // A certificate was replaced, and its key was not yet.
      .notOpened(TLSError.keyMismatch), .notOpened(TLSError.fileUnusable(path: "ca.pem")),
      .notMade(ThreadError(code: EAGAIN)),
    ] as [PlayedSource.Act])
  func passingFault(act: PlayedSource.Act) async throws {
    let source = PlayedSource(["played://a": [act, .silent]])
    try await source.run {
      let camera = try Self.camera("")
      camera.begin(after: .zero) {}
      _ = try await source.opened.first(1)
      #expect(camera.status == nil)
      _ = await camera.end()
    }
  }

  @Test("what fails again and again for one reason is said once, and another reason is said too")
  func repeatedFailure() async throws {
    let first = TransportError.noSuchMedia(number: 1)
    let source = PlayedSource([
      "played://a": [
        .notOpened(first), .notOpened(first), .notMade(first), .notMade(first),
        .notOpened(TransportError.noSuchMedia(number: 2)), .notOpened(first), .silent,
      ]
    ])
    let remarks = Record<String>()
    StandardError.divert { _, remark in
      remarks.append(remark.text)
      return true
    }
    defer { StandardError.divert(nil) }
    try await source.run {
      let camera = try Self.camera("")
      camera.begin(after: .zero) {}
      _ = try await source.opened.first(1)
      _ = await camera.end()
    }
    // What comes in the end is of no codec, which may be said too.
    let failures = remarks.elements.compactMap {
      $0.firstMatch(of: #/no stream (\d) .*; it is tried again$/#).map { String($0.1) }
    }
    #expect(failures == ["1", "2", "1"], "\(remarks.elements)")
  }

  @Test("a run that gets no thread ends with a status of its own, as others do")
  func noThread() async throws {
    let source = PlayedSource(["played://a": [.notMade(ThreadError(code: EAGAIN))]])
    let status = try await source.run {
      let plan = try Self.plan("")
      return try await StandardError.$speaker.withValue(plan.name) {
        try await CommandLineSecrets.$ofCamera.withValue(plan.secrets) {
          try await plan.command.receive(showingOn: nil, watched: nil) { _ in nil }
        }
      }
    }
    #expect(status == .failed)
  }
}
