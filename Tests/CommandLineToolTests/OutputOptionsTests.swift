import ArgumentParser
import Outputs
import Receiver
import Testing

@testable import CommandLineTool

/// What is wrong with the name of an output is said before anything is opened.
struct OutputOptionsTests {
  /// The options of an address in NATS, or what is in their place.
  private static let mistakes = [
    ("//127.0.0.1/door?max-byte=1GiB", "max-bytes"), ("//127.0.0.1/door?max-age=1x", "max-age=10m"),
    ("//127.0.0.1/door?max-bytes=0", "max-bytes=1GiB"),
    ("//127.0.0.1/door?storage=tape", "file or memory"), ("//127.0.0.1/door?replicas=9", "=3"),
    ("//127.0.0.1/a/b", "a name in NATS"), ("//127.0.0.1/a.b", "a name in NATS"),
    ("//127.0.0.1", "the camera is missing"), ("///door", "the host is missing"),
    ("//viewer:canary@127.0.0.1/door", "NATS_PASSWORD"), ("x", "nats://host/camera"),
  ]

  @Test("a wrong address in NATS is a mistake on the command line", arguments: mistakes)
  func address(rest: String, words: String) throws {
    for scheme in ["nats", "nats+tls"] {
      let error = try #require(throws: (any Error).self) {
        try RTPRecv.parse(["udp://127.0.0.1:1", "-o", "\(scheme):\(rest)"])
      }
      #expect(RTPRecv.exitCode(for: error).rawValue == ExitStatus.usage.rawValue)
      #expect(RTPRecv.message(for: error).contains(words), "\(RTPRecv.message(for: error))")
    }
  }

  @Test(
    "many pictures are kept as long as --keep says, also beside a recording",
    arguments: [
      ["-o", "p-%H%M%S.jpg"], ["-o", "p-%05d.png"], ["-o", "p.jpg", "--every", "1s"],
      ["-o", "p-%H%M%S.jpg", "-o", "r-%H%M%S.mp4"],
    ])
  func retention(options: [String]) throws {
    let command = try RTPRecv.parse(["udp://127.0.0.1:1", "--keep", "3s"] + options)
    let requests = try command.outputRequests()
    #expect(requests.first?.pictures.retention == [.age(.seconds(3))])
    #expect(requests.dropFirst().allSatisfy { $0.recording.retention == [.age(.seconds(3))] })
  }

  @Test("a wrong address in NATS is a mistake in the file of a fleet", arguments: mistakes)
  func addressOfFleet(rest: String, words: String) {
    let fault = #expect(throws: FleetFile.Fault.self) {
      try FleetPlan(
        FleetFile(
          "cameras: {a: {source: 'udp://127.0.0.1:1', output: 'nats:\(rest)'}}", path: "x.yaml"),
        path: "x.yaml")
    }
    #expect(fault?.words.contains(words) == true, "\(fault?.words ?? "")")
    #expect(fault?.words.contains("canary") == false)
  }
}
