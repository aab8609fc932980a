import NIOCore
import RTPWire

@testable import RTPSend

extension FuzzTarget {
  /// Files that are read while they are written: Annex B and MP4, cut anywhere, with pauses.
  static let growing = FuzzTarget("growing") { choices in
    let hasPauses = choices.flag()
    let (whole, reads) = choices.reads()
    let expected = try follow([whole], hasPauses: false)
    // A pause may end a picture before the next one shows that it has ended, and zeros may be room
    // in an MP4 that is not written yet.
    if hasPauses || expected.isMP4 {
      _ = try follow(reads, hasPauses: true)
    } else {
      let found = try follow(reads, hasPauses: false)
      try requireEqual(found.pictures, expected.pictures, "\(reads.map(\.count))")
      try requireEqual(found.fault, expected.fault, "\(reads.map(\.count))")
    }
  }

  private struct Followed {
    var pictures: [[ByteBuffer]] = []
    var fault: String?
    var isMP4 = false
  }

  private static func follow(_ reads: [[UInt8]], hasPauses: Bool) throws -> Followed {
    var stream = GrowingStream(nil, framesPerSecond: nil)
    var followed = Followed()
    var last: (decoding: Int64, bytes: Int) = (.min, 0)
    let whole = reads.flatMap(\.self)
    followed.isMP4 = whole.dropFirst(4).starts(with: Array("ftyp".utf8))
    func take(_ unit: SourceAccessUnit?) throws -> Bool {
      guard let unit else { return false }
      followed.pictures.append(unit.units)
      try require(!unit.units.isEmpty, "a picture without units")
      try require(unit.decodingTicks >= last.decoding, "\(unit.decodingTicks), \(last.decoding)")
      last.decoding = unit.decodingTicks
      try require(followed.pictures.count < 100_000, "pictures without end")
      return true
    }
    var now: Int64 = 0
    do {
      // It asks for bytes from a place on, which may be one that it has had.
      var place = 0
      for read in reads {
        let end = place + read.count
        place = end
        var rounds = 0
        while stream.file.position < UInt64(end), rounds < 3 {
          rounds += 1
          let position = Int(stream.file.position)
          try stream.take(ByteBuffer(sliceOf: Array(whole[position..<end])))
        }
        while try take(try stream.next(at: now)) {}
        if hasPauses {
          while try take(try stream.settle(at: now)) {}
        }
        now += 3600
      }
      while try take(try stream.finishFile(at: now)) {}
    } catch let fault as GrowingFault {
      followed.fault = "\(fault)"
    }
    return followed
  }
}
