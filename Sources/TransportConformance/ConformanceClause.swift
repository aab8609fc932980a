/// A clause of the contract of `RTPTransport`.
///
/// No clause is needed for calls before `open`: until then a transport knows no sink.
public enum ConformanceClause: String, Sendable, Hashable, CaseIterable {
  case payload, boundaries, completeness, order, arrivalTimes, tracks
  case eventLoop, description, completedReads, heldBytes
  case backPressure
  case oneEnd, orderlyEnd, failure, closing, nothingAfterEnd, refusedOpening
  case closeAnywhere, opensOnce
  case resources, counters, feedback
  case silentFarEnd, slowFarEnd, hostileFarEnd

  /// The requirement, in one sentence.
  public var meaning: String {
    switch self {
    case .payload: "the bytes of a packet are those that were sent, at every size"
    case .boundaries: "a datagram is one packet, neither a part of one nor several"
    case .completeness: "each packet that the carrier does not lose comes exactly once"
    case .order: "packets come in the order in which they were carried"
    case .arrivalTimes: "arrival times never decrease, and are those of the clock claimed"
    case .tracks: "a datagram says which of the described media it belongs to"
    case .eventLoop: "every call into the sink is made on the event loop"
    case .description: "the media is described before any datagram"
    case .completedReads: "the datagrams of a read are followed by its completion"
    case .heldBytes: "bytes that the sink holds do not change"
    case .backPressure: "holding a transport holds the far end, and loses nothing"
    case .oneEnd: "an opened transport reports its end exactly once"
    case .orderlyEnd: "a far end that has finished is reported as 'ended'"
    case .failure: "a carrier that broke is reported as 'failed', with a reason"
    case .closing: "a transport that was closed reports 'closed'"
    case .nothingAfterEnd: "nothing comes after the end, and only the end after close"
    case .refusedOpening: "when open throws, it says why, and the sink is never called"
    case .closeAnywhere: "close works in any state, from any thread, any number of times"
    case .opensOnce: "opening twice throws, and opening after close"
    case .resources:
      "descriptors, threads, the sink and the transport that it holds are given back"
    case .counters: "counters are true, and can be read in any state"
    case .feedback: "feedback reaches the far end whole"
    case .silentFarEnd: "a silent far end is waited for no longer than the transport says"
    case .slowFarEnd: "nothing is lost when a far end sends byte by byte"
    case .hostileFarEnd: "a hostile far end costs neither the process nor much time or memory"
    }
  }

  /// The capability without which the clause means nothing.
  var capability: Carrier.Capability? {
    switch self {
    case .order: .order
    case .description: .description
    case .backPressure: .backPressure
    case .orderlyEnd: .orderlyEnd
    case .failure: .failure
    case .feedback: .feedback
    case .slowFarEnd: .byteStream
    case .silentFarEnd: .silence
    case .hostileFarEnd: .garbage
    default: nil
    }
  }
}
