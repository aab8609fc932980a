import Testing

@testable import CommandLineTool

/// Rows of a cluster, which anybody may have written who can write to its bucket.
struct FleetClusterTests {
  private static func row(_ more: String) -> String {
    "version: 1\ncameras:\n  front:\n    source: 'rtsp://camera/live?a=1&b=*'\n\(more)"
  }

  @Test func aRowIsACamera() throws {
    let camera = try FleetCluster.camera(
      "front", Self.row("    output: '*&front-%Y.mp4'\n"), isShown: false)
    #expect(camera.name == "front")
  }

  /// What is written into the bucket here must not be what is refused when it is read.
  @Test(arguments: ["north & south *1* it's.mp4", "a \"b\" \\ &c.mp4", "[*a, &b].mp4"])
  func whatAFileSaysIsARow(output: String) throws {
    let file = try FleetFile(
      "version: 1\ncameras:\n  front:\n    source: rtsp://camera/1\n    output: "
        + "'\(output.replacing("'", with: "''"))'\n", path: "cameras.yaml")
    let row = try #require(file.rows["front"])
    let camera = try FleetCluster.camera("front", row, isShown: false)
    #expect(camera.secrets.arguments.contains { $0.hasSuffix(output) }, "\(row)")
  }

  /// Each alias doubles what a parser compares.
  private static let doublingAliases =
    "    a0: &a0 [x, x]\n"
    + (1...60).map { "    a\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]\n" }.joined()
    + "    ? *a60\n    : 1\n"

  @Test(
    "anchors and aliases are refused before they are read",
    arguments: [
      doublingAliases, "    output: &a x.mp4\n", "    output: *a\n", "    expect: [*a]\n",
      "    *a : 1\n", "    {\"a\":*a}\n", "\t&a\n",
    ])
  func aliases(more: String) {
    let fault = #expect(throws: FleetFile.Fault.self) {
      try FleetCluster.camera("front", Self.row(more), isShown: false)
    }
    #expect(fault?.words == "a row has no anchors and no aliases")
  }

  @Test func aRowOfAnotherCameraIsRefused() {
    #expect(throws: FleetFile.Fault.self) {
      try FleetCluster.camera("back", Self.row("    output: x.mp4\n"), isShown: false)
    }
  }
}
