public import ArgumentParser
public import Decode
import OptionNames

extension DecoderThreads: ExpressibleByArgument {
  public init?(argument: String) {
    if argument == "auto" {
      self = .automatic
    } else if let count = Int(argument), (1...Self.most).contains(count) {
      self = .count(count)
    } else {
      return nil
    }
  }
}

/// Whether libavcodec is shut in.
enum Sandbox: String, ExpressibleByArgument, CaseIterable {
  case auto
  case require
  case off

  var box: DecoderBox? { self == .off ? nil : DecoderBox(isRequired: self == .require) }
}

struct DecoderOptions: ParsableArguments {
  /// `nil` if none was typed.
  @Option(
    name: .customLong("decoder-threads"),
    help: ArgumentHelp(
      """
      How many threads decode. auto (the default) is one while that keeps up, and for a recording; \
      then as many as there are processors. They share the slices or rows of each picture, or have \
      a picture each, which then waits for the next ones. N is so many from the beginning, up to \
      \(DecoderThreads.most), with a picture each.
      """, valueName: "auto|n"),
    transform: DecoderThreads.reading(or: "it is auto, or 1 to \(DecoderThreads.most)"))
  var chosenThreads: DecoderThreads?

  @Option(
    help: ArgumentHelp(
      """
      Decode in a process of its own, which reaches no network and no files, and is replaced if it \
      dies, hangs or grows. auto (the default) warns and decodes without it where that is not \
      possible; require decodes nothing there; off is for debugging.
      """, valueName: "auto|require|off"))
  var sandbox = Sandbox.auto

  var threads: DecoderThreads { chosenThreads ?? .automatic }
}
