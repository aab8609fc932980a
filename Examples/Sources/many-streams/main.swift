// Receives many streams in one process, counts their access units, and reports losses.
//
// Usage: many-streams SECONDS SOURCE…
// For example: many-streams 10 rtsp://camera-1/ rtsp://camera-2/
import Foundation
import NIOPosix
import RTPProcessor
import Receiver
import Reception
import Synchronization
import Transports

let arguments = CommandLine.arguments.dropFirst()
guard let seconds = arguments.first.flatMap(Double.init), arguments.count > 1 else {
  print("usage: many-streams SECONDS SOURCE…")
  exit(64)
}

let accessUnits = Atomic<Int>(0)
let reports = await withTaskGroup(of: Receiver.Report?.self) { group in
  for source in arguments.dropFirst() {
    group.addTask {
      do {
        // Event loops are shared: a few threads serve all streams.
        let transport = try TransportCatalogue.standard.make(
          source: source, on: MultiThreadedEventLoopGroup.singleton.next())
        var configuration = Receiver.Configuration()
        configuration.duration = .seconds(seconds)
        // With `onFrame` instead, each stream would have a decoder and its thread.
        configuration.onAccessUnit = { _ in accessUnits.add(1, ordering: .relaxed) }
        return try await Receiver(transport: transport, configuration: configuration).run()
      } catch {
        print("\(source): \(error)")
        return nil
      }
    }
  }
  var reports: [Receiver.Report?] = []
  for await report in group { reports.append(report) }
  return reports
}

let streams = reports.compactMap { $0?.status.stream?.reception }
print(
  "\(streams.count { $0.delivered > 0 }) of \(reports.count) streams,",
  "\(accessUnits.load(ordering: .relaxed)) access units,",
  "\(streams.reduce(0) { $0 + $1.delivered }) packets,",
  "\(streams.reduce(0) { $0 + $1.lost }) lost")
