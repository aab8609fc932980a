import Bitstream
import Defragment
import RTPProcessor
import Receiver
import Reception
import Transports

/// Says once what is found out on the way, by comparing one status with the next.
struct Narrator {
  let isVerbose: Bool
  let isQuiet: Bool
  private let isAsking: Bool
  private var phase: VideoStream.Phase?
  private var format: String?
  private var sourceChanges: UInt64 = 0
  private var sequenceRestarts: UInt64 = 0
  private var kernelDropped: UInt64 = 0
  private var hasWarnedOfBuffer = false
  private var address: String?
  private var delivery: String?
  private var diagnosticsSaid = 0
  private var failureSaid: String?
  private var attemptsSaid: UInt64 = 0
  private var recoveriesSaid: UInt64 = 0
  private var hasSaidUnauthentic = false

  /// `isAsking` when the source is a server that is asked for its stream.
  init(isVerbose: Bool, isQuiet: Bool, isAsking: Bool) {
    self.isVerbose = isVerbose
    self.isAsking = isAsking
    self.isQuiet = isQuiet
  }

  /// What is new in `status`, a line each.
  mutating func remarks(on status: Receiver.Status, receiveBuffer: Int) -> [String] {
    guard !isQuiet else { return [] }
    var remarks: [String] = []
    if let local = status.transport.localAddress, local != address {
      address = local
      // What a listener's sender has to know is of no interest where a server was asked.
      if status.transport.delivery == nil, !isAsking { remarks.append("listening on \(local)") }
    }
    let granted = status.transport.receiveBuffer
    if granted > 0, granted < receiveBuffer, !hasWarnedOfBuffer {
      hasWarnedOfBuffer = true
      remarks.append(
        "warning: the kernel grants a receive buffer of \(granted / 1024) KiB of the "
          + "\(receiveBuffer / 1024) KiB asked for, so bursts may be dropped; "
          + "try: sudo sysctl net.core.rmem_max=\(receiveBuffer)")
    }
    remarks += self.remarks(on: status.connection)
    // A few packets may be somebody else's.
    let hasMedia = status.stream?.reception.received ?? 0 > 0
    if let srtp = status.transport.srtp, srtp.dropped >= 20, !hasSaidUnauthentic, !hasMedia,
      let hint = Verdict.hint(srtp)
    {
      hasSaidUnauthentic = true
      remarks.append("warning: \(hint)")
    }
    // What is lived with concerns whoever looks after the server; a warning concerns everybody.
    for diagnostic in status.transport.diagnostics.dropFirst(diagnosticsSaid)
    where isVerbose || diagnostic.hasPrefix("warning:") {
      remarks.append(diagnostic)
    }
    diagnosticsSaid = max(diagnosticsSaid, status.transport.diagnostics.count)
    guard isVerbose, let stream = status.stream else { return remarks }
    if let way = status.transport.delivery, way != delivery {
      delivery = way
      remarks.append("the media comes over \(way)")
    }
    if phase != stream.phase, case .receiving(let codec, let payloadType) = stream.phase {
      phase = stream.phase
      let type = payloadType.map { ", payload type \($0)" } ?? ""
      remarks.append("receiving \(codec.encodingName)\(type)")
    }
    if let now = stream.format?.summary, now != format {
      format = now
      remarks.append("pictures are \(now)")
    }
    if stream.reception.sourceChanges > sourceChanges {
      sourceChanges = stream.reception.sourceChanges
      remarks.append("the source has changed its SSRC (\(sourceChanges) times now)")
    }
    if stream.reception.sequenceRestarts > sequenceRestarts {
      sequenceRestarts = stream.reception.sequenceRestarts
      remarks.append("the source numbers its packets afresh (\(sequenceRestarts) times now)")
    }
    if status.transport.kernelDropped > kernelDropped {
      kernelDropped = status.transport.kernelDropped
      remarks.append("the kernel has dropped \(kernelDropped) datagrams: its buffer was full")
    }
    return remarks
  }

  /// What is new about the connection: a cause once for as long as it stays the same, each attempt
  /// only for those who want to know all.
  private mutating func remarks(on connection: ConnectionStatus) -> [String] {
    var remarks: [String] = []
    let statistics = connection.statistics
    if isVerbose, statistics.attempts > attemptsSaid {
      remarks.append("connecting again (attempt \(statistics.attempts))")
    }
    attemptsSaid = statistics.attempts
    if statistics.recoveries > recoveriesSaid {
      recoveriesSaid = statistics.recoveries
      failureSaid = nil
      let length = statistics.outages.last { $0.hasEnded }?.length.seconds ?? 0
      remarks.append("media comes again, after \(length.formatted(digits: 1)) s without")
    }
    if let failure = connection.failure.map(Verdict.words), failure != failureSaid {
      failureSaid = failure
      let wait = if case .waiting(let time) = connection.phase { time.seconds } else { 0.0 }
      let time = wait >= 5 ? " in \(wait.formatted(digits: 0)) s" : ""
      remarks.append("\(failure); connecting again\(time)")
    }
    return remarks
  }
}
