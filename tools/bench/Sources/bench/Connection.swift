import Foundation
import Glibc

/// Processor time per packet, from RTSP interleaved in TCP to an elementary stream in a file; the
/// server sends as fast as the client reads.
enum Connection {
  /// A client that reads from the server on a port and writes to a file.
  struct Client: Sendable {
    let name: String
    var contender: Contender?
    let command: @Sendable (_ port: String, _ output: String) -> [String]
  }

  struct Result {
    /// Microseconds, user and system.
    let perPacket: Double
    let missing: Double
  }

  static let clients: [Client] = {
    var clients = [
      Client(name: "rtp-recv", contender: .ours) { rtpRecv(Peer.rtpRecv, $0, $1) },
      Client(name: "ffmpeg -c copy", contender: .ffmpeg) { ffmpeg("ffmpeg", $0, $1) },
      Client(name: "gstreamer", contender: .gstreamer) { port, output in
        ["gst-launch-1.0", "-q", "rtspsrc", "location=rtsp://127.0.0.1:\(port)/", "protocols=tcp"]
          + ["latency=0", "!", "rtph264depay", "!", "video/x-h264,stream-format=byte-stream", "!"]
          + ["filesink", "location=\(output)"]
      },
      // The same bytes over HTTP; curl only has to write them.
      Client(name: "curl", contender: .bare) { port, output in
        ["curl", "-s", "-o", output, "http://127.0.0.1:\(port)/"]
      },
    ]
    if let newer = FFmpegProgram.newer {
      clients.append(
        Client(name: "newer ffmpeg -c copy", contender: .newerFFmpeg) { ffmpeg(newer, $0, $1) })
    }
    if let before = Peer.rtpRecvBefore {
      clients.append(
        Client(name: "rtp-recv before", contender: .before) { rtpRecv(before, $0, $1) })
    }
    return clients
  }()

  private static func rtpRecv(
    _ program: String, _ port: String, _ output: String
  ) -> [String] {
    [program, "rtsp://127.0.0.1:\(port)/", "--rtsp-transport", "tcp", "-o", output]
      + ["--format", "h264", "--quiet"]
  }

  private static func ffmpeg(_ program: String, _ port: String, _ output: String) -> [String] {
    [program, "-v", "quiet", "-y", "-rtsp_transport", "tcp", "-i", "rtsp://127.0.0.1:\(port)/"]
      + ["-c", "copy", "-f", "h264", output]
  }

  /// The cost of a packet is the slope between these two counts, so that start-up does not count.
  private static let few = 100_000
  private static let many = 600_000

  /// HTTP progressive, with one chunk per packet.
  private static let httpClients =
    [
      httpClient(Peer.rtpRecv, .ours),
      Client(name: "curl", contender: .bare) { port, output in
        ["curl", "-s", "-o", output, "http://127.0.0.1:\(port)/rtp"]
      },
    ] + (Peer.rtpRecvBefore.map { [httpClient($0, .before)] } ?? [])

  private static func httpClient(_ program: String, _ contender: Contender) -> Client {
    Client(name: contender.rawValue, contender: contender) { port, output in
      [program, "http://127.0.0.1:\(port)/rtp", "-o", output, "--format", "h264", "--quiet"]
    }
  }

  static func reportHTTP(rounds: Int, in folder: String) throws {
    head(
      "Processor time, HTTP progressive → .h264, 1,400-byte packets, medians of \(rounds) rounds",
      ["receiver", "µs a packet", "ratio to curl", "missing"])
    let results = try measure(httpClients, rounds: rounds, in: folder)
    let curl = median(results[1].map(\.perPacket))
    for (client, results) in zip(httpClients, results) {
      let perPacket = median(results.map(\.perPacket))
      row([
        client.name, number(perPacket), number(perPacket / curl),
        number(100 * median(results.map(\.missing)), 3) + " %",
      ])
    }
    figure(
      "Processor time a packet, HTTP to .h264", unit: "µs",
      Figure.Value.of(
        httpClients.map(\.contender), results.map { median($0.map(\.perPacket)) }))
  }

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Processor time, RTSP interleaved → .h264, 1,400-byte packets, medians of \(rounds) rounds",
      ["receiver", "µs a packet", "ratio to ffmpeg", "ratio to curl", "missing"])
    let results = try measure(clients, rounds: rounds, in: folder)
    let ffmpeg = median(results[1].map(\.perPacket))
    let curl = median(results[3].map(\.perPacket))
    for (client, results) in zip(clients, results) {
      let perPacket = median(results.map(\.perPacket))
      row([
        client.name, number(perPacket), number(perPacket / ffmpeg), number(perPacket / curl),
        number(100 * median(results.map(\.missing)), 3) + " %",
      ])
    }
    figure(
      "Processor time a packet, RTSP over TCP to .h264", unit: "µs",
      Figure.Value.of(clients.map(\.contender), results.map { median($0.map(\.perPacket)) }))
  }

  private static func measure(
    _ clients: [Client], rounds: Int, in folder: String
  ) throws -> [[Result]] {
    let stream = try Throughput.stream(in: folder)
    let packets = try stream.write(in: folder)
    let sdp = try stream.describe(port: 0)
    return try inRounds(rounds, clients) { client in
      let output = "\(folder)/interleaved-output.h264"
      defer { try? FileManager.default.removeItem(atPath: output) }
      let (short, _) = try processorTime(
        of: client, packets: packets, sdp: sdp, count: few, output: output)
      let (long, size) = try processorTime(
        of: client, packets: packets, sdp: sdp, count: many, output: output)
      return Result(
        perPacket: (long - short) * 1e6 / Double(many - few),
        missing: max(0, 1 - Double(size) / (stream.payloadBytesPerPacket * Double(many))))
    }
  }

  /// The processor time of a client that receives `count` packets, and the size of its output.
  private static func processorTime(
    of client: Client, packets: String, sdp: String, count: Int, output: String
  ) throws -> (seconds: Double, size: Int) {
    let server = try Running([
      ".build/release/connection-server", packets, sdp, "\(count)", "0",
    ])
    let before = childrensTime()
    let receiver = try Running(client.command(server.readLine(), output))
    _ = receiver.waitUntilExit()
    let after = childrensTime()
    let size = (try? FileManager.default.attributesOfItem(atPath: output)[.size] as? Int) ?? 0
    return (after - before, size)
  }
}
