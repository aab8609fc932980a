import Foundation

/// What a packet of a capture costs: user time alone, to an elementary stream that goes nowhere.
///
/// The system has little part in it, so this is the core with the reader of captures.
enum Replay {
  /// The cost of a packet is the slope between these two counts, so that start-up does not count.
  private static let counts = [50_000, 300_000]

  private static let programs =
    [(contender: Contender.ours, path: Peer.rtpRecv)]
    + (Peer.rtpRecvBefore.map { [(.before, $0)] } ?? [])

  static func report(rounds: Int, in folder: String) throws {
    head(
      "User time, a capture → .h264 in /dev/null, 1,400-byte packets, medians of \(rounds) rounds",
      ["receiver", "µs a packet"])
    let stream = try Throughput.stream(in: folder)
    let captures = try counts.map { try write($0, of: stream, in: folder) }
    let results = try inRounds(rounds, programs) { program in
      let times = try captures.map { capture in
        let before = childrensUserTime()
        try run([
          program.path, capture, "-o", "/dev/null", "--format", "h264", "--quiet",
        ])
        return childrensUserTime() - before
      }
      return (times[1] - times[0]) * 1e6 / Double(counts[1] - counts[0])
    }
    for (program, results) in zip(programs, results) {
      row([program.contender.rawValue, number(median(results))])
    }
    figure(
      "User time a packet of a capture, to .h264", unit: "µs",
      Figure.Value.of(programs.map(\.contender), results.map { median($0) }))
  }

  /// An rtpdump file of so many packets: the stream again and again, with numbers and times that go
  /// on.
  private static func write(_ count: Int, of stream: Stream, in folder: String) throws -> String {
    let path = "\(folder)/\(count).rtpdump"
    var data = Data("#!rtpplay1.0 127.0.0.1/5004\n".utf8) + Data(count: 16)
    data.reserveCapacity(count * 1500)
    let ticks = UInt32(stream.packets.count { $0[1] & 0x80 != 0 }) * 3000
    for number in 0..<count {
      var packet = stream.packets[number % stream.packets.count]
      let round = UInt32(number / stream.packets.count)
      let first = stream.packets[0]
      put(UInt16(truncatingIfNeeded: number), at: 2, of: &packet)
      let time = packet[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
      put(time &+ round &* ticks, at: 4, of: &packet)
      packet.replaceSubrange(8..<12, with: first[8..<12])
      var head = [UInt8](repeating: 0, count: 8)
      put(UInt16(packet.count + 8), at: 0, of: &head)
      put(UInt16(packet.count), at: 2, of: &head)
      put(UInt32(number / 20), at: 4, of: &head)
      data.append(contentsOf: head + packet)
    }
    try data.write(to: URL(fileURLWithPath: path))
    return path
  }

  private static func put(
    _ value: some FixedWidthInteger, at place: Int, of bytes: inout [UInt8]
  ) {
    withUnsafeBytes(of: value.bigEndian) {
      bytes.replaceSubrange(place..<(place + $0.count), with: $0)
    }
  }

  /// The user time of all child processes that have ended, in seconds.
  private static func childrensUserTime() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_CHILDREN.rawValue, &usage)
    return Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6
  }
}
