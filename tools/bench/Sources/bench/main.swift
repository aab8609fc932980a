import Foundation

// Measures rtp-recv and its peers on the same packets in one run, and prints tables with ratios.
// usage: bench [core] [latency] [throughput] [start] [interleaved] [http] [srtp] [sessions]
// [clients] [load] [raw] [ring] [segments] [step] [growing] [decoding] [quality] [--rounds N]; for
// quality, names of clips, codecs and codings (camera, slices, bframes) select rows, `full` adds
// losses of 0.1 to 5 %, --films FOLDER adds the films in it, and --clips FOLDER keeps the clips

let measurements: [(name: String, rounds: Int, report: (Int, String) throws -> Void)] = [
  ("core", 3, Core.report), ("latency", 3, Latency.report), ("throughput", 3, Throughput.report),
  ("start", 3, Start.report),
  ("interleaved", 3, Connection.report), ("http", 3, Connection.reportHTTP),
  ("srtp", 3, Protected.report), ("sessions", 3, Sessions.report), ("clients", 3, Clients.report),
  ("load", 3, Load.report), ("raw", 3, RawFrames.report), ("ring", 3, FramesToNumPy.report),
  ("segments", 3, Segments.report), ("step", 3, Step.report), ("growing", 3, Growing.report),
  ("decoding", 3, Decoding.report),
  ("quality", 2, Quality.report),
]
let arguments = CommandLine.arguments.dropFirst()
let rounds =
  arguments.firstIndex(of: "--rounds").flatMap { index in
    index + 1 < arguments.endIndex ? Int(arguments[index + 1]) : nil
  }
let wanted = measurements.filter { arguments.contains($0.name) }
let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("rtp-recv-bench-\(ProcessInfo.processInfo.processIdentifier)").path
do {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  for measurement in wanted.isEmpty ? measurements : wanted {
    try measurement.report(rounds ?? measurement.rounds, folder)
  }
  try FileManager.default.removeItem(atPath: folder)
} catch {
  FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
  exit(1)
}
