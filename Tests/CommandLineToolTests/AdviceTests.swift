import Glibc
import RTPWire
import Receiver
import Testing
import Transports

@testable import CommandLineTool
@testable import Outputs

/// What is said of faults: by the libraries, which know no options of the command line, and there.
struct AdviceTests {
  private static let login = "; give them with --user and --password-file, or in the URL"
  private static let list = "; --list shows what there is"

  private static let faults: [(any TransportFault, String, String)] = [
    (
      TransportError.source("x.mp4", .noSuchFile),
      """
      cannot use 'x.mp4' as a source: there is no such file; a stream has a URL, as in \
      rtsp://host/path or rtp://:5004
      """, ", or a --transport"
    ),
    (
      TransportError.source("rtsp://camera", .unescapedCredentials),
      """
      cannot use 'rtsp://camera' as a source: a '/' or '?' in a user name or password is written \
      %2F or %3F, and '@' %40
      """, "; or give them with --user and --password-file"
    ),
    (
      TransportError.noUsableMedia(described: ["audio (PCMU)"], usable: ["H264", "H265"]),
      """
      the session description has audio (PCMU), and nothing that can be received here (H264, H265)
      """, "; --list shows all of it"
    ),
    (
      TransportError.noSuchMedia(number: 7),
      "the session description has no stream 7 with a port", "; --list shows them"
    ),
    (TransportError.closed, "the transport was closed while it was being opened", ""),
    (
      RTSPError.credentialsMissing(realm: "camera"),
      "the server wants a user name and a password for 'camera'", login
    ),
    (HTTPError.credentialsMissing, "the server wants a user name and a password", login),
    (ONVIFError.credentialsMissing, "the camera wants a user name and a password", login),
    (RTSPError.noVideo, "the server describes no video", list),
    (RTSPError.noSuchStream(number: 7), "the server describes no stream 7", list),
    (
      RTSPError.noKnownMedia,
      "the server describes no video, and no sound whose coding is known here", list
    ),
    (
      RTSPError.refused(method: "DESCRIBE", status: 404, reason: "Not Found"),
      "the server answered DESCRIBE with 404 Not Found; check the path in the URL",
      "; of a camera that speaks ONVIF, 'rtp-recv onvif://HOST --list' shows it"
    ),
    (
      ONVIFError.noSuchProfile("third", known: ["main", "sub"]),
      "the camera has no profile 'third'; there are main, sub", ", and --list shows them"
    ),
  ]

  @Test("what keeps a stream from coming", arguments: faults)
  func transport(fault: any TransportFault, words: String, advice: String) {
    #expect("\(fault)" == words)
    #expect(Verdict.explanation(of: fault) == words + advice)
    #expect(RTPRecv.explanation(of: fault) == words + advice)
    let isLogin = advice == Self.login
    #expect(
      Verdict.words(for: fault, advice: "say who you are")
        == (isLogin
          ? "the server wants a user name and a password; say who you are" : words + advice))
  }

  private static func geometry(_ width: Int) -> RawFrame.Geometry {
    RawFrame.Geometry(width: width, height: 240, pixelFormat: .yuv420p)
  }

  private static let outputFaults: [(any OutputFault, String, String)] = [
    (
      OutputError.formatChanged(from: geometry(320), to: geometry(640)),
      """
      a is a pipe and cannot change its format: the pictures went from 320x240 yuv420p to 640x240 \
      yuv420p
      """, "; try --scale-to-first, or write a file"
    ),
    (
      OutputError.unsupportedPixelFormat(name: "gbrp"),
      "a: its format cannot hold pictures of gbrp", "; try --format yuv"
    ),
    (
      OutputError.noIntactPicture(of: 3), "a: no picture of 3 was intact",
      "; --on-loss skip waits for one, and --on-loss conceal takes any"
    ),
    (
      RecordingError.incomplete(holes: 2, because: .noIntactPicture(of: 3)),
      "the recording has 2 holes: a: no picture of 3 was intact",
      "; --on-loss skip waits for one, and --on-loss conceal takes any"
    ),
    (
      RingError.noMemory(bytes: 3 << 20, errno: ENOMEM),
      "a: there is no memory for a ring of 3 MiB: Cannot allocate memory",
      "; try a smaller --size"
    ),
    (OutputError.noReader, "nobody has opened a to read it", ""),
    (OutputError.inUse, "a is being written by another program; choose another name", ""),
    (OutputError.writeFailed(errno: ENOSPC), "a cannot be written: No space left on device", ""),
    (
      OutputError.fileBrokeOff(errno: ENOSPC),
      "a cannot be written: No space left on device; the file ends on its last whole frame", ""
    ),
    (
      OutputError.pictureLeftOut(path: "a-2.jpg", errno: ENOSPC),
      "a-2.jpg cannot be written: No space left on device; this picture is left out", ""
    ),
  ]

  @Test("what ends an output", arguments: outputFaults)
  func output(fault: any OutputFault, words: String, advice: String) {
    #expect(fault.words(about: "a") == words)
    #expect(Verdict.explanation(of: fault, about: "a") == words + advice)
  }

  @Test("sound that becomes another kind of the same codec")
  func conversion() {
    let change = SoundChange(from: "aac", to: "aac", container: "ts")
    #expect(
      Remark(.soundConverted(change), isVerbose: false)?.words
        == "the sound is a kind of aac that ts cannot hold; it is encoded anew")
  }

  @Test("why a file of sound ends that is as long as files are to be")
  func segment() {
    let ending = FileEnding(reason: .time, duration: 60, frames: 1500, isSoundOnly: true)
    let file = RecordedFile(
      path: "a.mp4", start: WallClockTime(nanoseconds: 0), ending: ending, bytes: 1)
    #expect(
      Remark(.fileEnded(file), isVerbose: false)?.words
        == "a.mp4 ends after 60.0 s, 1500 pieces of sound: the file is as long as --segment says")
    #expect(FileReason.allCases.allSatisfy { !$0.words.contains("--") })
  }
}
