import Foundation

/// How close the pictures are to the original when packets are lost for good.
///
/// The figure is the PSNR of the luma against the undamaged decode, the mean over all display
/// times.
enum Quality {
  /// How many streams are sent at once, each to every live peer.
  private static let simultaneous = 4

  static func report(rounds: Int, in folder: String) throws {
    let seeds = rounds > 0 ? Array(1...UInt64(rounds)) : []
    head(
      "Mean luma PSNR (dB) over \(Scene.frames) display times under loss, "
        + "\(Scene.width)×\(Scene.height) at \(Scene.rate)/s, a key picture every 60; seeds "
        + "\(seeds.map(String.init).joined(separator: ", ")); an intact picture counts as "
        + "\(number(DisplayedPictures.bestQuality, 0)) dB; the first \(LossPattern.spared) packets "
        + "always arrive",
      [
        "clip", "codec", "loss", "rtp-recv", "ffmpeg", "gstreamer", "above the better", "asked",
        "intact of \(Scene.frames)", "came",
      ], names: ["clip", "codec", "loss"])
    for kind in chosen(from: Scene.Kind.allCases) {
      for codec in chosen(from: Stream.Codec.allCases) {
        let scene = try Scene(kind, codec, in: folder)
        try checkPeers(with: scene, in: folder)
        for pattern in LossPattern.all {
          let results = try measure(scene, pattern, seeds: seeds, in: folder)
          print(scene, pattern, results)
        }
      }
    }
  }

  /// The `cases` named among the arguments; all of them when none is named.
  private static func chosen<Case: RawRepresentable<String>>(from cases: [Case]) -> [Case] {
    let named = cases.filter { CommandLine.arguments.contains($0.rawValue) }
    return named.isEmpty ? cases : named
  }

  /// Checks that without loss every receiver delivers every frame unchanged; otherwise the figures
  /// would measure something else.
  private static func checkPeers(with scene: Scene, in folder: String) throws {
    let pattern = LossPattern(name: "none", rate: 0, burst: nil)
    for receiver in try measure(scene, pattern, seeds: [0], in: folder) {
      guard receiver.scores.allSatisfy({ $0.intact == Scene.frames }) else {
        throw BenchError(
          description: "\(receiver.name) gives \(receiver.scores.map(\.intact)) of "
            + "\(Scene.frames) frames of \(scene.kind) \(scene.codec) as they are, without loss")
      }
    }
  }

  private typealias Result = (name: String, scores: [DisplayedPictures.Score])

  /// Our results first, then those of the peers; scores are in the order of `seeds`.
  private static func measure(
    _ scene: Scene, _ pattern: LossPattern, seeds: [UInt64], in folder: String
  ) throws -> [Result] {
    var results: [Result] = [("rtp-recv", []), ("ffmpeg", []), ("gstreamer", [])]
    for start in stride(from: 0, to: seeds.count, by: simultaneous) {
      let batch = seeds[start..<min(start + simultaneous, seeds.count)].map {
        pattern.survivors(of: scene, seed: $0)
      }
      for survivors in batch {
        let pictures = try Recorded(scene, survivors, in: folder).play()
        results[0].scores.append(pictures.score(beside: scene.clean))
      }
      let live = try LiveBroadcast(of: scene, to: batch, in: folder).run()
      for pictures in live {
        results[1].scores.append(pictures.ffmpeg.score(beside: scene.clean))
        results[2].scores.append(pictures.gstreamer.score(beside: scene.clean))
      }
    }
    return results
  }

  private static func print(_ scene: Scene, _ pattern: LossPattern, _ results: [Result]) {
    func mean(_ figure: (DisplayedPictures.Score) -> Double) -> [Double] {
      results.map { $0.scores.map(figure).reduce(0, +) / Double($0.scores.count) }
    }
    func listed(_ figure: (DisplayedPictures.Score) -> Int) -> String {
      mean { Double(figure($0)) }.map { number($0, 0) }.joined(separator: " / ")
    }
    let qualities = mean(\.quality)
    let above = qualities[0] - max(qualities[1], qualities[2])
    let isMain = pattern.rate == 0.01 && pattern.burst == nil
    let asked = isMain ? (scene.codec == .h265 ? 5.0 : 2.0) : 0
    row(
      [
        "\(scene.kind), \(number(scene.megabits, 1)) Mbit/s", "\(scene.codec)", pattern.name,
      ] + qualities.map { number($0, 1) } + [
        (above < 0 ? "" : "+") + number(above, 1), "+" + number(asked, 0), listed(\.intact),
        listed(\.came),
      ])
  }
}
