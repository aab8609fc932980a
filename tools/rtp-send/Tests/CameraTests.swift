import TestSupport
import Testing

@testable import RTPSend

/// Without a camera, libavdevice's own source of pictures takes its place.
@Suite struct CameraTests {
  @Test(arguments: Codec.allCases) func picturesAreEncoded(codec: Codec) async throws {
    var configuration = CameraConfiguration(path: "testsrc2=size=320x180:rate=20,format=yuyv422")
    configuration.format = "lavfi"
    configuration.codec = codec
    configuration.groupLength = 5
    let stream = try LiveStream.camera(configuration, for: .one)
    defer { stream.stop() }
    let contents = try await withDeadline { try await stream.contents() }
    #expect(contents.video?.codec == codec)
    let reader = try LiveVideo(stream)
    var units: [SourceAccessUnit] = []
    try await eventually {
      while units.count < 12, let unit = try reader.next().element { units.append(unit) }
      return units.count == 12
    }
    #expect(units.map(\.presentationTicks) == (0..<12).map { $0 * 4500 })
    #expect(units.map(\.isRandomAccess) == (0..<12).map { $0 % 5 == 0 })
  }

  @Test func aCameraThatIsNotThereIsOneSentence() async throws {
    let stream = try LiveStream.camera(CameraConfiguration(path: "/dev/video77"), for: .one)
    await #expect(
      throws: SendError.cannotOpen(path: "/dev/video77", reason: "No such file or directory")
    ) { try await withDeadline { try await stream.contents() } }
  }
}
