import Foundation

// Measures rtp-recv beside its peers on the same packets in one run, and prints tables with ratios.
// usage: bench [latency] [throughput] [start] [interleaved] [http] [srtp] [sessions] [--rounds N]

let measurements: [(name: String, report: (Int, String) throws -> Void)] = [
  ("latency", Latency.report), ("throughput", Throughput.report), ("start", Start.report),
  ("interleaved", Connection.report), ("http", Connection.reportHTTP), ("srtp", Protected.report),
  ("sessions", Sessions.report),
]
let arguments = CommandLine.arguments.dropFirst()
let rounds =
  arguments.firstIndex(of: "--rounds").flatMap { index in
    index + 1 < arguments.endIndex ? Int(arguments[index + 1]) : nil
  } ?? 3
let wanted = measurements.filter { arguments.contains($0.name) }
let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("rtp-recv-bench-\(ProcessInfo.processInfo.processIdentifier)").path
do {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  for measurement in wanted.isEmpty ? measurements : wanted {
    try measurement.report(rounds, folder)
  }
  try FileManager.default.removeItem(atPath: folder)
} catch {
  FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
  exit(1)
}
