/// Shared by all cases of a check.
struct CheckContext: Sendable {
  let subject: any ConformanceSubject
  let packets: TestPackets
  let results: ConformanceResults
  let carrier: Carrier

  init(subject: any ConformanceSubject, packets: TestPackets, results: ConformanceResults) {
    self.subject = subject
    self.packets = packets
    self.results = results
    carrier = subject.carrier
  }
}
