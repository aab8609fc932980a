import Foundation
import TestSupport
import Testing
import Transports

/// What `--help` and messages about the command line look like, and which options go with what.
@Suite(.serialized)
struct OptionTests {
  private func run(_ arguments: [String]) throws -> (status: Int32, words: String) {
    let process = try RunningProcess(Product.rtpRecv, arguments)
    return (try process.waitForExit(), process.standardError)
  }

  /// What ArgumentParser would check itself, were it not optimised for the tests.
  @Test(arguments: [Product.rtpRecv, Product.rtpSend])
  func everyNameStandsForOneOption(program: String) throws {
    struct Dump: Decodable { let command: Command }
    struct Command: Decodable {
      let arguments: [Argument]?
      let subcommands: [Command]?
    }
    struct Argument: Decodable {
      struct Name: Decodable, Hashable {
        let kind: String
        let name: String
      }
      let kind: String
      let isRepeating: Bool
      let names: [Name]?
    }
    let text = try RunningProcess.output(of: program, ["--experimental-dump-help"])
    var commands = [try JSONDecoder().decode(Dump.self, from: text).command]
    while let command = commands.popLast() {
      commands += command.subcommands ?? []
      let arguments = command.arguments ?? []
      var known: Set<Argument.Name> = []
      for name in arguments.flatMap({ $0.names ?? [] }) {
        #expect(known.insert(name).inserted, "\(name)")
      }
      let positional = arguments.filter { $0.kind == "positional" }
      #expect(positional.dropLast().allSatisfy { !$0.isRepeating })
    }
  }

  @Test(
    "an option that has no effect on the source is an error that names it",
    arguments: [
      ["rtsp://127.0.0.1/", "--hello", "x"], ["rtp://127.0.0.1:0", "--heartbeat", "x"],
      ["http://127.0.0.1/", "--heartbeat-interval", "3"],
      ["x.pcapng", "--bind", "127.0.0.1:0"], ["-", "--interface", "lo"],
      ["tcp://127.0.0.1:1", "--receive-buffer", "8192"], ["rtp://127.0.0.1:0", "--ssrc", "1"],
      ["udp://127.0.0.1:1", "--speed=2"], ["rtsp://127.0.0.1/", "--port", "5004"],
      ["udp://127.0.0.1:1", "--framing", "rtp4"], ["http://127.0.0.1/", "--rtsp-transport", "tcp"],
      ["udp://127.0.0.1:1", "--stream", "0"], ["tcp://127.0.0.1:1", "--all-streams"],
      ["rtsp://127.0.0.1/", "--http-proxy", "http://127.0.0.1:1"],
      ["udp://127.0.0.1:1", "--user", "me"], ["rtp://127.0.0.1:0", "--password-file", "x"],
      ["nats://127.0.0.1/door", "--password-file", "x"],
      ["tcp://127.0.0.1:1", "--tls-insecure"], ["http://127.0.0.1/", "--feedback", "nack"],
      ["x.pcapng", "--timeout", "3"],
    ])
  func withoutEffect(arguments: [String]) throws {
    let (status, words) = try run(arguments)
    #expect(status == 64, "\(words)")
    let option = arguments[1].prefix { $0 != "=" }
    #expect(words.contains("\(option) has no effect with"), "\(words)")
  }

  @Test(
    "options that need or exclude others",
    arguments: [
      (["--quiet", "--verbose"], "--verbose"), (["--frame-md5"], ".jsonl"),
      (["--format", "yuv"], "-o"), (["--scale-to-first"], "-o"),
      (["--stats", "-", "--stats-size", "1"], "--stats-size"), (["--frames", "0"], "at least 1"),
      (["--frames", "-3"], "--frames must be at least 1"),
      (["--timeout", "-1"], "--timeout must be at least 0"),
      (["--duration", "0"], "--duration must be above 0; without it a run has no end"),
      (["--duration", "-1"], "must be above 0"),
      (["-o", "x.mkv", "--expect", "intact=100%"], "nothing is decoded here; add -o FILE.jsonl"),
      (["-o", "x.h264", "--expect", "fps>1, latency<50ms"], "--expect 'latency<50ms'"),
      (["-o", "x.wav", "--expect", "freezes=0"], "--expect 'freezes=0'"),
      (["--serve", "127.0.0.1:0", "--expect", "intact=1"], "nothing is decoded here"),
      (["-oq.mkv"], "'-oq.mkv' is read as an option; write '-o q.mkv'"),
      (["--stream", "-1"], "--stream must be at least 0"),
      (["--hello", "@/nowhere/x"], "No such file"), (["--hello", "hex:0"], "pairs of hexadecimal"),
      (["--list", "-o", "x.y4m"], "-o has no effect"),
      (["--list", "--frames", "3"], "--frames has no effect"),
      (["-o", "x.h264", "--on-loss", "skip"], "--on-loss has no effect"),
      (["-o", "x.h264", "--decoder-threads", "2"], "--decoder-threads has no effect"),
      (["-o", "x.yuv", "--frame-md5"], ".jsonl"),
      (["-o", "x.h264", "--constant-rate"], "--constant-rate has no effect"),
      (["-o", "x.h265", "--scale-to-first"], "--scale-to-first has no effect"),
      (["-o", "shm:x", "--scale-to-first"], "--scale-to-first has no effect with shm:"),
      (["-o", "shm:x", "--format", "yuv"], "--format has no effect with shm:"),
      (["-o", "shm:"], "lacks a path: shm:PATH"),
      (["--srtp-roc", "1"], "--srtp-roc has no effect"),
      (["-o", "x.h264", "--size", "8x8"], "--size has no effect"), (["--size", "8x8"], "needs -o"),
      (["-o", "x.yuv", "--size", "8"], "--size is a width and a height"),
      (["-o", "x.yuv", "--size", "9000x8"], "each 1 to 8192"),
      (["-o", "x.yuv", "--pixel-format", "bgr"], "there are yuv420p, nv12, rgb24, bgr24, gray8"),
      (["-o", "x.y4m", "--pixel-format", "bgr24"], ".y4m cannot hold bgr24"),
      (["-o", "x.jpg", "--pixel-format", "bgr24"], "--pixel-format has no effect with pictures"),
      (["-o", "x.y4m", "--every", "1s"], "--every is for pictures"),
      (["-o", "x.jpg", "--every", "1x"], "The value '1x' is invalid for '--every <time>'"),
      (["-o", "x.jpg", "--every", "2"], "a time is a number and its unit, such as 90s"),
      (["-o", "x.mp4", "--segment", "2"], "'--segment <time>': a time is a number and its unit"),
      (["-o", "x.mp4", "--segment", "0s"], "'--segment <time>': this time must be more than 0"),
      (["--duration", "3x"], "'--duration <time>': a time is a number of seconds, or"),
      (["--timeout", "x"], "'--timeout <time>': a time is a number of seconds, or"),
      (["--stats", "-", "--stats-size", "64M"], "a size is a number of bytes, or a number and B"),
      (["-o", "x-%Y.mp4", "--keep", "100"], "a limit is a time (12h, 7d), a size (500GB, 100MiB)"),
      (["-o", "x-%Y.mp4", "--keep", "100M"], "free=20GB); units of time are"),
      (["-o", "x-%Y.mp4", "--keep", "7d,8d"], "--keep: 7d and 8d contradict each other"),
      (["-o", "x-%Y.mp4", "--keep", "1GB", "--keep", "2d,2GB"], "--keep: 1GB and 2GB contradict"),
      (["-o", "x-%Y.mp4", "--keep", "free=1GB,free=2GB"], "contradict each other"),
      (["-o", "rtp://192.0.2.1:5004"], "rtp:// is no output; there are files, pipes, shm:, nats:"),
      (["-o", "rtmp://192.0.2.1/x.mp4"], "--format h264 | rtp-send - udp://HOST:PORT"),
      (["-o", "rtsp://192.0.2.1/x", "--format", "ts"], "rtsp:// is no output"),
      (["-o", "x.m4a"], "cannot tell the format of 'x.m4a' by its ending"),
      (["-o", "/tmp"], "'/tmp' is a folder; name a file in it"),
      (["-o", "x.mp4", "--format", "y4m"], "'x.mp4' says another format"),
      (["-o", "x.y4m", "-o", "x.mp4", "--format", "y4m"], "'x.mp4' says another format"),
      (["-o", "x.mp4", "-o", "shm:x", "--format", "y4m"], "--format y4m has no effect"),
      (["-o", "x", "--format", "avi"], "no format named 'avi'; there are yuv, y4m,"),
      (["-o", "x.mp4", "--format", "mpegts"], "no format named 'mpegts'; there are yuv, y4m,"),
      (["-o", "x-%q.jpg"], "%q is no part of a time"),
      (["--stats", "x-%Y%m%d.jsonl"], "'x-%Y%m%d.jsonl' has a place for a time or a number"),
      (["--capture", "%F/x.pcapng"], "--stats and --capture write a single file"),
      (["--heartbeat-interval", "-1"], "--heartbeat-interval must be 1 to 3600 s"),
      (["--receive-buffer", "-1"], "--receive-buffer must be 4096 bytes to 1 GiB"),
      (["--heartbeat", ""], "has 1 to 64 bytes, not 0"), (["--bind", "x"], "--bind: "),
      (["--bind", "x"], "--bind: the port is missing"),
      (["--port", "x"], "The value 'x' is invalid for '--port <n>'"),
      (["--framing", "x"], "--framing must be rtp4 or rfc4571"),
      (["--rtsp-transport", "x"], "--rtsp-transport must be auto, tcp, udp, multicast or http"),
      (["--tls-pin", "00:11"], "64 hexadecimal digits"),
      (["--tls-certificate", "x"], "--tls-certificate and --tls-key go together"),
      (["--tls-key", "x"], "--tls-certificate and --tls-key go together"),
      (["--srtp-key-fd", "0", "--srtp-key-file", "x"], "exclude each other"),
      (["--srtp-key-fd", "999"], "no such descriptor is open"),
      (["-o", "-x.mp4"], "a file of that name is written './-x.mp4'"), (["-x"], "option '-x'"),
      (["--fec", "x"], "it is ulpfec:PT, flexfec:PT"), (["--feedback", "x"], "it is nack, pli or"),
      (["--decoder-threads", "99"], "it is auto, or 1 to"),
      (["-o", "x.jsonl", "--size", "8x8"], "--size has no effect"),
      (["-o", "x.jsonl", "--pixel-format", "gray8"], "--pixel-format has no effect"),
      (["-o", "x.jsonl", "--scale-to-first"], "--scale-to-first has no effect"),
    ])
  func together(options: [String], word: String) throws {
    let (status, words) = try run(["rtp://127.0.0.1:0"] + options)
    #expect(status == 64, "\(words)")
    #expect(words.contains(word), "\(words)")
  }

  @Test(
    "several sources, and none, where they are typed in another way",
    arguments: [
      (["fleet", "x.yaml", "--serve", ":9800"], "key of the file: 'serve: …' at its top"),
      (["fleet", "--verbose", "x.yaml"], "'verbose: true' in 'defaults' or of a camera"),
      (["fleet", "x.yaml", "--stats=a.jsonl"], "--stats is a key of the file: 'stats: …' in"),
      (["fleet", "x.yaml", "--list"], "Unknown option '--list'."),
      (["--quiet", "fleet", "x.yaml"], "'fleet' comes first, as in 'rtp-recv fleet …'"),
      (["--quiet", "discover"], "'discover' comes first"),
      (["rtsp://127.0.0.1:9", "rtsp://127.0.0.2:9"], "several cameras are a fleet"),
      (["--sdp", "x.sdp", "-o", "a.mp4"], "give the session description as the source"),
    ])
  func sources(arguments: [String], expected: String) throws {
    let (status, words) = try run(arguments)
    #expect(status == 64, "\(words)")
    #expect(words.contains(expected), "\(words)")
  }

  @Test(
    "how the media of a camera comes is an option of its own",
    arguments: [("rtsp", "tcp"), ("rtsps", "udp"), ("onvif", "http")])
  func transportOfMedia(scheme: String, name: String) throws {
    let (status, words) = try run(["\(scheme)://127.0.0.1:9/x", "--transport", name])
    #expect(status == 64, "\(words)")
    #expect(words.contains("its media is, with --rtsp-transport \(name)"), "\(words)")
  }

  @Test("a user is named once")
  func twoUsers() throws {
    let (status, words) = try run(["rtsp://me@127.0.0.1:1/", "--user", "you"])
    #expect(status == 64, "\(words)")
    #expect(words.contains("--user has no effect"), "\(words)")
  }

  @Test(
    "an option of the sender that has no effect, or a value that says nothing",
    arguments: [
      (["pattern", "udp://127.0.0.1:9", "--once"], "--once has no effect"),
      (["pattern", "udp://127.0.0.1:9", "--hello", "x"], "--hello has no effect"),
      (["pattern", "http://127.0.0.1:0", "--hello", "x"], "--hello has no effect"),
      (["pattern", "http://127.0.0.1:0", "--feedback", "nack"], "--feedback has no effect"),
      (["x.mp4", "udp://127.0.0.1:9", "--size", "320x240"], "--size has no effect"),
      (["x.mp4", "udp://127.0.0.1:9", "--bframes", "2"], "--bframes has no effect"),
      (["pattern", "127.0.0.1:7000"], "udp://HOST:PORT"),
      (["pattern", "rtp://127.0.0.1:7000"], "to send there, write udp://127.0.0.1:7000"),
      (["pattern", "listen://:0", "--hello", "@/nowhere/x"], "does not exist"),
      (["pattern", "udp://127.0.0.1:9", "--frames", "-3"], "at least 1"),
      (["pattern", "udp://127.0.0.1:9", "-x", "x"], "Unknown option '-x'"),
      (["-re", "-i", "x.mp4", "udp://127.0.0.1:9"], "FFmpeg; here a file is sent at its own pace"),
      (["-i", "x.mp4", "-f", "rtp", "rtp://127.0.0.1:9"], "here the source stands by itself"),
      (["-hide_banner", "-i", "x.mp4", "udp://127.0.0.1:9"], "here there is none to hide"),
      (["pattern", "udp://127.0.0.1:9", "--audio", "pcmu", "--audio-loss", "5x"], "a share is 0"),
      (["pattern", "udp://127.0.0.1:9", "--reorder", "5%"], "a share and a number"),
      (["pattern", "udp://127.0.0.1:9", "--reorder", "5%,1.5"], "a whole DEPTH"),
      (["pattern", "udp://127.0.0.1:9", "--burst-loss", "500%,3"], "a share is 0 to 1"),
      (["pattern", "udp://127.0.0.1:9", "--fps", "30000/1001"], "such as 25 or 29.97"),
      (["pattern", "udp://127.0.0.1:9", "--ssrc", "zz"], "it is 0 to 4294967295, or 0x0"),
      (["pattern", "udp://127.0.0.1:9", "--initial-sequence", "70000"], "it is 0 to 65535"),
      (["pattern", "udp://127.0.0.1:9", "--initial-timestamp", "x"], "it is 0 to 4294967295"),
      (["pattern", "udp://127.0.0.1:9", "--bitrate", "4Mbit"], "such as 800k or 4M"),
    ])
  func sender(arguments: [String], word: String) throws {
    let process = try RunningProcess(Product.rtpSend, arguments)
    #expect(try process.waitForExit() == 64, "\(process.standardError)")
    #expect(process.standardError.contains(word), "\(process.standardError)")
  }

  @Test(
    "what the sender cannot write is said with the kernel's reason",
    arguments: [
      (["--sdp", "/nowhere/x.sdp"], "No such file"), (["--sdp", "/dev/full"], "No space left"),
      (["--log", "/dev/full", "--frames", "1"], "No space left"),
    ])
  func unwritable(options: [String], reason: String) throws {
    let process = try RunningProcess(
      Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--size", "256x144"] + options)
    #expect(try process.waitForExit() == 6, "\(process.standardError)")
    #expect(process.standardError.contains(reason), "\(process.standardError)")
  }

  @Test("shares are written as everywhere, whatever is lost or overtaken by them")
  func shares() throws {
    let options = [
      "--audio", "pcmu", "--audio-loss", "5%", "--reorder", "5%,3", "--burst-loss", "5%,3",
    ]
    let process = try RunningProcess(
      Product.rtpSend,
      ["pattern", "udp://127.0.0.1:9", "--size", "256x144", "--frames", "1"] + options)
    #expect(try process.waitForExit() == 0, "\(process.standardError)")
  }

  @Test(
    "what cannot be opened is said once, by its own reason",
    arguments: [
      (["rtsp://127.0.0.1:1/", "--interface", "nope"], 2, "there is no network interface 'nope'"),
      (["/nowhere/x.sdp"], 2, "rtp-recv: cannot read /nowhere/x.sdp"),
      (["udp://127.0.0.1:9", "--srtp-key-file", "/nowhere/key"], 3, "No such file"),
      (["rtp://127.0.0.1:0", "--bind", "192.0.2.1:0"], 2, "is not an address of this machine"),
      (["rtp://127.0.0.1:0", "--stats", "/nowhere/a/x"], 6, "there is no folder /nowhere/a"),
      (["rtp://127.0.0.1:0", "--capture", "/nowhere/a/x"], 6, "there is no folder /nowhere/a"),
      (["rtp://127.0.0.1:0", "-o", "shm:/nowhere/a/x"], 6, "there is no folder /nowhere/a"),
      (["rtsps://127.0.0.1:9/", "--tls-ca", "/nowhere/a"], 64, "/nowhere/a cannot be read"),
      (
        [
          "rtsps://127.0.0.1:9/", "--tls-certificate", "/nowhere/c.pem", "--tls-key",
          "/nowhere/k.pem",
        ], 64, "/nowhere/c.pem cannot be read"
      ),
    ])
  func unopened(arguments: [String], status: Int32, word: String) throws {
    let (found, words) = try run(arguments)
    #expect(found == status, "\(words)")
    #expect(words.contains(word) && !words.contains("SingleConnectionFailure"), "\(words)")
  }

  @Test(
    "a run of which nothing is left says so, unless it is quiet or has a result",
    arguments: [
      ([], true), (["--reconnect", "--timeout", "1"], true), (["--quiet"], false),
      (["--frames", "1"], false), (["--duration", "1"], false), (["--expect", "fps>=1"], false),
      (["-o", "/dev/null", "--format", "yuv"], false), (["--serve", "127.0.0.1:0"], false),
    ])
  func nothingWritten(options: [String], isSaid: Bool) throws {
    let (_, words) = try run(["tcp://127.0.0.1:1"] + options)
    #expect(words.contains("warning: nothing is written; -o FILE records it") == isSaid, "\(words)")
  }

  @Test("statistics of a run that receives nothing replace no others")
  func keptStatistics() throws {
    let path = try Scratch.path("jsonl")
    try "kept\n".write(toFile: path, atomically: true, encoding: .utf8)
    let (status, words) = try run(["tcp://127.0.0.1:1", "--stats", path])
    #expect(status == 2, "\(words)")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "kept\n")
  }

  @Test(
    "a mistake is told in two lines, with where to find help",
    arguments: [
      (Product.rtpRecv, []), (Product.rtpRecv, ["--frames", "x", "rtp://:5004"]),
      (Product.rtpRecv, ["--nonsense", "rtp://:5004"]), (Product.rtpSend, []),
      (Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--loss", "2"]),
    ])
  func twoLines(program: String, arguments: [String]) throws {
    let process = try RunningProcess(program, arguments)
    #expect(try process.waitForExit() == 64)
    let name = URL(fileURLWithPath: program).lastPathComponent
    let lines = process.standardError.split(separator: "\n")
    #expect(lines.count == 2, "\(process.standardError)")
    #expect(lines.first?.hasPrefix("\(name): ") == true)
    #expect(lines.last?.contains("\(name) --help") == true)
  }

  @Test(
    "an unknown option is named before what the others lack because of it",
    arguments: [
      (["--outptu", "a.mp4", "--segment", "10m"], "'--outptu'. Did you mean '--output'?"),
      (["--insecure", "--segment", "10m"], "'--insecure'. Did you mean '--tls-insecure'?"),
    ])
  func unknownOption(options: [String], expected: String) throws {
    let (status, words) = try run(["rtp://:5004"] + options)
    #expect(status == 64)
    #expect(words.contains("Unknown option \(expected)"), "\(words)")
  }

  @Test(
    "an option of FFmpeg is known for what it is",
    arguments: [
      (["-i", "rtp://:5004"], "'-i' is an option of FFmpeg; here the source stands by itself"),
      (["rtp://:5004", "-t", "10"], "here --duration"),
      (["-rtsp_transport", "tcp", "-i", "rtsp://127.0.0.1:9/x"], "here it is --rtsp-transport"),
      (["rtp://:5004", "-o", "a.mp4", "-c:v", "copy"], "here a recording is a copy without it"),
      (["rtp://:5004", "-an", "-o", "a.mp4"], "for an .mp4 without, --stream 0"),
      // ArgumentParser finds the letter of -h in them.
      (["-hide_banner", "-i", "rtp://:5004"], "'-hide_banner' is an option of FFmpeg"),
      (["rtp://:5004", "-threads", "2", "-o", "-"], "here it is --decoder-threads"),
    ])
  func optionOfFFmpeg(arguments: [String], expected: String) throws {
    let process = try RunningProcess(Product.rtpRecv, arguments)
    #expect(try process.waitForExit() == 64)
    #expect(process.standardOutput.isEmpty)
    #expect(process.standardError.contains(expected), "\(process.standardError)")
  }

  @Test(
    "an option with one hyphen instead of two is named",
    arguments: [
      (["-duration", "5"], "Unknown option '-duration'. Did you mean '--duration'?"),
      (["-output", "a.mp4"], "Unknown option '-output'. Did you mean '--output'?"),
      (["-output=a.mp4"], "Unknown option '-output'. Did you mean '--output'?"),
      (["-hello=x"], "Unknown option '-hello'. Did you mean '--hello'?"),
      (["-heartbeat", "x"], "Unknown option '-heartbeat'. Did you mean '--heartbeat'?"),
    ])
  func oneHyphen(arguments: [String], expected: String) throws {
    let (status, words) = try run(["udp://127.0.0.1:9"] + arguments)
    #expect(status == 64)
    #expect(words.contains(expected), "\(words)")
  }

  @Test("help is given however it is asked for", arguments: ["-h", "-help", "--help"])
  func askedHelp(option: String) throws {
    let text = try RunningProcess.output(
      of: Product.rtpRecv, ["rtp://:5004", "-threads", "2", option])
    #expect(String(decoding: text, as: UTF8.self).contains("USAGE: rtp-recv"))
  }

  @Test("a share may be a percentage", arguments: [("50%", true), ("0.5", true), ("101%", false)])
  func shares(loss: String, isOne: Bool) throws {
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "udp://127.0.0.1:\(FreePort.udpPair())", "--frames", "2", "--fast"]
        + ["--loss", loss])
    #expect(try sender.waitForExit() == (isOne ? 0 : 64), "\(sender.standardError)")
  }

  @Test("help lists every option that a transport declares")
  func declaredOptions() throws {
    let process = try RunningProcess(Product.rtpRecv, ["--help"], environment: ["COLUMNS": "80"])
    #expect(try process.waitForExit() == 0)
    let text = String(decoding: process.standardOutput, as: UTF8.self)
    let listed = text.split(separator: "\n").compactMap { $0.split(separator: " ").first }
    for option in TransportCatalogue.standard.options {
      #expect(listed.filter { $0 == "--\(option.name)" }.count == 1, "--\(option.name)")
    }
  }

  @Test("help fits 80 columns", arguments: [Product.rtpRecv, Product.rtpSend])
  func help(program: String) throws {
    let process = try RunningProcess(program, ["--help"], environment: ["COLUMNS": "80"])
    #expect(try process.waitForExit() == 0)
    let text = String(decoding: process.standardOutput, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count > 100)
    for line in lines { #expect(line.count <= 80, "\(line)") }
    // Text wrapped by hand must not be wrapped again.
    for line in lines {
      let isOneWord = !line.contains(" ") && line.contains(where: \.isLowercase)
      guard line.first?.isLowercase == true || isOneWord else { continue }
      Issue.record("a line that has lost its indentation: \(line)")
    }
  }
}
