import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

/// One case out of another receiver's tests.
struct Vector: Decodable, Sendable, CustomTestStringConvertible {
  struct Packet: Decodable, Sendable {
    let payload: String
    let marker: Bool?
    let timestamp: Int64?
    let lostBefore: Int?
  }

  let source: String
  let name: String
  let parameters: [String: String]?
  let packets: [Packet]
  /// The NAL units by access unit that have to come out whole.
  let accessUnits: [[String]]?
  /// The same where the source does not say which access unit they are in.
  let units: [String]?
  let times: [Int64]?
  let parameterSets: [String]?
  let size: [Int]?
  let isRandomAccess: Bool?
  let type: UInt8?
  let fragmentType: UInt8?
  let error: String?

  var testDescription: String { "\(source): \(name)" }

  static let h264: [Vector] = load("h264")
  static let h265: [Vector] = load("h265")

  static func load<Row: Decodable>(_ name: String) -> [Row] {
    let folder = Bundle.module.bundleURL.appendingPathComponent("Vectors")
    do {
      let data = try Data(contentsOf: folder.appendingPathComponent(name + ".json"))
      return try JSONDecoder().decode([Row].self, from: data)
    } catch {
      preconditionFailure("\(name).json: \(error)")
    }
  }
}

@Suite("Vectors of other receivers")
struct VectorTests {
  /// What this project expects where a row contradicts its RFC, or another row.
  private static let overruled: [String: (accessUnits: [[String]], reason: String)] = [
    "mediamtx/3945 FLIR M400 timestamp-splitted AUs": (
      [["0102"], ["0304"]], "the source stops in mid-stream; at the end the last one comes out too"
    ),
    "FU continuation at AU start discards whole sample": (
      [["410102030405060708090a"]], "the other NAL units of a damaged access unit are kept"
    ),
    "FU start, loss, single NAL same AU": (
      [["40010102030405060708090a"]], "the other NAL units of a damaged access unit are kept"
    ),
    "FU continuation at AU start": (
      [["40010102030405060708090a"]], "the other NAL units of a damaged access unit are kept"
    ),
    "interrupted FU by new FU": ([], "both are cut, and marked so"),
    "new AU after loss": (
      [
        ["410102030405060708090a", "410102030405060708090a"],
        ["410102030405060708090a"],
      ], "the orphan fragment forms no access unit"
    ),
    "FU x3 + singles": (
      [
        [
          "40010102030405060708090a", "40010102030405060708090a",
          "42011112131415161718191a1b1c",
        ]
      ], "parameter sets, all three: a marker on them ends no access unit"
    ),
    "FU with wrong sequence + singles": (
      [["40010102030405060708090a", "42011112131415161718191a1b1c"]],
      "parameter sets: a marker on them ends no access unit"
    ),
    "FU missing end + singles": (
      [["40010102030405060708090a", "42011112131415161718191a1b1c"]],
      "parameter sets: a marker on them ends no access unit"
    ),
    "timestamp rollover": ([], "FU starts without ends: both are cut, and marked so"),
    "EmptyStapARejected leading": (
      [["05ff0011"]], "an empty entry is skipped and counted; the others are kept"
    ),
    "EmptyStapARejected middle": (
      [["05ff00"], ["05ff0011"]], "an empty entry is skipped and counted; the others are kept"
    ),
    "STAP-A malformed": ([["abcdef1122"]], "complete entries are kept"),
    "AP extra byte": (
      [["40010102030405060708090a", "42011112131415161718191a1b1c"]],
      "a single byte behind the last entry is accepted"
    ),
    "AP missing byte": ([["40010102030405060708090a"]], "complete entries are kept"),
    "AP with a single NALU": (
      [["40010102030405060708090a"]], "an aggregation packet of one is accepted"
    ),
    "AP incomplete second size": ([["4001aabb"]], "complete entries are kept"),
    "AP incomplete second NALU": ([["4001aabb"]], "complete entries are kept"),
    "DONL too small": ([["0101"]], "a NAL unit may be a header alone, as ends of sequences are"),
    "FU second fragment wrong type": (
      [["400160ccdd"]], "the second packet is a whole NAL unit, the first is cut"
    ),
    "gortsplib/989 Amatek VPS+SPS+PPS in one FU, basic": (
      [amatekSets], "the row's SPS lacks three bytes of its fragments"
    ),
    "gortsplib/989 leading start code": (
      [amatekSets], "the row's SPS lacks three bytes of its fragments"
    ),
    "F bit 8001": (
      [["800193afafafaf"]], "bit errors are for the decoder to judge (RFC 7798 §1.1.4)"
    ),
  ]

  /// A picture parameter set after a picture begins the next access unit (H.264 §7.4.1.2.3).
  private static let divided: Set<String> = ["aggregated followed by single"]

  private static let amatekSets = [
    "40010c01ffff01600000030000030000030000030096ac09",
    "42010101600000030000030000030000030096a00280802d1fe2ab4ee892ee68080083d6000cdfe60040",
    "4401c072f01b24",
  ]

  /// Rows of the table above whose error is none here, so that nothing is counted.
  private static let accepted: Set<String> = [
    "AP extra byte", "AP with a single NALU", "F bit 8001", "AP incomplete second size",
    "DONL too small",
  ]

  @Test("H.264", arguments: Vector.h264)
  func h264(_ vector: Vector) throws { try check(vector, codec: H264.codec) }

  @Test("H.265", arguments: Vector.h265)
  func h265(_ vector: Vector) throws { try check(vector, codec: H265.codec) }

  private func check(_ vector: Vector, codec: VideoCodec) throws {
    var bench = try Bench(codec, parameters: vector.parameters ?? [:])
    for packet in vector.packets {
      bench.push(
        bytes(packet.payload), at: packet.timestamp ?? 0, marker: packet.marker ?? false,
        lost: packet.lostBefore ?? 0)
    }
    bench.flush()
    let accessUnits = bench.accessUnits
    for unit in accessUnits { #expect(unit.isTidy) }
    let whole = accessUnits.map(\.wholeHex).filter { !$0.isEmpty }

    if let overruled = Self.overruled[vector.name] {
      #expect(whole == overruled.accessUnits, "\(overruled.reason)")
    } else if let expected = vector.accessUnits, Self.divided.contains(vector.name) {
      #expect(Array(whole.joined()) == Array(expected.joined()))
    } else if let expected = vector.accessUnits {
      #expect(whole == expected)
    } else if let expected = vector.units {
      #expect(Array(whole.joined()) == expected)
    } else if vector.error != nil {
      #expect(whole.isEmpty)
    }
    if vector.error != nil, !Self.accepted.contains(vector.name) {
      #expect(bench.statistics.troubles > 0, "\(vector.error ?? "")")
    }
    if let times = vector.times { #expect(accessUnits.map(\.time.ticks) == times) }
    if let isRandomAccess = vector.isRandomAccess {
      #expect(accessUnits.first?.isRandomAccess == isRandomAccess)
    }
    if let size = vector.size {
      let description = bench.defragmenter.formatDescription
      #expect([description?.width, description?.height] == size)
    }
    if let sets = vector.parameterSets {
      #expect(bench.defragmenter.parameterSets.inNaturalOrder.map(\.hex) == sets)
    }
  }

  struct ByteStream: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: String
    let units: [String]
    var testDescription: String { name }
  }

  @Test("Annex B streams", arguments: Vector.load("annex_b") as [ByteStream])
  func annexB(_ row: ByteStream) {
    let units = AnnexB.units(of: ByteBuffer(bytes: bytes(row.bytes)))
    #expect(units.map(\.hex) == row.units)
  }

  struct CameraSet: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let codec: String
    let set: String
    let size: [Int]
    var testDescription: String { name }
  }

  @Test(
    "Picture sizes of cameras", arguments: Vector.load("sequence_parameter_sets") as [CameraSet])
  func size(_ row: CameraSet) throws {
    let key = row.codec == "H265" ? "sprop-sps" : "sprop-parameter-sets"
    let codec = try #require(FormatCatalogue.standard.codec(encodingName: row.codec))
    let bench = try Bench(codec, parameters: [key: row.set])
    let description = try #require(bench.defragmenter.formatDescription)
    #expect([description.width, description.height] == row.size)
  }
}
