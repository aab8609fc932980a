import Decode
import Foundation
public import Outputs

/// `tally:PATH`: how many frames of each size came, as an output of another package that writes by
/// itself.
public final class TallyOutput: OutputDestination {
  public static let format = OutputFormat(
    scheme: "tally", summary: "a list of sizes with their counts of frames", inputs: .frames
  ) { TallyOutput($0) }

  public private(set) var progress = OutputProgress()
  private let path: String
  private var counts: [String: Int] = [:]

  init(_ configuration: OutputLane.Configuration) {
    path = if case .path(let path) = configuration.target { path } else { "" }
  }

  public func open(whenReaderIsLate noteDelay: () -> Void) throws {
    try Data().write(to: URL(fileURLWithPath: path))
    progress.files = [path]
  }

  public func write(_ items: [OutputItem]) {
    for case .frame(let frame) in items {
      counts["\(frame.width)x\(frame.height)", default: 0] += 1
      progress.written += 1
    }
  }

  public func finish() throws {
    let lines = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
    progress.bytes = lines.utf8.count
  }

  public func close() {}
}
