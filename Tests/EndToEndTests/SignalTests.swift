import Foundation
import TestSupport
import Testing

/// What a person, a terminal, `timeout` and a service manager do to a running `rtp-recv`.
@Suite(.serialized)
struct SignalTests {
  /// A receiver that has written some frames of an endless stream, with its sender.
  ///
  /// It hears a hang-up also where the tests run under `nohup`.
  private static func running(
    _ options: [String] = [], launcher: [String] = ["env", "--default-signal=HUP"]
  ) throws -> (sender: RunningProcess, receiver: RunningProcess) {
    let (sender, address) = try CommandTests.server(["--loop", "forever"])
    let command = launcher + [Product.rtpRecv, "udp://\(address)", "--verbose"] + options
    let receiver = try RunningProcess(command[0], Array(command.dropFirst()))
    _ = try receiver.waitForLine(#/pictures are 256x144/#)
    return (sender, receiver)
  }

  /// `timeout` signals the process, and then its group.
  ///
  /// At the end of a login, systemd sends SIGTERM and SIGHUP.
  @Test(
    "a request that comes as two signals at once is one, and the run ends in order",
    arguments: [(SIGINT, SIGINT), (SIGTERM, SIGTERM), (SIGHUP, SIGHUP), (SIGTERM, SIGHUP)])
  func twiceAtOnce(first: Int32, second: Int32) throws {
    let (sender, receiver) = try Self.running(["--stats", "-"])
    receiver.send(signal: first)
    receiver.send(signal: second)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("rtp-recv: received "))
    #expect(String(decoding: receiver.standardOutput, as: UTF8.self).contains(#""final":true"#))
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  /// A signal was lost while libdispatch had not taken it over yet: seldom, so this tries often.
  @Test(arguments: 1...5) func aSignalBehindTheFirstLineIsNotLost(attempt: Int) throws {
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0"])
    _ = try receiver.waitForLine(#/listening on/#)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
  }

  @Test("a second signal ends at once a run whose reader does not read")
  func secondSignal() throws {
    // A frame is larger than any pipe, so that the first one waits for its reader.
    let (sender, address) = try CommandTests.server(["--loop", "forever", "--size", "1024x768"])
    // Another signal is a second request, however soon it comes.
    let launcher = """
      import os, signal, subprocess, sys
      reader, writer = os.pipe()
      receiver = subprocess.Popen(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, text=True)
      while 'pictures are' not in receiver.stderr.readline(): pass
      receiver.send_signal(signal.SIGINT)
      receiver.send_signal(signal.SIGTERM)
      rest = receiver.stderr.read()
      print(rest, file=sys.stderr)
      sys.exit(receiver.wait())
      """
    let process = try RunningProcess(
      "python3",
      ["-c", launcher, Product.rtpRecv, "udp://\(address)", "--verbose", "-o", "-"])
    #expect(try process.waitForExit() == 14, "\(process.standardError)")
    #expect(process.standardError.contains("second signal"), "\(process.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func aHangUpUnderNohupIsIgnored() throws {
    let (sender, receiver) = try Self.running(launcher: ["nohup"])
    receiver.send(signal: SIGHUP)
    receiver.send(signal: SIGUSR1)
    // It continues and answers.
    _ = try receiver.waitForLine(#/rtp-recv: received \d+ packets/#)
    receiver.send(signal: SIGTERM)
    #expect(try receiver.waitForExit() == 0)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func anInquiryIsAnsweredAndTheRunGoesOn() throws {
    let (sender, receiver) = try Self.running(["--frames", "1000000"])
    receiver.send(signal: SIGUSR1)
    _ = try receiver.waitForLine(#/rtp-recv: received \d+ packets, .* access units/#)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    receiver.send(signal: SIGTERM)
    // It was stopped before there were so many frames.
    #expect(try receiver.waitForExit() == 13, "\(receiver.standardError)")
  }

  @Test func quitEndsTheProcessWithoutABacktrace() throws {
    let (sender, receiver) = try Self.running(
      launcher: ["env", "--default-signal=QUIT", "SWIFT_BACKTRACE=enable=yes"])
    receiver.send(signal: SIGQUIT)
    #expect(try receiver.waitForExit() == SIGQUIT)
    #expect(!receiver.standardError.contains("Thread 0"), "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test("closed standard descriptors are not reused", arguments: ["<&-", ">&-", "<&- >&- 2>&-"])
  func closedDescriptors(redirections: String) throws {
    let (sender, address) = try CommandTests.server(["--frames", "30"])
    let output = try Scratch.path("y4m")
    let shell = try RunningProcess(
      "bash", ["-c", "exec '\(Product.rtpRecv)' udp://\(address) -o '\(output)' \(redirections)"])
    #expect(try shell.waitForExit() == 0)
    // A message on descriptor 2 would be in the middle of the first file opened.
    #expect(try FFmpeg.frameHashes(of: output).count == 30)
    try sender.waitForExit()
  }

  @Test("what is to go to a closed standard output is refused", arguments: ["-o", "--stats"])
  func closedOutput(option: String) throws {
    let shell = try RunningProcess(
      "bash", ["-c", "exec '\(Product.rtpRecv)' rtp://127.0.0.1:0 \(option) - >&-"])
    #expect(try shell.waitForExit() == 64)
    #expect(shell.standardError.contains("standard output is closed"), "\(shell.standardError)")
  }
}
