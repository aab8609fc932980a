import Foundation

/// How close the pictures are to the original when packets are lost for good.
///
/// The figure is the PSNR of the luma against the undamaged decode, the mean over all display
/// times.
enum Quality {
  private static let players: [(name: String, type: any Player.Type)] = [
    ("rtp-recv", OurPlayer.self), ("ffmpeg", FFmpegPlayer.self),
    ("gstreamer", GStreamerPlayer.self),
  ]

  static func report(rounds: Int, in folder: String) throws {
    let seeds = rounds > 0 ? Array(1...UInt64(rounds)) : []
    let isFull = Arguments.contains("full")
    var contents = chosen(
      from: try SceneContent.all(films: Arguments.value(of: "--films")), by: \.name)
    if Arguments.isAll { contents = contents.filter { ["moving", "still"].contains($0.name) } }
    if Arguments.isQuick { contents = Array(contents.prefix(1)) }
    let codecs = chosen(from: Stream.Codec.allCases, by: \.rawValue)
    var named = SceneCoding.allCases.filter { Arguments.contains($0.rawValue) }
    // The time of a run of everything is for more losses of fewer codings.
    if Arguments.isAll, named.isEmpty { named = [.camera] }
    let patterns = isFull ? LossPattern.all : LossPattern.few
    let clips = Arguments.value(of: "--clips") ?? folder
    try FileManager.default.createDirectory(atPath: clips, withIntermediateDirectories: true)
    head(
      "Mean luma PSNR (dB) and SSIM over all display times under loss, 30 pictures a second; seeds "
        + "\(seeds.map(String.init).joined(separator: ", ")); an intact picture counts as "
        + "\(number(DisplayedPictures.bestQuality, 0)) dB; the first \(LossPattern.spared) packets "
        + "always arrive",
      ["clip", "codec", "coding", "loss", "rtp-recv", "ffmpeg", "gstreamer", "above the better"]
        + ["asked", "SSIM", "intact", "came"], names: ["clip", "codec", "coding", "loss"])
    for content in contents {
      // Unless codings are named, all of them for what moves most, one for the others.
      let codings =
        !named.isEmpty ? named : content.name == "moving" ? SceneCoding.allCases : [.camera]
      for codec in codecs {
        for coding in codings {
          let scene = try Scene(content, codec, coding, in: clips)
          try checkPeers(with: scene, in: folder)
          for pattern in patterns {
            print(scene, pattern, try measure(scene, pattern, seeds: seeds, in: folder))
          }
        }
      }
    }
  }

  /// The `cases` named among the arguments; all of them when none is named.
  private static func chosen<Case>(from cases: [Case], by name: (Case) -> String) -> [Case] {
    let named = cases.filter { Arguments.contains(name($0)) }
    return named.isEmpty ? cases : named
  }

  /// Checks that without loss every receiver delivers every frame unchanged; otherwise the figures
  /// would measure something else.
  private static func checkPeers(with scene: Scene, in folder: String) throws {
    for receiver in try measure(scene, .none, seeds: [0], in: folder) {
      guard receiver.scores.allSatisfy({ $0.intact == scene.frames }) else {
        throw BenchError(
          description: "\(receiver.name) gives \(receiver.scores.map(\.intact)) of "
            + "\(scene.frames) frames of \(scene.content.name) \(scene.codec) \(scene.coding) as "
            + "they are, without loss")
      }
    }
  }

  private typealias Result = (name: String, scores: [DisplayedPictures.Score])

  /// Our results first, then those of the peers; scores are in the order of `seeds`.
  private static func measure(
    _ scene: Scene, _ pattern: LossPattern, seeds: [UInt64], in folder: String
  ) throws -> [Result] {
    var results: [Result] = players.map { ($0.name, []) }
    for seed in seeds {
      let recorded = try Recorded(scene, pattern.survivors(of: scene, seed: seed), in: folder)
      let running = try players.map { try $0.type.init(recorded, in: folder) }
      for (index, player) in running.enumerated() {
        results[index].scores.append(try player.finish().score(beside: scene))
      }
    }
    return results
  }

  private static func print(_ scene: Scene, _ pattern: LossPattern, _ results: [Result]) {
    func mean(_ figure: (DisplayedPictures.Score) -> Double) -> [Double] {
      results.map { $0.scores.map(figure).reduce(0, +) / Double($0.scores.count) }
    }
    func listed(_ digits: Int, _ figure: (DisplayedPictures.Score) -> Double) -> String {
      mean(figure).map { number($0, digits) }.joined(separator: " / ")
    }
    let qualities = mean(\.quality)
    let above = qualities[0] - max(qualities[1], qualities[2])
    let isMain = pattern.rate == 0.01 && pattern.burst == nil
    let asked = isMain ? (scene.codec == .h265 ? 4.0 : 2.0) : 0
    row(
      [
        "\(scene.content.name), \(number(scene.megabits, 1)) Mbit/s", "\(scene.codec)",
        "\(scene.coding)", pattern.name,
      ] + qualities.map { number($0, 1) } + [
        (above < 0 ? "" : "+") + number(above, 1), "+" + number(asked, 0),
        listed(3, \.similarity), listed(0) { Double($0.intact) }, listed(0) { Double($0.came) },
      ])
    figure(
      "PSNR of \(scene.content.name) \(scene.codec), loss of \(pattern.name)", unit: "dB",
      isLowerBetter: false, Array(zip([.ours, .ffmpeg, .gstreamer], qualities)))
  }
}
