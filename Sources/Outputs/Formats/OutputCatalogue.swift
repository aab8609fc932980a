import Bitstream
package import BlockingIO
public import Decode
import Defragment
import RTPWire

/// A format that can be written, as the command line names it.
public struct OutputFormat: Sendable {
  /// What a format is made from.
  public struct Inputs: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Decoded pictures.
    public static let frames = Inputs(rawValue: 1)
    /// Coded pictures, as access units.
    public static let units = Inputs(rawValue: 2)
    /// Coded sound.
    public static let sound = Inputs(rawValue: 4)
    /// What became of each picture.
    public static let reports = Inputs(rawValue: 8)

    /// Whether any of it comes out of the decoder of pictures, on its thread.
    public var needDecoding: Bool { !isDisjoint(with: [.frames, .reports]) }
  }

  /// What layouts of samples a format of frames can hold.
  public enum Samples: Sendable, Hashable {
    case any
    /// YUV and gray, each component in a plane of its own.
    case planes
    /// What it needs, which it makes itself.
    case own
  }

  /// Whether its items can leave at their own times: decoded pictures, or sound alone.
  public var canBePaced: Bool { inputs.contains(.frames) || inputs == .sound }

  /// The name and usual file ending: `y4m`.
  public let name: String
  /// Other endings that mean the same.
  public let otherEndings: [String]
  public let inputs: Inputs
  public let samples: Samples
  /// What an argument begins with that names it: `shm` for `shm:PATH`; `nil` where the ending does.
  ///
  /// Such an output serves readers that it does not wait for.
  public let scheme: String?
  /// What such an argument stands for, as `--help` has it: `a ring of frames`; empty without a
  /// scheme.
  public let summary: String
  /// Whether it is a recording, to which the options of recordings apply.
  public let isRecording: Bool
  /// Throws what is wrong with an argument that names such an output, as far as that shows before
  /// anything is opened.
  public var check: @Sendable (_ argument: String) throws -> Void = { _ in }
  /// Makes what the output's thread writes to.
  let makeDestination: @Sendable (OutputLane.Configuration, WriteDeadline) -> any OutputDestination

  /// A format of files and pipes; `make` makes an output that begins a new one.
  public init(
    name: String, otherEndings: [String] = [], inputs: Inputs, samples: Samples = .any,
    make: @escaping @Sendable () -> any Output
  ) {
    self.name = name
    self.otherEndings = otherEndings
    self.inputs = inputs
    self.samples = samples
    scheme = nil
    summary = ""
    isRecording = false
    makeDestination = { OutputFiles(make: make, configuration: $0, deadline: $1) }
  }

  /// A format of files and pipes that turns arrivals into UTC.
  init(
    name: String, inputs: Inputs, makeWithClock make: @escaping @Sendable (WallClock) -> any Output
  ) {
    self.init(name: name, inputs: inputs) { configuration, deadline in
      OutputFiles(
        make: { make(configuration.wallClock) }, configuration: configuration, deadline: deadline)
    }
  }

  /// A format whose outputs open their files themselves, on the output's thread.
  init(
    name: String, otherEndings: [String] = [], inputs: Inputs, samples: Samples = .any,
    isRecording: Bool = false,
    makeDestination:
      @escaping @Sendable (OutputLane.Configuration, WriteDeadline) -> any OutputDestination
  ) {
    self.name = name
    self.otherEndings = otherEndings
    self.inputs = inputs
    self.samples = samples
    scheme = nil
    summary = ""
    self.isRecording = isRecording
    self.makeDestination = makeDestination
  }

  /// An output that writes by itself and is named by the argument `scheme:PATH`; `make` is called
  /// on the output's thread.
  public init(
    scheme: String, summary: String, inputs: Inputs, samples: Samples = .any,
    make: @escaping @Sendable (OutputLane.Configuration) -> any OutputDestination
  ) {
    self.init(scheme: scheme, summary: summary, inputs: inputs, samples: samples) {
      configuration, _ in make(configuration)
    }
  }

  /// The same for one that waits for others, until the deadline at the latest.
  package init(
    scheme: String, summary: String, inputs: Inputs, samples: Samples = .any,
    makeWithDeadline:
      @escaping @Sendable (OutputLane.Configuration, WriteDeadline) -> any OutputDestination
  ) {
    name = scheme
    otherEndings = []
    self.inputs = inputs
    self.samples = samples
    self.scheme = scheme
    self.summary = summary
    isRecording = false
    makeDestination = makeWithDeadline
  }
}

extension OutputFormat.Samples {
  /// Whether samples of `format` can be asked for.
  public func includes(_ format: PixelFormat) -> Bool {
    switch (self, format.layout) {
    case (.any, _), (.planes, .yuv): true
    case (.planes, .semiPlanar), (.planes, .gbr), (.planes, .packed), (.own, _): false
    }
  }
}

/// The output formats that can be named.
///
/// A format is a file in this folder and an entry in ``standard``. A program adds its own with
/// ``init(_:)``: `OutputCatalogue(OutputCatalogue.standard.formats + [mine])`.
public struct OutputCatalogue: Sendable {
  /// The formats in this package: frames, an elementary stream of each of its codecs, recordings,
  /// sound, and pictures.
  public static let standard = OutputCatalogue(
    [YUVOutput.format, Y4MOutput.format, FrameRing.format]
      + FormatCatalogue.standard.codecs.map { OutputFormat.elementaryStream(of: $0) }
      + (Container.recordings + Container.sounds).map { OutputFormat.recording(as: $0) }
      + [PCMOutput.format] + PictureFiles.formats + [PictureLinesOutput.format])

  public let formats: [OutputFormat]

  /// Makes a catalogue of `formats`, whose names and endings must differ.
  public init(_ formats: [OutputFormat]) { self.formats = formats }

  /// The format of that name or ending, in upper or lower case.
  public func format(named name: String) -> OutputFormat? {
    let name = name.lowercased()
    return formats.first {
      $0.scheme == nil && ($0.name == name || $0.otherEndings.contains(name))
    }
  }

  /// The format whose scheme `argument` begins with, and the rest of the argument.
  public func format(forScheme argument: String) -> (format: OutputFormat, path: String)? {
    guard let colon = argument.firstIndex(of: ":") else { return nil }
    return formats.first { $0.scheme.map { $0 == argument[..<colon] } ?? false }.map {
      ($0, String(argument[argument.index(after: colon)...]))
    }
  }

  /// The format that the path's ending names; `nil` without a known ending, as for `-`.
  public func format(forPath path: String) -> OutputFormat? {
    OutputTarget.ending(of: path).flatMap { format(named: String($0)) }
  }
}
