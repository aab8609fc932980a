import BlockingIO
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import Outputs

/// Many records at once, as an hour of silence is.
@Suite struct RecordWriterTests {
  private static func records(_ count: Int) -> [OutputRecord] {
    (0..<count).map { number in
      var bytes = ByteBuffer()
      bytes.writeInteger(UInt32(number))
      // Pieces without bytes are written too.
      return OutputRecord(pieces: [.bytes(ByteBuffer()), .bytes(bytes)])
    }
  }

  @Test("any number of records is written with one call", arguments: [0, 1, 1023, 1025, 100_000])
  func many(count: Int) throws {
    let folder = try TemporaryFolder()
    let deadline = WriteDeadline()
    let writer = RecordWriter(
      to: try FileWriter(opening: folder("a"), until: deadline), deadline: deadline)
    // Bytes of an earlier run go.
    try writer.write([OutputRecord(pieces: [.bytes(ByteBuffer(string: "begin"))])])
    try writer.write(Self.records(count))
    #expect(writer.items == count + 1 && writer.bytes == 5 + count * 4)
    var expected = ByteBuffer(string: "begin")
    for number in 0..<count { expected.writeInteger(UInt32(number)) }
    let isEqual = try folder.contents("a") == Array(expected.readableBytesView)
    #expect(isEqual)
  }

  @Test("a disk that is full in the middle of many records has whole ones")
  func fullDisk() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      var limit = rlimit(rlim_cur: 30_002, rlim_max: 30_002)
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      signal(SIGXFSZ, SIG_IGN)
      let deadline = WriteDeadline()
      let writer = RecordWriter(
        to: try FileWriter(opening: folder("a"), until: deadline), deadline: deadline)
      #expect(throws: OutputError.fileBrokeOff(errno: EFBIG)) {
        try writer.write(Self.records(10_000))
      }
      #expect(writer.items == 7500 && writer.bytes == 30_000)
      #expect(try folder.contents("a").count == 30_000)
    }
  }
}
