import Foundation
import Impairment
import RTPSend
import Transports

/// The totals, for people and for programs.
struct Summary {
  let report: SendReport
  let seed: UInt64

  init(_ report: SendReport, seed: UInt64) {
    self.report = report
    self.seed = seed
  }

  private var seconds: Double { Double(report.duration / .milliseconds(1)) / 1000 }

  private func milliseconds(_ duration: Duration) -> Double {
    Double(duration / .microseconds(1)) / 1000
  }

  /// One line for people.
  var line: String {
    let network = report.network
    let faults = [
      (network.lost, "lost"), (network.damaged, "damaged"), (network.reordered, "reordered"),
      (network.duplicated, "duplicated"),
      (network.garbage, "garbage"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let sound = report.soundPackets > 0 ? " (\(report.soundPackets) of sound)" : ""
    var line =
      "sent \(report.frames.counted("frame")) in \(network.delivered.counted("packet"))\(sound), "
      + report.bytes.counted("byte")
    line += String(format: ", in %.1f s", seconds)
    if report.lateness > .zero {
      line += String(format: ", at most %.1f ms late", milliseconds(report.lateness))
    }
    if !faults.isEmpty { line += "; \(faults.joined(separator: ", ")) (seed \(seed))" }
    let feedback = report.feedback
    if feedback.requested > 0 {
      line += "; \(feedback.resent) of \(feedback.requested) packets asked for were sent again"
    }
    if report.refusedUnits > 0 {
      line += "; \(report.refusedUnits.counted("NAL unit")) left out, whose type is reserved in RTP"
    }
    if report.skippedUnits > 0 {
      line += "; \(report.skippedUnits) pictures and frames left out for slow clients"
    }
    if feedback.keyPictures > 0 { line += "; \(feedback.keyPictures) key pictures asked for" }
    return line
  }

  /// One line of JSON.
  var json: String {
    let network = report.network
    let fields: [(String, String)] = [
      ("ending", "\"\(report.ending.rawValue)\""), ("frames", "\(report.frames)"),
      ("packets", "\(network.offered)"), ("sound_packets", "\(report.soundPackets)"),
      ("delivered", "\(network.delivered)"),
      ("lost", "\(network.lost)"), ("damaged", "\(network.damaged)"),
      ("reordered", "\(network.reordered)"),
      ("duplicated", "\(network.duplicated)"), ("garbage", "\(network.garbage)"),
      ("datagrams", "\(report.datagrams)"), ("bytes", "\(report.bytes)"),
      ("reports", "\(report.reports)"), ("feedback", "\(report.feedback.compounds)"),
      ("packets_requested", "\(report.feedback.requested)"),
      ("packets_resent", "\(report.feedback.resent)"),
      ("key_pictures_requested", "\(report.feedback.keyPictures)"),
      ("clients", "\(report.clients)"), ("skipped", "\(report.skippedUnits)"),
      ("refused_units", "\(report.refusedUnits)"), ("seed", "\(seed)"),
      ("seconds", String(format: "%.3f", seconds)),
      ("late_ms", String(format: "%.3f", milliseconds(report.lateness))),
    ]
    return "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}\n"
  }
}

extension ReportedReception {
  /// One line for people.
  var line: String {
    func milliseconds(_ duration: Duration) -> String {
      String(format: "%.1f ms", Double(duration / .microseconds(1)) / 1000)
    }
    var line = "\(track): \(lost) packets lost, jitter \(milliseconds(jitter))"
    if let roundTrip { line += ", round trip \(milliseconds(roundTrip))" }
    return line
  }
}
