import ArgumentParser
import Decode
import Outputs
import Receiver

/// The size and the samples of frames, whatever the stream sends.
struct FrameOptions: ParsableArguments {
  @Option(
    name: .customLong("pixel-format"),
    help: ArgumentHelp(
      """
      Convert frames to \(Self.formatNames). The colours are converted as the stream says; RGB and \
      gray use 0 to 255, the others the stream's range. .y4m holds yuv420p and gray only.
      """, valueName: "name"), completion: .list(PixelFormat.targets.map(\.key)))
  var formatName: String?

  @Option(
    name: .customLong("size"),
    help: ArgumentHelp(
      "Scale pictures to this size; pictures of another shape are stretched.",
      valueName: "WxH"))
  var sizeText: String?

  @Option(
    help: ArgumentHelp(
      """
      Write a picture (.jpg, .png) this often by the stream's clock, such as 500ms, 10s, 5m or 1h. \
      Names without %d or a time get a number: shot-000001.jpg.
      """, valueName: "time"), transform: TimeSpan.read)
  var every: TimeSpan?

  func validate() throws {
    guard formatName == nil || pixelFormat != nil else {
      throw ValidationError(
        "no pixel format named '\(formatName ?? "")'; there are \(Self.formatNames)")
    }
    guard sizeText == nil || size != nil else {
      throw ValidationError(
        "--size is a width and a height, each 1 to \(FrameShape.Size.bounds.upperBound): 640x360")
    }
  }

  /// `requests` with frames of the wanted size and samples.
  ///
  /// Pictures are made of intact frames only, unless a `treatment` of losses was typed that shows
  /// others.
  func applied(
    to requests: [OutputRequest], treatment: LossTreatment?
  ) throws -> [OutputRequest] {
    let typed = [
      ("--pixel-format", formatName != nil), ("--size", sizeText != nil), ("--every", every != nil),
    ]
    for (option, isTyped) in typed {
      guard !isTyped || !requests.isEmpty else { throw UselessOption(option, "needs -o").noted() }
    }
    let ofFrames = requests.filter { $0.format.inputs.contains(.frames) }
    guard
      pixelFormat == nil || ofFrames.isEmpty
        || ofFrames.contains(where: { $0.format.samples != .own })
    else {
      throw UselessOption(
        "--pixel-format", "has no effect with pictures, whose samples are coded"
      ).noted()
    }
    guard every == nil || requests.contains(where: { $0.format.samples == .own }) else {
      throw UselessOption("--every", "is for pictures: -o NAME.jpg or NAME.png").noted()
    }
    return try requests.map { request in
      guard request.format.inputs.contains(.frames) else { return request }
      var request = request
      request.shape.size = size
      if request.format.samples == .own {
        request.pictures.interval = every?.duration
        request.pictures.takesDamaged = treatment != nil && treatment != .skip
        // Runs of a fleet's camera begin unasked.
        request.pictures.goesOn = CommandLineSecrets.ofCamera != nil
        do {
          _ = try NamePattern(request.name, allowsNumbers: true)
        } catch { throw ValidationError("\(request.name): \(error)") }
      }
      if let pixelFormat, request.format.samples != .own {
        guard request.format.samples.includes(pixelFormat) else {
          throw ValidationError(
            "\(request.name.shownPath): .\(request.format.name) cannot "
              + "hold \(formatName ?? ""); "
              + (request.target.isFile ? "try a name that ends in .yuv" : "try --format yuv"))
        }
        request.shape.pixelFormat = pixelFormat
      }
      return request
    }
  }

  private var pixelFormat: PixelFormat? { formatName.flatMap { PixelFormat(named: $0) } }

  private var size: FrameShape.Size? {
    guard let sides = sizeText?.split(separator: "x", omittingEmptySubsequences: false),
      sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1])
    else { return nil }
    return FrameShape.Size(width: width, height: height)
  }

  private static var formatNames: String {
    PixelFormat.targets.map(\.key).joined(separator: ", ")
  }
}
