import ArgumentParser
import JetStream
import OptionNames
import Synchronization

/// `rtp-recv fleet`: many cameras in one process.
struct FleetCommand: AsyncParsableCommand {
  static let name = "fleet"

  static let configuration = CommandConfiguration(
    commandName: "rtp-recv fleet",
    abstract: "Receives many cameras in one process, as a file says.",
    usage: "rtp-recv fleet [--check] [--monitor] [--cluster URL [--capacity N]] FILE",
    discussion: """
      FILE is YAML. A key of a camera is a long option of rtp-recv without its dashes:

        version: 1
        serve: 127.0.0.1:9800    # all of them in a browser
        defaults:                # for every camera that does not say otherwise
          segment: 10m
          keep: 7d
        cameras:
          front:
            source: rtsp://10.0.0.5/1
            user: viewer
            password-file: /etc/rtp-recv/front.password
            output: /var/lib/rtp-recv/front-%Y%m%dT%H%M%SZ.mp4
          door:
            source: udp://10.0.0.6:5004
            output:
              - /var/lib/rtp-recv/door-%Y%m%dT%H%M%SZ.mp4
              - shm:/run/rtp-recv/door.ring

      'credential: NAME' instead of password-file takes a password from systemd's LoadCredential=.

      A file of an earlier run that would be replaced is kept as NAME.0001.mkv, or the next number. \
      Pictures with numbers go on behind the highest one.

      A camera that fails is tried again; the others do not notice. SIGHUP reads FILE again: if all \
      of it is right, cameras that changed begin anew, and the others lose no packet. If not, \
      everything stays as it is. Under systemd it says when it is ready and how many cameras are \
      up, and answers the watchdog.

      With --cluster, any number of machines divide the cameras among themselves. Whoever has FILE \
      says which cameras there are; the others need none. A machine that dies is followed by \
      others within seconds, and a new one takes its share. While NATS is away, all go on with what \
      they have; a machine that has not reached it yet receives nothing. On a machine without FILE, \
      SIGHUP has it look again at what its cameras read, such as passwords.
      """)

  @Argument(help: ArgumentHelp("The file of the cameras.", valueName: "file"), completion: .file())
  var file: String?

  @Option(
    help: ArgumentHelp(
      """
      Divide the cameras among all machines that name the same server of NATS, \
      nats://HOST[:PORT][/NAME], or nats+tls:// with TLS. Logins are in the environment: NATS_CREDS, \
      NATS_TOKEN, or NATS_USER and NATS_PASSWORD.
      """, valueName: "url"))
  var cluster: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      How many cameras this machine carries in a cluster; by default 100 for each processor. Shares \
      are in proportion to it.
      """, valueName: "n"))
  var capacity: Int?

  @Flag(help: "Only read FILE, and print what each camera is received with.")
  var check = false

  @Flag(
    help: """
      Show all cameras on the whole terminal, those in trouble first, and with the enter key one of \
      them in full; q goes back, and ends the run where it is asked whether that is meant.
      """)
  var monitor = false

  func validate() throws {
    guard !check || !monitor else {
      throw ValidationError("--monitor has no effect with --check, which receives nothing")
    }
    guard file != nil || cluster != nil && !check else {
      throw ValidationError("Missing expected argument '<file>'")
    }
    guard capacity == nil || cluster != nil else {
      throw ValidationError("--capacity has no effect without --cluster")
    }
    guard (1...100_000).contains(capacity ?? 1) else {
      throw ValidationError("--capacity must be 1 to 100000")
    }
  }

  func run() async throws {
    let path = file.map(CommandLineSecrets.path)
    let monitor = try monitor ? MonitorScreen(forTerminalOf: path ?? cluster ?? "") : nil
    let events = AsyncStream.makeStream(of: Fleet.Event.self)
    // Before the file is read, which may take a while.
    let isRead = Mutex(false)
    let signals = check ? nil : Fleet.signals(to: events) { isRead.withLock { $0 } }
    defer { withExtendedLifetime(signals) {} }
    let plan: FleetPlan?
    let members: FleetCluster?
    do {
      plan =
        if let path {
          try await FleetReading.of(path) {
            [isWatched = monitor != nil] () throws(FleetFile.Fault) in
            try FleetPlan(at: path, isWatched: isWatched)
          }
        } else { nil }
      members = try cluster.map { url throws(JetStreamError) in
        try FleetCluster(url, capacity: capacity)
      }
    } catch {
      StandardError.say(.error("\(error)"))
      throw ExitStatus.usage.code
    }
    for warning in plan?.warnings ?? [] { StandardError.say(.warning(warning)) }
    if check {
      do throws(CannotWrite) {
        return try StandardOutput.write((plan?.text ?? "") + "\n")
      } catch {
        StandardError.say(.error("\(error)"))
        throw ExitStatus.outputFailed.code
      }
    }
    isRead.withLock { $0 = true }
    let fleet = Fleet(plan, at: path, in: members, events: events, monitor: monitor)
    let status = await fleet.run()
    if status != .done { throw status.code }
  }
}

extension FleetCommand {
  /// What to write in the file in place of the first of `arguments` that is an option of a camera
  /// or of the page; `nil` if none is.
  static func complaint(aboutKeysAmong arguments: [String]) -> String? {
    let own = KnownOptions(of: Self.self).names
    let names = arguments.prefix { $0 != "--" }.map { String($0.prefix { $0 != "=" }) }
    let option = names.first { FleetFile.options.names.contains($0) && !own.contains($0) }
    guard let option else { return nil }
    let key = String(option.dropFirst(2))
    let isOfAll = key == PageOptions.name
    guard isOfAll || !FleetFile.notForCameras.contains(key) else { return nil }
    let value = FleetFile.options.takesValue(option) ? "…" : "true"
    return "in a fleet, \(option) is a key of the file: '\(key): \(value)' "
      + (isOfAll ? "at its top" : "in 'defaults' or of a camera")
  }
}
