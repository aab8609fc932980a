/// Shared by all cases of a check.
struct CheckContext: Sendable {
  let subject: any ConformanceSubject
  let packets: TestPackets
  let results: ConformanceResults

  var carrier: Carrier { subject.carrier }
}
