import TransportConformance

/// What a transport can get wrong, and the clause that is about it.
enum Defect: String, CaseIterable, Sendable {
  case changesAByte, gluesTwo, cutsADatagram, losesAPacket, repeatsAPacket, swapsTwo
  case saysAnotherTrack, goesBackInTime, usesAnotherClock, callsOnAnotherThread
  case describesLate, neverDescribes, neverCompletesReads, reusesTheBuffer
  case ignoresHold, keepsWhileHeld, losesWhileHeld
  case endsTwice, neverEnds
  case saysFailedWhenItEnded, saysEndedWhenItFailed, saysEndedWhenClosed
  case callsBehindTheEnd, closesLater, endsAlthoughOpenThrew
  case closesOnlyOnTheLoop, hangsWhenClosedWhileOpening, opensTwice, opensAfterClose
  case leaksADescriptor, leaksAThread, keepsTheSink, holdsTheSinkThatHoldsIt
  case countsWrongly, forgetsItsCounters, losesFeedback
  case neverTiresOfSilence, losesWhatComesSlowly, remembersGarbage

  var clause: ConformanceClause {
    switch self {
    case .changesAByte: .payload
    case .gluesTwo, .cutsADatagram: .boundaries
    case .losesAPacket, .repeatsAPacket: .completeness
    case .swapsTwo: .order
    case .saysAnotherTrack: .tracks
    case .goesBackInTime, .usesAnotherClock: .arrivalTimes
    case .callsOnAnotherThread: .eventLoop
    case .describesLate, .neverDescribes: .description
    case .neverCompletesReads: .completedReads
    case .reusesTheBuffer: .heldBytes
    case .ignoresHold, .keepsWhileHeld, .losesWhileHeld: .backPressure
    case .endsTwice, .neverEnds: .oneEnd
    case .saysFailedWhenItEnded: .orderlyEnd
    case .saysEndedWhenItFailed: .failure
    case .saysEndedWhenClosed: .closing
    case .callsBehindTheEnd, .closesLater: .nothingAfterEnd
    case .endsAlthoughOpenThrew: .refusedOpening
    case .closesOnlyOnTheLoop, .hangsWhenClosedWhileOpening: .closeAnywhere
    case .opensTwice, .opensAfterClose: .opensOnce
    case .leaksADescriptor, .leaksAThread, .keepsTheSink, .holdsTheSinkThatHoldsIt: .resources
    case .countsWrongly, .forgetsItsCounters: .counters
    case .losesFeedback: .feedback
    case .neverTiresOfSilence: .silentFarEnd
    case .losesWhatComesSlowly: .slowFarEnd
    case .remembersGarbage: .hostileFarEnd
    }
  }
}
