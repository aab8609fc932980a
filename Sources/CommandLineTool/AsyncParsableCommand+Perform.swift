import ArgumentParser
import Glibc
import OptionNames
import Outputs
import Transports

extension AsyncParsableCommand {
  /// Reads `arguments`, runs to the end, and exits where that was no success.
  static func perform(_ arguments: [String]) async {
    do {
      var command = try parseAsRoot(arguments)
      // After what only prints, such as --version.
      if let fault = LinkedLibrary.firstFault {
        StandardError.say(.error(fault))
        throw ExitStatus.noLibrary.code
      }
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      Glibc.exit(tell(error, about: arguments))
    }
  }

  /// Prints the error, or the requested help, and returns the exit status.
  private static func tell(_ error: any Error, about arguments: [String]) -> Int32 {
    let code = exitCode(for: error)
    switch code {
    case _ where error is ExitCode: break
    case .success:
      if KnownOptions.readsHelp(intoLettersOf: arguments),
        let unknown = unknownOption(among: arguments)
      {
        complain(unknown)
        return ExitCode.validationFailure.rawValue
      }
      do throws(CannotWrite) {
        try StandardOutput.write(fullMessage(for: error) + "\n")
      } catch {
        StandardError.say(.error("\(error)"))
        return ExitStatus.outputFailed.rawValue
      }
    case .validationFailure:
      complain(unknownOption(among: arguments) ?? words(for: error, about: arguments))
    default: StandardError.say(.error(explanation(of: error)))
    }
    return code.rawValue
  }

  /// What `error` says to whoever typed the command.
  static func explanation(of error: any Error) -> String {
    guard !(error is any TransportFault) else { return Verdict.explanation(of: error) }
    let words = message(for: error)
    return words + (RefusedNumber(in: words)?.remedy ?? "")
  }

  /// What is wrong with the first of `arguments` that is an unknown option; `nil` if none is.
  private static func unknownOption(among arguments: [String]) -> String? {
    FFmpegOptions.ofReceiver.complaint(aboutAnyOf: arguments)
      ?? (self == FleetCommand.self ? FleetCommand.complaint(aboutKeysAmong: arguments) : nil)
      ?? KnownOptions(of: self).complaint(aboutAnyOf: arguments)
  }

  /// What ArgumentParser says of `error`, and what to do where the number of sources is wrong.
  static func words(for error: any Error, about arguments: [String]) -> String {
    let words = explanation(of: error)
    guard self == RTPRecv.self else { return words }
    if words.contains("nexpected argument") {
      if words.contains("://") {
        return words + "; several cameras are a fleet: rtp-recv fleet --help"
      }
      let outputs = CommandLineTool.current.outputs
      let output = arguments.first {
        words.contains("'\($0)'")
          && (outputs.format(forPath: $0) ?? outputs.format(forScheme: $0)?.format) != nil
      }
      if let output { return words + "; an output is -o \(output)" }
    }
    if words.contains("Missing expected argument"),
      arguments.contains(where: { $0 == "--sdp" || $0.hasPrefix("--sdp=") })
    {
      return words + "; give the session description as the source, without --sdp"
    }
    return words
  }

  /// Says what is wrong with the command line; 200 lines of help would hide it.
  private static func complain(_ words: String) {
    StandardError.say(.error(words))
    StandardError.write("'\(configuration.commandName ?? "rtp-recv") --help' lists the options.\n")
  }
}
