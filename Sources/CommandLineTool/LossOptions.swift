public import ArgumentParser
public import Decode

extension LossTreatment: ExpressibleByArgument {}

struct LossOptions: ParsableArguments {
  /// `nil` if none was typed.
  @Option(
    name: .customLong("on-loss"),
    help: ArgumentHelp(
      """
      What to do with pictures that are not intact: conceal (the default) fills in what is missing, \
      freeze repeats the last intact picture, skip drops them, corrupt shows them as the decoder \
      returns them.
      """, valueName: "treatment"))
  var chosenTreatment: LossTreatment?

  var treatment: LossTreatment { chosenTreatment ?? .conceal }

  @Flag(
    help: """
      Write exactly one frame for each frame interval, whatever was lost and however the rate varies, \
      by repeating the previous picture: .y4m and pipes, which have no times, keep time. A slow \
      reader makes the decoder wait.
      """)
  var constantRate = false
}
