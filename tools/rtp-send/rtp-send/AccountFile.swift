import BlockingIO
import RTPSend

/// A file of names and passwords, which nobody but its owner may read.
struct AccountFile {
  /// More is no list of accounts.
  private static let longest = 1 << 20

  let accounts: [String: String]

  /// - Throws: ``SendError/invalid(option:reason:)`` when it cannot be read, is open to others, or
  ///   has other lines; the text of the file is in none of them.
  init(_ path: String) throws(SendError) {
    let text: String
    do throws(Secret.Failure) {
      text = try Secret.text(of: path, limit: Self.longest)
    } catch {
      switch error {
      case .unreadable(let reason): throw Self.problem("\(path) cannot be read: \(reason)")
      case .readableByOthers:
        throw Self.problem("\(path) can be read by others than its owner; try: chmod 600 \(path)")
      case .empty: throw Self.problem("\(path) names nobody")
      }
    }
    do throws(RTSPLogin.AccountFault) {
      accounts = try RTSPLogin.accounts(in: text)
    } catch {
      throw Self.problem(
        error.line == 0
          ? "\(path) names nobody"
          : "line \(error.line) of \(path) is not NAME:PASSWORD")
    }
  }

  private static func problem(_ reason: String) -> SendError {
    .invalid(option: "--accounts", reason: "takes a file of accounts: \(reason)")
  }
}
