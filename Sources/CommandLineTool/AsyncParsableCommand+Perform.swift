import ArgumentParser
import Glibc
import OptionNames
import Transports

extension AsyncParsableCommand {
  /// Reads `arguments`, runs to the end, and exits where that was no success.
  static func perform(_ arguments: [String]) async {
    do {
      var command = try parseAsRoot(arguments)
      // After what only prints, such as --version.
      if let fault = LinkedLibrary.all.lazy.compactMap(\.fault).first {
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
      do throws(CannotWrite) {
        try StandardOutput.write(fullMessage(for: error) + "\n")
      } catch {
        StandardError.say(.error("\(error)"))
        return ExitStatus.outputFailed.rawValue
      }
    case .validationFailure:
      // 200 lines of help would hide the mistake.
      let unknown =
        FFmpegOptions.ofReceiver.complaint(aboutAnyOf: arguments)
        ?? KnownOptions(of: self).complaint(aboutAnyOf: arguments)
      StandardError.say(.error(unknown ?? message(for: error)))
      StandardError.write(
        "'\(configuration.commandName ?? "rtp-recv") --help' lists the options.\n")
    default: StandardError.say(.error(message(for: error)))
    }
    return code.rawValue
  }
}
