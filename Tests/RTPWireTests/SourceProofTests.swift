import RTPWire
import Testing

@Suite struct SourceProofTests {
  @Test(
    "two packets in sequence, or nearly so, prove a source",
    arguments: [
      ([1, 2], true), ([2, 1], true), ([65_535, 0], true), ([1, 101], true), ([101, 1], true),
      ([1], false), ([1, 1], false), ([1, 102], false), ([1, 32_769], false),
      ([1, 500, 501], true), ([1, 500, 2], false), ([1, 2, 9000], true),
    ] as [([UInt16], Bool)])
  func proof(numbers: [UInt16], isProven: Bool) {
    var proof = SourceProof()
    var last = false
    for number in numbers { last = proof.note(SequenceNumber(number)) }
    #expect(last == isProven)
    #expect(proof.isComplete == isProven)
  }

  @Test func howNearTheyAreToBeIsTheCallersChoice() {
    var proof = SourceProof(reach: 3)
    #expect(proof.note(SequenceNumber(10)) == false)
    #expect(proof.note(SequenceNumber(14)) == false)
    #expect(proof.note(SequenceNumber(11)) == true)
  }
}
