import Foundation

/// BGR frames of an RTSP stream in NumPy: what they cost, and how old they are when they are there.
enum FramesToNumPy {
  struct Way: Sendable {
    let name: String
    /// What the script calls it.
    let argument: String
  }

  struct Result {
    /// Milliseconds of processor time for each picture that was sent.
    let cost: Double
    /// Milliseconds.
    let age: Double
  }

  static let ways = [
    Way(name: "ring, view()", argument: "view"), Way(name: "ring, latest()", argument: "latest"),
    Way(name: "pipe", argument: "pipe"),
    Way(name: "OpenCV's VideoCapture", argument: "opencv"),
  ]

  /// How long a measurement takes, and how long the clip is, in seconds.
  private static let time = 8.0
  private static let clipTime = 16
  /// How long the slow reader computes on each frame, in seconds; no multiple of the interval.
  private static let slow = 0.21

  static func report(rounds: Int, in folder: String) throws {
    let python = "../../.build/python/bin/python"
    guard FileManager.default.isExecutableFile(atPath: python) else {
      throw BenchError(description: "there is no OpenCV in .build/python, which tools/setup makes")
    }
    let clip = try clip(in: folder)
    head(
      "BGR frames in NumPy, RTSP in TCP, 1080p30 H.264, medians of \(rounds) rounds",
      [
        "way", "ms of processor time a frame", "ratio to OpenCV", "age (ms)",
        "age with a slow reader (ms)",
      ],
      names: ["way"])
    let fast = try inRounds(rounds, ways) {
      try measure($0, pause: 0, clip: clip, python: python, in: folder)
    }
    let slow = try inRounds(rounds, ways) {
      try measure($0, pause: Self.slow, clip: clip, python: python, in: folder)
    }
    let openCV = median(fast[ways.count - 1].map(\.cost))
    for (index, way) in ways.enumerated() {
      let cost = median(fast[index].map(\.cost))
      row([
        way.name, number(cost), number(cost / openCV), number(median(fast[index].map(\.age)), 0),
        number(median(slow[index].map(\.age)), 0),
      ])
    }
    // A pointer into the ring is what a program in Python would take.
    let contenders: [Contender?] = [.ours, nil, nil, .openCV]
    func report(_ what: String, _ results: [[Result]], _ value: (Result) -> Double) {
      let medians = results.map { median($0.map(value)) }
      figure(
        "\(what), BGR of 1080p30 in NumPy", unit: "ms", Figure.Value.of(contenders, medians))
    }
    report("Processor time a frame", fast, \.cost)
    report("Age of a frame", fast, \.age)
    report("Age of a frame with a slow reader", slow, \.age)
  }

  /// A clip in whose first rows sixteen squares are the number of the picture.
  private static func clip(in folder: String) throws -> String {
    let path = "\(folder)/numbered.mp4"
    let isSquare = "lt(Y,32)*lt(X,512)"
    let bit = "255*mod(floor(N/pow(2,floor(X/32))),2)"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30"]
        + ["-vf"]
        + [
          "geq=lum='if(\(isSquare),\(bit),lum(X,Y))':cb='if(\(isSquare),128,cb(X,Y))'"
            + ":cr='if(\(isSquare),128,cr(X,Y))'"
        ]
        + ["-t", "\(clipTime)", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast"]
        + ["-bf", "0", "-b:v", "6M", "-g", "60", path])
    return path
  }

  private static func measure(
    _ way: Way, pause: Double, clip: String, python: String, in folder: String
  ) throws -> Result {
    let times = "\(folder)/times"
    let server = try Running(["/usr/bin/python3", "timed-rtsp-server.py", clip, times])
    let url = "rtsp://127.0.0.1:\(server.readLine())/stream"
    let reader = try Running([
      python, "frames-to-numpy.py", way.argument, url, times, "\(time)", "\(pause)", Peer.rtpRecv,
    ])
    let numbers = reader.waitUntilExit().split(separator: " ").compactMap { Double($0) }
    guard numbers.count == 3 else { throw BenchError(description: "no frames by \(way.name)") }
    return Result(cost: numbers[0], age: numbers[1])
  }
}
