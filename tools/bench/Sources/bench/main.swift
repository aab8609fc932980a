import Foundation

// Measures rtp-recv and its peers on the same packets in one run, and prints tables with ratios.
// usage: bench [all] [core] [latency] [throughput] [rate] [start] [interleaved] [http] [replay]
// [srtp] [sessions] [clients] [load] [raw] [ring] [segments] [step] [growing] [decoding] [box]
// [quality] [--rounds N] [--quick]. For quality, names of clips, codecs and codings (camera,
// slices, bframes) select rows, `full` adds losses of 0.1 to 5 %, --films FOLDER adds the films in
// it, and --clips FOLDER keeps the clips. `all` makes every measurement, or those that are named
// beside it, and writes bench.txt, bench.json, bench.md and plots to --output FOLDER (by default
// .build/bench); --readme renews the table in the README. --before PROGRAM measures another
// rtp-recv, such as one from before a change, beside this one. --quick tries whether everything
// works: its figures mean little.

let measurements = [
  Measurement("latency", inAll: 1, Latency.report), Measurement("start", Start.report),
  Measurement("throughput", inAll: 1, Throughput.report),
  Measurement("rate", inAll: 1, LossFreeRate.report),
  Measurement("interleaved", inAll: 2, Connection.report),
  Measurement("http", inAll: 2, Connection.reportHTTP),
  Measurement("replay", inAll: 1, Replay.report),
  Measurement("raw", inAll: 1, RawFrames.report),
  Measurement("ring", inAll: 1, FramesToNumPy.report),
  Measurement("segments", inAll: 1, Segments.report),
  Measurement("sessions", inAll: 1, Sessions.report),
  Measurement("quality", rounds: 2, inAll: 2, Quality.report),
  Measurement("decoding", inAll: 1, Decoding.report), Measurement("box", Box.report),
  Measurement("core", Core.report),
  Measurement("srtp", inAll: 1, Protected.report), Measurement("clients", inAll: 1, Clients.report),
  Measurement("load", inAll: 1, Load.report), Measurement("step", inAll: 1, Step.report),
  Measurement("growing", inAll: 1, Growing.report),
]

let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("rtp-recv-bench-\(ProcessInfo.processInfo.processIdentifier)").path
do {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let wanted = measurements.filter { Arguments.contains($0.name) }
  if Arguments.isAll {
    try Measurement.makeAll(wanted.isEmpty ? measurements : wanted, in: folder)
  } else {
    for measurement in wanted.isEmpty ? measurements : wanted {
      try measurement.make(rounds: Arguments.rounds ?? measurement.rounds, in: folder)
    }
  }
} catch {
  FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
  exit(1)
}
