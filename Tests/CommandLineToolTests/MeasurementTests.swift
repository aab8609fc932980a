import Testing

@testable import CommandLineTool

/// What is as expected.
struct MeasurementTests {
  @Test(
    arguments: [
      ("loss=0", 0, true), ("loss<=0%", 0, true), ("loss=0", 1 / 2_200_000, false),
      ("loss<=0%", 1 / 2_200_000, false), ("loss<=1%", 0.1 / 3 * 0.3, true),
      ("fps=30", 0.1 * 300, true), ("fps=30", 29.99, false),
    ] as [(String, Double, Bool)])
  func whatIsAsExpected(rule: String, measured: Double, isMet: Bool) throws {
    let expectation = try #require(try Expectation.list(rule).first)
    #expect(expectation.isMet(by: .number(measured)) == isMet)
  }

  @Test(
    "frames of a condition are counted, or are a share of all",
    arguments: [
      ("intact=100%", 118, true), ("intact=100%", 117, false), ("intact>=90%", 107, true),
      ("intact>=90%", 106, false), ("intact=106", 106, true), ("damaged=0%", 1, false),
    ] as [(String, Double, Bool)])
  func shareOfFrames(rule: String, measured: Double, isMet: Bool) throws {
    let expectation = try #require(try Expectation.list(rule).first)
    #expect(expectation.isMet(by: .part(measured, of: 118)) == isMet)
  }
}
